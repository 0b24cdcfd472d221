"""Reads the idempotency key that a request carries outside its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

META_KEY = "dev.assent/idempotencyKey"
HEADER = "idempotency-key"


def keys_of(header: str | None, meta: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Every key sent in the header or in `_meta`. `validate` checks that they agree and are usable."""
    meta_key = (meta or {}).get(META_KEY)
    if header is None and meta_key is None:
        return ()
    found: list[str] = []
    if header is not None:
        found.append(unquote(header))
    if meta_key is not None:
        found.append(meta_key if isinstance(meta_key, str) else "")
    return tuple(found)


def header_of(headers: Any) -> str | None:
    """The key header of a Starlette request; two headers give a value that `validate` refuses."""
    sent = [] if headers is None else headers.getlist(HEADER)
    return '"' if len(sent) > 1 else next(iter(sent), None)


def unquote(value: str) -> str:
    """The text of a structured-field string; a bare value is returned as it is, an invalid one as empty text."""
    text = value.strip(" \t")
    if not text.startswith('"'):
        return text
    if len(text) < 2 or not text.endswith('"'):
        return ""
    inner, characters, escaped = text[1:-1], [], False
    for character in inner:
        if escaped:
            if character not in '"\\':
                return ""
            characters.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            return ""
        else:
            characters.append(character)
    return "" if escaped else "".join(characters)
