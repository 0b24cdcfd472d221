"""Encodes values for paths, queries, headers and cookies."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote

from assent.contract.digest import NotCanonicalError, canonical
from assent.ports import NotRun

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
