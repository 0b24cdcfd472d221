"""Media types, and the encoding of arguments and bodies."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from assent.contract.digest import NotCanonicalError, canonical
from assent.ports import NotRun
from assent.upstreams.openapi.operations import ApiOperation, ApiResponse, Body, Media

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
PROBLEM = "application/problem+json"
_NDJSON = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"})
_TEXT = frozenset({"text/plain", "text/csv", "text/markdown"})
_ANY = frozenset({"*/*", "application/*"})


def is_json(media: str) -> bool:
    """Whether a body of that type is one JSON document."""
    return media in ("application/json", "text/json") or (media.startswith("application/") and media.endswith("+json"))


def is_ndjson(media: str) -> bool:
    """Whether a body of that type is one JSON document per line."""
    return media in _NDJSON


def is_text(media: str) -> bool:
    """Whether a body of that type is text that is passed on unchanged."""
    return media in _TEXT


def is_shapeable(media: str) -> bool:
    """Whether a body of that type can be a single structured result."""
    return is_json(media) or is_ndjson(media) or is_text(media) or media in _ANY


def successes(operation: ApiOperation) -> tuple[ApiResponse, ...]:
    """The declared responses of a successful call."""
    found = tuple(one for one in operation.responses if one.status.startswith("2"))
    return found or tuple(one for one in operation.responses if one.status == "DEFAULT")


def request_media(body: Body) -> Media | None:
    """The media type for a request: the first that keeps types best, or None if none can be written."""
    for fits in (is_json, FORM.__eq__, MULTIPART.__eq__, _ANY.__contains__, "text/plain".__eq__):
        for media in body.media:
            if fits(media.type):
                return media
    return None


def accepted(operation: ApiOperation) -> str:
    """The `Accept` header: declared types that can be read, JSON first, and problems."""
    offered = [media.type for response in successes(operation) for media in response.media if is_shapeable(media.type)]
    declared = operation.extensions.get("x-output-media-type")
    if isinstance(declared, str) and is_shapeable(declared.partition(";")[0].strip().lower()):
        offered.insert(0, declared.partition(";")[0].strip().lower())
    named = [one for one in dict.fromkeys(offered) if one not in _ANY]
    ordered = sorted(named, key=lambda one: not is_json(one)) or ["application/json"]
    return ", ".join([*ordered, f"{PROBLEM};q=0.9"])


def media_text(media: Iterable[Media]) -> str:
    """Media types as text for people."""
    return ", ".join(dict.fromkeys(one.type for one in media))


_SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FIELD_VALUE = re.compile(r"(?:[!-~](?:[ -~\t]*[!-~])?)?\Z")

Pairs = list[tuple[str, str]]


class Unsendable(NotRun):
    """A request that cannot be written safely, so nothing was sent; the message names the argument."""


def encode(text: str) -> str:
    """Percent-encode everything except letters, digits and `-._~`, so that no value can end its context."""
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise Unsendable("a text contains a lone surrogate") from None


def write_segment(value: Any, name: str, style: str, explode: bool) -> str:
    """Encode a path value. A value that could leave its segment is refused, because servers decode `%2F` before
    they route.
    """
    if isinstance(value, dict):
        pairs = [(_path_text(key, name), _path_text(item, name)) for key, item in value.items()]
        flat = [f"{key}={item}" for key, item in pairs] if explode else [part for pair in pairs for part in pair]
    elif isinstance(value, list):
        flat = [_path_text(item, name) for item in value]
    else:
        flat = [_path_text(value, name)]
    if not flat:
        raise Unsendable(f"{name} is empty")
    return _apply_style(flat, encode(name), style, explode, isinstance(value, dict))


def _apply_style(parts: list[str], name: str, style: str, explode: bool, is_object: bool) -> str:
    if style == "label":
        return "." + ("." if explode else ",").join(parts)
    if style == "matrix" and explode and is_object:
        return "".join(f";{part}" for part in parts)
    if style == "matrix":
        return "".join(f";{name}={part}" for part in parts) if explode else f";{name}=" + ",".join(parts)
    return ",".join(parts)


def _path_text(value: Any, name: str) -> str:
    text = text_of(value)
    if value is None or text == "":
        raise Unsendable(f"{name} is empty; a path needs a value there")
    read = unquote(unquote(text))  # A chain of servers may decode it more than once.
    if "/" in read or "\\" in read or _CONTROL.search(read):
        raise Unsendable(f"{name} contains a slash or a control character; a path value must be one segment")
    return encode(text)


def write_query(value: Any, name: str, style: str, explode: bool) -> Pairs:
    """The encoded name and value pairs of a query parameter or form field."""
    if value is None:
        return []
    if style == "deepObject" and isinstance(value, dict):
        return _deep(value, encode(name))
    if isinstance(value, dict):
        known = [(encode(key), encode(text_of(item))) for key, item in value.items() if item is not None]
        if explode:
            return known
        return [(encode(name), ",".join(part for pair in known for part in pair))]
    if isinstance(value, list):
        items = [encode(text_of(item)) for item in value if item is not None]
        if explode:
            return [(encode(name), item) for item in items]
        return [(encode(name), _SEPARATORS.get(style, ",").join(items))] if items else []
    return [(encode(name), encode(text_of(value)))]


def _deep(value: dict[str, Any], name: str) -> Pairs:
    found: Pairs = []
    for key, item in value.items():
        inner = f"{name}%5B{encode(key)}%5D"
        if isinstance(item, dict):
            found.extend(_deep(item, inner))
        elif isinstance(item, list):
            found.extend((inner, encode(text_of(one))) for one in item if one is not None)
        elif item is not None:
            found.append((inner, encode(text_of(item))))
    return found


def write_header(value: Any, name: str, explode: bool) -> str:
    """A header value as one line of printable ASCII."""
    if isinstance(value, dict):
        parts = [f"{key}={text_of(item)}" if explode else f"{key},{text_of(item)}" for key, item in value.items()]
    else:
        parts = [text_of(item) for item in value] if isinstance(value, list) else [text_of(value)]
    return check_field(",".join(parts), name)


def check_field(text: str, name: str) -> str:
    """Return the text if a header can carry it; refuse anything that could start another header."""
    if not _FIELD_VALUE.match(text):
        raise Unsendable(f"{name} must be printable ASCII in one line, without spaces at its ends, to go in a header")
    return text


def text_of(value: Any) -> str:
    """A value as text: strings as they are, anything else as canonical JSON."""
    if isinstance(value, str):
        return value
    return json_of(value).decode()


def json_of(value: Any) -> bytes:
    """Canonical JSON, so that equal calls have equal bytes."""
    try:
        return canonical(value)
    except NotCanonicalError as error:
        raise Unsendable("an argument is not plain JSON") from error


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
