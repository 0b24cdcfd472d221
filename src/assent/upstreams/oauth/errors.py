"""Errors of OAuth towards upstreams."""

from __future__ import annotations

from assent.errors import AssentError
from assent.upstreams.errors import UpstreamError


class OAuthProblem(AssentError):
    """A sign-in or a renewal that failed; `temporary` if the same request may succeed later."""

    def __init__(self, detail: str, *, temporary: bool = False, code: str = "") -> None:
        super().__init__(detail)
        self.detail, self.temporary, self.code = detail, temporary, code


class NotConnected(UpstreamError):
    """There is no usable credential for this caller: a person must connect the upstream first. Nothing was sent."""

    code = "execute.not_connected"
    status = 403
    remedy = "A person must connect this upstream first."

    def __init__(self, upstream: str, scope: str = "") -> None:
        detail = f"needs more permissions: {scope}" if scope else "is not connected"
        super().__init__(upstream, detail, sent=False, advice=f"Run `assent login {upstream}`")
        self.scope = scope
