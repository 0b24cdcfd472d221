"""Which idempotency key did a request bring beside its arguments?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

META_KEY = "dev.assent/idempotencyKey"
HEADER = "idempotency-key"


def keys_of(header: str | None, meta: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Every key sent by header or `_meta`; that they agree and can be used is for `validate` to say."""
    said = (meta or {}).get(META_KEY)
    if header is None and said is None:
        return ()
    found: list[str] = []
    if header is not None:
        found.append(unquote(header))
    if said is not None:
        found.append(said if isinstance(said, str) else "")
    return tuple(found)


def header_of(headers: Any) -> str | None:
    """What a request's headers (Starlette's) say; two of them are one that cannot be used."""
    sent = [] if headers is None else headers.getlist(HEADER)
    return '"' if len(sent) > 1 else next(iter(sent), None)


def unquote(value: str) -> str:
    """The text of a structured-field string; a bare value is taken as it is. What is neither comes back empty."""
    text = value.strip(" \t")
    if not text.startswith('"'):
        return text
    if len(text) < 2 or not text.endswith('"'):
        return ""
    inner, plain, escaped = text[1:-1], [], False
    for character in inner:
        if escaped:
            if character not in '"\\':
                return ""
            plain.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            return ""
        else:
            plain.append(character)
    return "" if escaped else "".join(plain)
