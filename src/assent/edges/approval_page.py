"""What does a person see who follows the link of a call that waits?

The page itself says nothing of the call and holds no session: whoever opens it gives their key, and it asks `/api` with
it, which decides who sees and who decides. The key stays in the page and is gone with it.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from importlib.resources import files

from assent.edges.http import Headers, Send
from assent.edges.page_style import styled

PATH = re.compile(r"/console/approvals/([0-9A-Za-z_-]{1,64})")
_PAGE = styled(files("assent.edges").joinpath("approval.html").read_text("utf-8"))


def _hashed(element: str) -> str:
    """The one inline style or script there is, by its digest: nothing else in the page is ever run."""
    inner = _PAGE.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    return f"'sha256-{b64encode(hashlib.sha256(inner.encode()).digest()).decode()}'"


_POLICY = (
    f"default-src 'none'; style-src {_hashed('style')}; script-src {_hashed('script')}; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FIELDS: Headers = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", _POLICY.encode()),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]


def page_of(approval: str) -> bytes:
    """The page of one approval, which need not exist: that is not said before somebody is known."""
    return _PAGE.replace("{{ approval }}", approval).encode()


async def respond_page(send: Send, approval: str) -> None:
    body = page_of(approval)
    fields = [*_FIELDS, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    await send({"type": "http.response.body", "body": body})
