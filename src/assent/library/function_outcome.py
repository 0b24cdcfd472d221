"""Outcome of the author's function during one call; the SDK reports only its text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from assent.ports import ToolFailed


@dataclass(slots=True)
class FunctionOutcome:
    """Whether the function ran, and how it ended."""

    entered: bool = False
    raised: BaseException | None = None
    returned: Any = None


_ran: ContextVar[FunctionOutcome | None] = ContextVar("assent_ran", default=None)


@contextmanager
def watching() -> Iterator[FunctionOutcome]:
    """Observe the one function that runs in this block."""
    ran = FunctionOutcome()
    token = _ran.set(ran)
    try:
        yield ran
    finally:
        _ran.reset(token)


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

        return observed

    @functools.wraps(function)
    def observed_sync(*args: Any, **kwargs: Any) -> Any:
        with _running(failure) as ran:
            ran.returned = function(*args, **kwargs)
        return ran.returned

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
