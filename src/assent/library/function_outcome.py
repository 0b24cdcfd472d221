"""Outcome of the author's function during one call; the SDK reports only its text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from assent.core.principal import Mode
from assent.ports import NotReached, ToolFailed


@dataclass(slots=True)
class FunctionOutcome:
    """Whether the function ran, and how it ended."""

    entered: bool = False
    raised: BaseException | None = None
    returned: Any = None


_WATCHED = "__assent_watched__"
_ran: ContextVar[FunctionOutcome | None] = ContextVar("assent_ran", default=None)


_mode: ContextVar[Mode] = ContextVar("assent_mode", default="live")


def current_mode() -> Mode:
    """The mode of the caller for whom a tool's function runs now: `live` or `test`."""
    return _mode.get()


@contextmanager
def watching(mode: Mode = "live") -> Iterator[FunctionOutcome]:
    """Observe the one function that runs in this block, for a caller in this mode."""
    ran = FunctionOutcome()
    token, mode_token = _ran.set(ran), _mode.set(mode)
    try:
        yield ran
    finally:
        _ran.reset(token)
        _mode.reset(mode_token)


def is_watched(function: Callable[..., Any]) -> bool:
    """Whether `watched` made this function, so that its tool has the fields of a contract."""
    return getattr(function, _WATCHED, False) is True


def watched(function: Callable[..., Any], is_async: bool, failure: type[Exception] = ToolError) -> Callable[..., Any]:
    """Wrap a function to record whether it ran and how it ended. Functions that it calls are not recorded.

    A declared failure is raised as `failure`, which the framework does not log as a crash.
    """
    if is_async:

        @functools.wraps(function)
        async def observed(*args: Any, **kwargs: Any) -> Any:
            with _running(failure) as ran:
                ran.returned = await function(*args, **kwargs)
            return ran.returned

        setattr(observed, _WATCHED, True)
        return observed

    @functools.wraps(function)
    def observed_sync(*args: Any, **kwargs: Any) -> Any:
        with _running(failure) as ran:
            ran.returned = function(*args, **kwargs)
        return ran.returned

    setattr(observed_sync, _WATCHED, True)
    return observed_sync


@contextmanager
def _running(failure: type[Exception]) -> Iterator[FunctionOutcome]:
    ran = _ran.get() or FunctionOutcome()
    token = _ran.set(None)
    ran.entered = True
    try:
        yield ran
    except ToolFailed as failed:
        ran.raised = failed
        raise failure(str(failed)) from failed
    except BaseException as error:
        ran.raised = error
        raise
    finally:
        _ran.reset(token)


def refused_read(ran: FunctionOutcome, error: Exception, own: tuple[type[Exception], ...]) -> dict[str, Any]:
    """The result of an estimate or a look-up whose function refused in its own words.

    Raises its declared failure, or NotReached for any other end: its text is for no caller.
    """
    if isinstance(ran.raised, ToolFailed):
        raise ran.raised from None
    if isinstance(ran.raised, own):
        return {"isError": True, "content": [{"type": "text", "text": str(ran.raised)}]}
    raise NotReached(type(error).__name__) from error
