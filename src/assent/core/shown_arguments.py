"""What a question shows of a call: the arguments and the preview, within a bound that a person and a store can bear."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from assent.core.call import Call
from assent.core.question import MOST_TEXT, counted, field_path

MOST_SHOWN = 256_000
"""Bytes of arguments, and as many of a preview, that a question shows whole. Beyond that, long texts are cut."""
MOST_UNKNOWN = 20


class TooLarge(Exception):
    """Even without its long texts, a call is more than a person can check."""


class ShownArguments(NamedTuple):
    """The arguments and the preview as a question shows them, with what the person must know about them."""

    arguments: Any
    preview: Any
    cut: tuple[str, ...]
    """One sentence for each text that is not shown whole."""
    unknown: tuple[str, ...]
    """The arguments that the tool does not have."""


def shown_arguments(call: Call, preview: Any) -> ShownArguments:
    """What a question shows. Raises TooLarge if cutting long texts is not enough."""
    cut: list[str] = []
    arguments = _within_bound(call.stated, len(call.canonical), "the arguments", cut)
    if preview is not None:
        preview = _without_empty_fields(preview)
        preview = _within_bound(preview, len(orjson.dumps(preview)), "the preview", cut)
    return ShownArguments(arguments, preview, tuple(cut), unknown_arguments(call))


def _without_empty_fields(preview: Any) -> Any:
    """A preview without what says nothing: empty fields, and that it is one."""
    if not isinstance(preview, dict):
        return preview
    filled = {name: value for name, value in preview.items() if name != "dryRun" and value not in (None, "", [], {})}
    return filled or None


def _within_bound(value: Any, size: int, what: str, cut: list[str]) -> Any:
    if size <= MOST_SHOWN:
        return value
    shorter = _cut(value, "", what, cut)
    if len(orjson.dumps(shorter)) > MOST_SHOWN:
        raise TooLarge(f"No person can check this call: {what} of {size} bytes have too many values to be shown.")
    return shorter


def _cut(value: Any, name: str, what: str, cut: list[str]) -> Any:
    if isinstance(value, str) and len(value) > MOST_TEXT:
        where = f"{name} of {what}" if name else what
        cut.append(f"{where}: {counted(len(value) - MOST_TEXT, 'more character')} are not shown.")
        return value[:MOST_TEXT]
    if isinstance(value, Mapping):
        return {key: _cut(item, field_path(name, str(key)), what, cut) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item, f"{name}[{index}]", what, cut) for index, item in enumerate(value)]
    return value


def unknown_arguments(call: Call) -> tuple[str, ...]:
    """The first arguments that the tool's schema does not name."""
    return all_unknown_arguments(call)[:MOST_UNKNOWN]


def all_unknown_arguments(call: Call) -> tuple[str, ...]:
    """The arguments that the tool's schema does not name. A tool whose schema names none takes any."""
    schema = call.tool.definition.get("inputSchema")
    if not isinstance(schema, Mapping) or any(key in schema for key in _NAMED_ELSEWHERE):
        return ()
    named = schema.get("properties")
    if not isinstance(named, Mapping) or not named:
        return ()
    patterns = [one for one in schema.get("patternProperties", {}) if isinstance(one, str)]
    return tuple(name for name in call.arguments if name not in named and not _matches(name, patterns))


_NAMED_ELSEWHERE = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")


def _matches(name: str, patterns: list[str]) -> bool:
    try:
        return any(re.search(one, name) for one in patterns)
    except re.error:  # The schema's own dialect differs; its author knows such names.
        return True
