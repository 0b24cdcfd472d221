"""What became of an author's function during one call? The SDK tells only its text."""

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
class Ran:
    """Whether it ran, and how it ended."""

    entered: bool = False
    raised: BaseException | None = None
    returned: Any = None


_ran: ContextVar[Ran | None] = ContextVar("assent_ran", default=None)


@contextmanager
def watching() -> Iterator[Ran]:
    """Watch the one function that runs within."""
    ran = Ran()
    token = _ran.set(ran)
    try:
        yield ran
    finally:
        _ran.reset(token)


def watched(function: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """The function, telling us whether it ran and how it ended. What it calls in its turn tells nothing."""
    if is_async:

        @functools.wraps(function)
        async def seen(*args: Any, **kwargs: Any) -> Any:
            with _running() as ran:
                ran.returned = await function(*args, **kwargs)
            return ran.returned

        return seen

    @functools.wraps(function)
    def seen_sync(*args: Any, **kwargs: Any) -> Any:
        with _running() as ran:
            ran.returned = function(*args, **kwargs)
        return ran.returned

    return seen_sync


@contextmanager
def _running() -> Iterator[Ran]:
    ran = _ran.get() or Ran()
    token = _ran.set(None)
    ran.entered = True
    try:
        yield ran
    except ToolFailed as failed:
        ran.raised = failed
        raise ToolError(str(failed)) from failed  # to the SDK a declared failure is no crash to log
    except BaseException as error:
        ran.raised = error
        raise
    finally:
        _ran.reset(token)
