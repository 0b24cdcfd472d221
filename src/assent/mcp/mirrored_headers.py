"""Headers that repeat arguments of a call (`Mcp-Param-*`), and the encoding of their values.

A tool's schema names such a header with `x-mcp-header` at a property. Only properties that are reached from the root
through `properties` alone can have one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from assent.core.call import Mirrors
from assent.core.tool import Tool

_PLAIN = re.compile(r"[\x20-\x7e]*")
_ENCODED = re.compile(r"=\?base64\?.*\?=")


def encode_header_value(value: str) -> str:
    """The value as it is, or in base64 if a header would change it or it would look encoded."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def header_mismatch(tool: Tool, arguments: Mapping[str, Any], mirrors: Mirrors) -> str | None:
    """Where the `Mcp-Param-*` headers disagree with the arguments that they repeat, or None.

    It tells that the tool exists, so it is for callers who may see the tool.
    """
    names, present = tool.header_names, dict[str, str]()
    for name, value in mirrors:
        key = name.decode("latin-1")
        if key in present:
            return f"{key} header appears more than once"
        present[key] = value.decode("latin-1")
    sent = {name: present.get(f"Mcp-Param-{name}".lower()) for name in names.values()}
    mirrored = mirror_arguments(names, arguments)
    if all(value == mirrored.get(f"Mcp-Param-{name}") for name, value in sent.items()):
        return None
    from mcp.shared.inbound import validate_mcp_param_headers

    rejection = validate_mcp_param_headers(tool.definition["inputSchema"], arguments, present)
    return None if rejection is None else rejection.message


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
