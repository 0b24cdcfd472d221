"""Writes the body of a request."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Any

from assent.upstreams.openapi.encoding import Unsendable, json_of, text_of, write_query
from assent.upstreams.openapi.media import FORM, MULTIPART, is_json

_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})

EncodedBody = tuple[str, bytes]
"""A content type and the bytes."""


def write_body(value: Any, media: str, binary: frozenset[str] = frozenset()) -> EncodedBody:
    """Write the body in a media type; `binary` names the fields with base64 of the bytes to send."""
    if media == FORM:
        return FORM, _form(_fields(value, media))
    if media == MULTIPART:
        return _multipart(_fields(value, media), binary)
    if media == "text/plain":
        return "text/plain; charset=utf-8", _utf8(text_of(value))
    return media if is_json(media) else "application/json", json_of(value)


def _fields(value: Any, media: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Unsendable(f"the body must be an object to be sent as {media}")
    return value


def _form(fields: Mapping[str, Any]) -> bytes:
    pairs = []
    for name, value in fields.items():
        # There is no agreed form for an object in a form field; one JSON text is the least surprising.
        flat = text_of(value) if isinstance(value, dict) else value
        pairs.extend(write_query(flat, name, "form", True))
    return "&".join(f"{name}={value}" for name, value in pairs).encode("ascii")


def _multipart(fields: Mapping[str, Any], binary: frozenset[str]) -> EncodedBody:
    parts: list[bytes] = []
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                parts.append(_part(name, one, name in binary))
    boundary = _boundary(parts)
    lines = b"".join(b"--%b\r\n%b\r\n" % (boundary, part) for part in parts)
    return f"multipart/form-data; boundary={boundary.decode()}", lines + b"--%b--\r\n" % boundary


def _part(name: str, value: Any, binary: bool) -> bytes:
    disposition = f'form-data; name="{name.translate(_ESCAPES)}"'
    if binary:
        disposition += f'; filename="{name.translate(_ESCAPES)}"'
        kind, content = "application/octet-stream", _decode_base64(value, name)
    elif isinstance(value, dict | list):
        kind, content = "application/json", json_of(value)
    else:
        kind, content = "text/plain; charset=utf-8", _utf8(text_of(value))
    return _utf8(f"Content-Disposition: {disposition}\r\nContent-Type: {kind}\r\n\r\n") + content


def _decode_base64(value: Any, name: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise Unsendable(f"{name} must be base64") from None


def _boundary(parts: list[bytes]) -> bytes:
    """A boundary that occurs in no part; equal parts give the same one."""
    seed = hashlib.sha256(b"\0".join(parts))
    while True:
        boundary = seed.hexdigest()[:32].encode()
        if not any(boundary in part for part in parts):
            return boundary
        seed.update(b"again")


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Unsendable("a text contains a lone surrogate") from None
