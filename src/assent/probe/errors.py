"""Why did a connection to a server not come about, in words for whoever named the server?"""

from __future__ import annotations

from anyio import BrokenResourceError, ClosedResourceError, EndOfStream

_ENDED = (BrokenResourceError, ClosedResourceError, EndOfStream, BrokenPipeError)


def reason_of(error: BaseException | None) -> str:
    """The first cause inside groups of exceptions; a stream that closed means that the other side ended."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is None or isinstance(error, _ENDED):
        return "it ended without an answer"
    if isinstance(error, TimeoutError):
        return "it took too long"
    return str(error) or type(error).__name__
