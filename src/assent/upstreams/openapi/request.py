"""Builds the HTTP request of a call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from assent.errors import Fault, SettingsError
from assent.upstreams.openapi.arguments import Arguments, Slot
from assent.upstreams.openapi.document import Unresolved
from assent.upstreams.openapi.encoding import (
    Pairs,
    Unsendable,
    encode,
    json_of,
    write_body,
    write_header,
    write_query,
    write_segment,
)

_PART = re.compile(r"\{([^{}]*)\}|([^{}]+)|([{}])")
_LITERAL = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]")


@dataclass(frozen=True, slots=True)
class OpenApiRequest:
    """One complete HTTP request."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """A path template. Each part is literal text, or the name of a parameter."""

    parts: tuple[tuple[str, bool], ...]

    def fill(self, values: Mapping[str, str]) -> str:
        """The path with values; raises Unsendable if a segment would be `.` or `..`."""
        path = "".join(values[text] if named else text for text, named in self.parts)
        if any(is_dots(segment) for segment in path.split("/")):
            raise Unsendable("the path would contain a segment of dots")
        return path


def read_template(path: str) -> RequestTemplate:
    """The template of a document's path; raises Unresolved if it could not be sent as intended."""
    if not path.startswith("/"):
        raise Unresolved("its path does not begin with a slash")
    if "?" in path or "#" in path:
        raise Unresolved("its path contains a query or a fragment")
    parts: list[tuple[str, bool]] = []
    for name, literal, brace in _PART.findall(path):
        if brace:
            raise Unresolved("a brace in its path is not closed")
        parts.append((_LITERAL.sub(lambda m: encode(m[0]), literal), False) if literal else (name, True))
    if any(is_dots(segment) for segment in path.split("/")) or "\\" in path:
        raise Unresolved("its path contains `..` or a backslash")
    return RequestTemplate(tuple(parts))


def is_dots(segment: str) -> bool:
    """Whether a segment consists only of dots, in any encoding; some servers drop what follows a semicolon."""
    text = unquote(unquote(segment)).partition(";")[0]
    return bool(text) and set(text) == {"."}


def check_base(url: str) -> str:
    """Check the address that every request of an upstream starts with; only configuration decides it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(Fault(f"{url!r} is not an http:// or https:// address", "Correct it", "base_url"))
    if parts.username is not None or parts.query or parts.fragment or not url.isascii() or re.search(r"[\s\\]", url):
        remedy = "Write only scheme, host and path; credentials go under `headers`"
        raise SettingsError(Fault("it is more than an address", remedy, "base_url"))
    return url.rstrip("/")


def write_request(
    base: str,
    method: str,
    template: RequestTemplate,
    arguments: Arguments,
    values: Mapping[str, Any],
    headers: tuple[tuple[str, str], ...],
) -> OpenApiRequest:
    """The request of a call; raises Unsendable, before anything is sent, for values that cannot be written."""
    rest = dict(values)
    given = [(slot, rest.pop(slot.argument)) for slot in arguments.slots if slot.argument in rest]
    if rest and not arguments.open_body:
        raise Unsendable(f"there is no argument {min(rest)[:80]!r}")
    missing = [slot.argument for slot in arguments.slots if slot.required and slot.argument not in values]
    if missing:
        raise Unsendable(f"{missing[0]} is required")
    path = template.fill({slot.name: _segment(slot, value) for slot, value in given if slot.location == "path"})
    query = _query(arguments, given)
    sent = [*headers, *_headers(given), *_cookies(arguments, given)]
    kind, body = _encode_body(arguments, given, rest)
    if kind:
        sent.append(("Content-Type", kind))
    return OpenApiRequest(method.upper(), f"{base}{path}{'?' if query else ''}{query}", tuple(sent), body)


def _segment(slot: Slot, value: Any) -> str:
    text = json_of(value).decode() if slot.whole else value
    parts = text.split("/") if slot.spans and isinstance(text, str) else [text]
    return "/".join(write_segment(part, slot.name, slot.style, slot.explode) for part in parts)


def _query(arguments: Arguments, given: list[tuple[Slot, Any]]) -> str:
    pairs = [pair for slot, value in given if slot.location == "query" for pair in _pairs(slot, value, arguments)]
    return "&".join(f"{name}={value}" for name, value in pairs)


def _pairs(slot: Slot, value: Any, arguments: Arguments) -> Pairs:
    """The pairs of one query or cookie parameter; an exploded object must not set another parameter."""
    if slot.whole:
        return write_query(json_of(value).decode(), slot.name, "form", True)
    if isinstance(value, dict) and slot.explode and slot.style == "form":
        taken = next((key for key in value if key in arguments.reserved or key.lower() in arguments.reserved), None)
        if taken is not None:
            raise Unsendable(f"a field of {slot.argument} has the name of another parameter, {taken[:80]!r}")
    return write_query(value, slot.name, slot.style, slot.explode)


def _headers(given: list[tuple[Slot, Any]]) -> list[tuple[str, str]]:
    found = []
    for slot, value in given:
        if slot.location == "header" and value is not None:
            text = json_of(value).decode() if slot.whole else value
            found.append((slot.name, write_header(text, slot.argument, slot.explode)))
    return found


def _cookies(arguments: Arguments, given: list[tuple[Slot, Any]]) -> list[tuple[str, str]]:
    pairs = [pair for slot, value in given if slot.location == "cookie" for pair in _pairs(slot, value, arguments)]
    return [("Cookie", "; ".join(f"{name}={value}" for name, value in pairs))] if pairs else []


def _encode_body(arguments: Arguments, given: list[tuple[Slot, Any]], rest: dict[str, Any]) -> tuple[str, bytes]:
    if not arguments.media:
        return "", b""
    whole = [value for slot, value in given if slot.location == "body"]
    if whole:
        return write_body(whole[0], arguments.media)
    if any(slot.name in rest for slot in arguments.slots if slot.location == "field"):
        raise Unsendable("a field of the body was sent under an unchecked name")
    fields = {slot.name: value for slot, value in given if slot.location == "field"}
    if any(slot.location == "body" for slot in arguments.slots) or not (fields or rest or arguments.body_required):
        return "", b""
    binary = frozenset(slot.name for slot in arguments.slots if slot.binary)
    return write_body({**rest, **fields}, arguments.media, binary)
