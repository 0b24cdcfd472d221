"""The failures of an upstream, and whether the call may have had an effect."""

from typing import ClassVar


class UpstreamError(Exception):
    """An upstream did not do its part.

    `sent` is True when any byte of the request may have reached the upstream: then nobody knows whether
    the call had an effect, unless an answer says so. `advice` is for the operator alone: it may name addresses.
    """

    code: ClassVar[str] = "execute.upstream_failed"
    status: ClassVar[int] = 502
    remedy: ClassVar[str] = "Try again later; if it goes on, tell the operator of this gateway."

    def __init__(self, upstream: str, detail: str, *, sent: bool, advice: str = "") -> None:
        super().__init__(f"upstream {upstream!r}: {detail}")
        self.upstream = upstream
        self.detail, self.advice = detail, advice
        self.sent = sent


def safe_error_text(error: Exception) -> str:
    """What a log may say of an upstream's failure beside its name: our own words, never those it answered with."""
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
    """Too many failures in a row: the upstream is left alone for a moment."""

    code = "execute.upstream_suspended"
    status = 503
    remedy = "The upstream failed repeatedly and is being left alone; it is tried again by itself."


class PoolExhausted(UpstreamError):
    """Every connection is taken and enough calls wait already."""

    code = "execute.upstream_crowded"
    status = 503
    remedy = "Too many calls to this upstream at once. Try again in a moment."


class TimedOut(UpstreamError):
    """The upstream took longer than it may."""

    code = "execute.upstream_timed_out"
    status = 504
    remedy = "The upstream did not answer in time; whether the call had an effect is not known."


class ConnectionLost(UpstreamError):
    """The connection ended before the answer did."""

    code = "execute.upstream_lost"
    remedy = "The connection to the upstream broke; whether the call had an effect is not known."


class ProtocolViolation(UpstreamError):
    """The answer is not HTTP, or not what the protocol allows."""

    code = "execute.upstream_garbled"
    remedy = "The upstream answered something that is not the protocol; its operator must look."


class Unauthorized(ProtocolViolation):
    """The upstream did not accept our credentials."""

    remedy = "The gateway's credentials for this upstream are missing or wrong; its operator must correct them."


class Oversized(UpstreamError):
    """The answer is larger than allowed."""

    code = "execute.upstream_oversized"
    remedy = "Ask for less, or raise this upstream's size limit."


def setting_of(upstream: str) -> str:
    """Where the configuration describes an upstream, which may be the test endpoint of one."""
    return f"upstreams.{upstream.removesuffix(' (test)')}{'.test' if upstream.endswith(' (test)') else ''}"
