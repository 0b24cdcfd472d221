"""Headers that repeat arguments of a call (`Mcp-Param-*`), and the encoding of their values.

A tool's schema names such a header with `x-mcp-header` at a property. Only properties that are reached from the root
through `properties` alone can have one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(r"[\x20-\x7e]*")
_ENCODED = re.compile(r"=\?base64\?.*\?=")


def encode_header_value(value: str) -> str:
    """The value as it is, or in base64 if a header would change it or it would look encoded."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def header_names(input_schema: Any) -> dict[tuple[str, ...], str]:
    """The header of each property that has one, by the path of the property."""
    found: dict[tuple[str, ...], str] = {}
    schemas: list[tuple[tuple[str, ...], Any]] = [((), input_schema)]
    while schemas:  # a stack of its own: an upstream's schema may be deeper than Python's
        path, schema = schemas.pop()
        if not isinstance(schema, dict):
            continue
        if path and isinstance(header := schema.get("x-mcp-header"), str):
            found[path] = header
        if isinstance(properties := schema.get("properties"), dict):
            schemas += [((*path, name), inner) for name, inner in properties.items()]
    return found


def mirror_arguments(names: Mapping[tuple[str, ...], str], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for these arguments; an argument that is absent, null or not a scalar has none."""
    headers: dict[str, str] = {}
    for path, name in names.items():
        value = _scalar(_value_at(arguments, path))
        if value is not None:
            headers[f"Mcp-Param-{name}"] = encode_header_value(value)
    return headers


def _value_at(arguments: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        arguments = arguments.get(key) if isinstance(arguments, Mapping) else None
    return arguments


def _scalar(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return str(value) if isinstance(value, str | int | float) else None
    except ValueError:  # an integer with more digits than Python converts
        return None
