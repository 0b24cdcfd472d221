"""URIs as policies compare them, so that another spelling of a URI does not evade a policy."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

_DOTS = re.compile(r"(?:^|/)\.\.?(?:/|$)")
_MOST_ENCODINGS = 5


def normal_uri(uri: str) -> str:
    """A URI as policies compare it: scheme and host in lower case, host and path decoded, without dot segments.

    `memo:/a` and `file://localhost/a` are written as `memo:///a` and `file:///a`.
    """
    try:
        parts = urlsplit(uri.strip())
        path = _without_dots(_decoded(parts.path))
        host = _decoded(parts.netloc).lower()
    except ValueError:
        return uri
    if parts.scheme == "file" and host == "localhost":
        host = ""
    start = f"{parts.scheme}:" if parts.scheme else ""
    authority = f"//{host}" if host or (start and path.startswith("/")) else ""
    return f"{start}{authority}{path}" + (f"?{parts.query}" if parts.query else "")


def _decoded(path: str) -> str:
    """A path without percent-encoding, however often it was encoded."""
    for _ in range(_MOST_ENCODINGS):
        decoded = unquote(path)
        if decoded == path:
            break
        path = decoded
    return path.replace("\\", "/")


def _without_dots(path: str) -> str:
    path = re.sub("/{2,}", "/", path)
    if not _DOTS.search(path):
        return path
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            kept = kept[:-1] if kept and kept[-1] else kept
        elif part != ".":
            kept.append(part)
    return "/".join(kept)
