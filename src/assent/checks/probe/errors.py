"""Explains why a connection to a server failed."""

from __future__ import annotations

from anyio import BrokenResourceError, ClosedResourceError, EndOfStream

_ENDED = (BrokenResourceError, ClosedResourceError, EndOfStream, BrokenPipeError)


def reason_of(error: BaseException | None) -> str:
    """The first cause inside exception groups; a closed stream means that the server ended."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is None or isinstance(error, _ENDED):
        return "it ended without an answer"
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename!r} was not found; install it, or give its full path"
    return str(error) or type(error).__name__
