"""Errors of an upstream, and whether the call may have had an effect."""

from typing import ClassVar

from assent.errors import AssentError


class UpstreamError(Exception):
    """An upstream failed.

    `sent` is True if any byte of the request may have reached the upstream: then it is unknown whether the call had
    an effect, unless an answer says so. `advice` is only for the operator: it may contain addresses.
    """

    code: ClassVar[str] = "execute.upstream_failed"
    status: ClassVar[int] = 502
    remedy: ClassVar[str] = "Try again later; if it continues, tell the operator of this gateway."

    def __init__(self, upstream: str, detail: str, *, sent: bool, advice: str = "") -> None:
        super().__init__(f"upstream {upstream!r}: {detail}")
        self.upstream = upstream
        self.detail, self.advice = detail, advice
        self.sent = sent

    @property
    def may_have_run(self) -> bool:
        """Whether the call may have had an effect."""
        return self.sent


def safe_error_text(error: Exception) -> str:
    """The description of an upstream's failure for a log: Assent's own text, never the upstream's."""
    if isinstance(error, UpstreamError):
        return f"{error.detail}. {error.advice}" if error.advice else error.detail
    if isinstance(error, TimeoutError):
        return "no answer in time"
    code = getattr(error, "code", None)
    return (
        f"answered with error {code}"
        if isinstance(code, int)
        else f"does not speak the protocol ({type(error).__name__})"
    )


class Unreachable(UpstreamError):
    """No connection could be made."""

    code = "execute.upstream_unreachable"
    status = 503
    remedy = "The upstream is down or its address is wrong. Other tools are not affected."


class CircuitOpen(UpstreamError):
    """The upstream failed too often in a row and gets no calls for a while."""

    code = "execute.upstream_suspended"
    status = 503
    remedy = "The upstream failed repeatedly and gets no calls for a while; the gateway tries it again by itself."


class PoolExhausted(UpstreamError):
    """Every connection is busy and the queue is full."""

    code = "execute.upstream_crowded"
    status = 503
    remedy = "Too many calls to this upstream at once. Try again in a moment."


class TimedOut(UpstreamError):
    """The upstream took longer than allowed."""

    code = "execute.upstream_timed_out"
    status = 504
    remedy = "The upstream did not answer in time; it is not known whether the call had an effect."


class ConnectionLost(UpstreamError):
    """The connection ended before the response did."""

    code = "execute.upstream_lost"
    remedy = "The connection to the upstream broke; it is not known whether the call had an effect."


class ProtocolViolation(UpstreamError):
    """The response is not HTTP, or violates the protocol."""

    code = "execute.upstream_garbled"
    remedy = "The upstream violated the protocol; its operator must look at it."
    answered: int | None = None
    """The HTTP status, if that is what was wrong."""


class Unauthorized(ProtocolViolation):
    """The upstream did not accept the gateway's credentials (401, 403 or 407), so it ran nothing."""

    may_have_run = False
    remedy = "The gateway's credentials for this upstream are missing or wrong; its operator must correct them."


class Oversized(UpstreamError):
    """The response is larger than allowed."""

    code = "execute.upstream_oversized"
    remedy = "Ask for less, or raise this upstream's size limit."


class NotConnected(UpstreamError):
    """There is no usable credential for this caller: a person must connect the upstream first. Nothing was sent."""

    code = "execute.not_connected"
    status = 403
    remedy = "A person must connect this upstream first."

    def __init__(self, upstream: str, scope: str = "") -> None:
        detail = f"needs more permissions: {scope}" if scope else "is not connected"
        super().__init__(upstream, detail, sent=False, advice=f"Run `assent login {upstream}`")
        self.scope = scope


class SessionLost(Exception):
    """The upstream no longer knows the session; nothing was done."""


class OAuthProblem(AssentError):
    """A sign-in or a renewal that failed; `temporary` if the same request may succeed later."""

    def __init__(self, detail: str, *, temporary: bool = False, code: str = "") -> None:
        super().__init__(detail)
        self.detail, self.temporary, self.code = detail, temporary, code


def setting_of(upstream: str) -> str:
    """The setting that describes an upstream, or its test endpoint."""
    return f"upstreams.{upstream.removesuffix(' (test)')}{'.test' if upstream.endswith(' (test)') else ''}"
