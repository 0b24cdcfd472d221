"""Checks the result of a call: its structured content, its texts, and JSON inside texts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from json import JSONDecoder
from typing import Any, TypeVar

import orjson

from assent.core.principal import Principal
from assent.rules.guards.context import Context
from assent.rules.guards.evaluate import objection_to
from assent.rules.guards.rule import Denial, GuardRule
from assent.rules.guards.workload import MICROS, Later, beyond, load_of, owner_of, run_apart

T = TypeVar("T")

LINK_TEXTS = ("uri", "name", "title", "description")
BINARY_PARTS = frozenset({"image", "audio"})
LONGEST_JSON = 2_000_000
_NOT_READ = frozenset({"content", "requestState", "resultType", "isError"})


def result_objection(rule: GuardRule, result: Mapping[str, Any], context: Context) -> Denial | None:
    """The first objection of a guard to a result.

    With `fields`, the structured content and every JSON document in a text are checked, each on its own.
    """
    if not rule.fields:
        return objection_to(rule, result if not rule.takes_fields else _view(result), context)
    found = [objection_to(rule, one, context) for one in documents(result)] or [objection_to(rule, {}, context)]
    return next((one for one in found if one is not None), None)


def read_apart(work: Callable[[], T], document: Any, principal: Principal) -> Later[T]:
    """Read a document in a thread, as `run_apart` does."""
    return run_apart(work, json_size(document) * MICROS, owner_of(principal))


def json_size(result: Mapping[str, Any]) -> int:
    """The bytes of a result as JSON, images and sound included; as many as can be if it is not plain JSON."""
    try:
        return len(orjson.dumps(result))
    except TypeError:
        return LONGEST_JSON


def too_much_result(rule: GuardRule, result: Mapping[str, Any]) -> str | None:
    """Why a result has more than the guard reads, or None. Images and sound are not read."""
    content = [part if part.get("type") not in BINARY_PARTS else {} for part in parts_of(result)]
    return beyond(
        load_of([content, *(value for key, value in result.items() if key != "content")]), rule.most_characters
    )


def documents(result: Mapping[str, Any]) -> Iterator[Any]:
    """The structured content, and every text that is a JSON object or list."""
    structured = result.get("structuredContent")
    if structured is not None:
        yield structured
    for text in texts_of(result):
        if (found := as_json(text)) is not None and found != structured:
            yield found


def texts_of(result: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a result's content: text parts, texts and text files of embedded resources, texts of links."""
    for part in parts_of(result):
        for holder, keys in ((part, ("text",)), (part.get("resource"), ("text", "uri")), (part, LINK_TEXTS)):
            if isinstance(holder, Mapping):
                yield from (holder[key] for key in keys if isinstance(holder.get(key), str))
        resource = part.get("resource")
        blob = resource.get("blob") if isinstance(resource, Mapping) else None
        if isinstance(blob, str) and (text := decoded_blob(blob)) is not None:
            yield text


def parts_of(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = result.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def decoded_blob(blob: str) -> str | None:
    """The text that base64 holds, with or without line breaks and padding; None for other bytes."""
    packed = "".join(blob.split()).rstrip("=")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def as_json(text: str) -> Any:
    """The JSON object or list that a text is; None for any other text."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > LONGEST_JSON:
        return None
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


class _AllValues(list[Any]):
    """The values of a name that an object has more than once."""


def _join_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which a repeated name has all its values: parsers disagree about which of them counts."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name not in found:
            found[name] = value
        elif isinstance(found[name], _AllValues):
            found[name].append(value)
        else:
            found[name] = _AllValues((found[name], value))
    return found


DECODER = JSONDecoder(object_pairs_hook=_join_repeated_names)


def _view(result: Mapping[str, Any]) -> dict[str, Any]:
    """The readable part of a result; binary data and types are left out."""
    parts = [{"_meta": part["_meta"]} for part in parts_of(result) if "_meta" in part]
    found: dict[str, Any] = {"content": [*(as_json(text) or text for text in texts_of(result)), *parts]}
    return found | {key: value for key, value in result.items() if key not in _NOT_READ and value is not None}
