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
class FunctionOutcome:
    """Whether it ran, and how it ended."""

    entered: bool = False
    raised: BaseException | None = None
    returned: Any = None


_ran: ContextVar[FunctionOutcome | None] = ContextVar("assent_ran", default=None)


@contextmanager
def watching() -> Iterator[FunctionOutcome]:
    """Watch the one function that runs within."""
    ran = FunctionOutcome()
    token = _ran.set(ran)
    try:
        yield ran
    finally:
        _ran.reset(token)


def watched(function: Callable[..., Any], is_async: bool, failure: type[Exception] = ToolError) -> Callable[..., Any]:
    """The function, telling us whether it ran and how it ended. What it calls in its turn tells nothing.

    A declared failure goes on as `failure`, which to the framework is no crash to log.
    """
    if is_async:

        @functools.wraps(function)
        async def seen(*args: Any, **kwargs: Any) -> Any:
            with _running(failure) as ran:
                ran.returned = await function(*args, **kwargs)
            return ran.returned

        return seen

    @functools.wraps(function)
    def seen_sync(*args: Any, **kwargs: Any) -> Any:
        with _running(failure) as ran:
            ran.returned = function(*args, **kwargs)
        return ran.returned

    return seen_sync


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
