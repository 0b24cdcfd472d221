"""Replaces what a guard finds in a result before the result leaves: by field, by detector or by kind of content.

Structured content, texts, JSON inside texts, embedded resources and links are all covered. A masked value keeps its
type where it can: a text becomes a mark, a number 0, true becomes false, and lists and objects keep their shape.

See ADR 0087.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cached_property
from json import JSONDecodeError
from typing import Any

import orjson

from assent.contract.member_names import fold
from assent.rules.guards.context import NO_CONTEXT
from assent.rules.guards.detectors.detector import DetectorRule, mark, names_of, replace_all
from assent.rules.guards.named_values import VALUES, Columns, NamedValues, columns_of, header_of, is_labelled, is_pair
from assent.rules.guards.results import BINARY_PARTS, DECODER, LONGEST_JSON, as_json, decoded_blob
from assent.rules.guards.rule import GuardRule, ValueRule
from assent.rules.guards.rules.content_types import ContentTypes, kind_of

MARK = "[masked]"
_NOT_TEXT = frozenset({"requestState", "resultType", "isError"})
"""Members of a result that hold no text for anybody."""
_SHORTEST_COPY = 4
_SHORTEST_NUMBER = 6
_MOST_WORK = 4_000_000
"""How many characters of one text are read in search of JSON inside it."""
_PER_TRY = 1_000
_DEEPEST = 4
_BEGIN = re.compile(r"""\{\s{0,99}["}]|\[\s{0,99}[\[{"\]\-0-9tfn]""")

_Piece = tuple[int, int, str]
"""Where a part of a text begins and ends, and what stands there instead."""
Leaf = Callable[[Any], tuple[Any, int]]
"""Masks one scalar; returns it and how many places were masked in it."""


class TooMuchToMask(Exception):
    """A text that may hold a named field, but is too long or nested too deep to look for it."""


def mask_result(rule: GuardRule, result: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The result with what the rule finds replaced, and how many places there were."""
    if isinstance(rule, ContentTypes):
        return _without_parts(rule, result)
    masker = _Masker(rule)
    masked = {key: masker.part_of_result(key, value) for key, value in result.items()}
    if masker.copies:
        masked = {key: masker.without_copies(key, value) for key, value in masked.items()}
    return (masked, masker.count) if masker.count else (dict(result), 0)


class _Masker:
    """Masks one result for one rule, and remembers what it masked to find copies of it."""

    def __init__(self, rule: GuardRule) -> None:
        self._leaf = _leaf_of(rule)
        self._fields = rule.selected if rule.fields else None
        self._named_values = NamedValues.of(rule.fields)
        self._detects = rule if isinstance(rule, DetectorRule) else None
        self._names = [fold(name.rpartition("/")[2]).replace("*", "") for name in rule.fields]
        self.count = 0
        self.copies: set[str] = set()

    def part_of_result(self, key: str, value: Any) -> Any:
        """A member of the result, masked. The names inside content parts are those of the protocol, not fields."""
        if key in _NOT_TEXT:
            return value
        if key == "content" and isinstance(value, list):
            return [self._content(part) for part in value]
        return self.document(value)

    def _content(self, part: Any) -> Any:
        """A content part. Its texts are searched, and whatever an upstream adds to it."""
        if not isinstance(part, dict):
            return self.document(part)
        return {key: item if _is_kept(part, key) else self._member(key, item) for key, item in part.items()}

    def _member(self, key: str, item: Any) -> Any:
        if key == "resource":
            return self._content(item)
        if not isinstance(item, str):
            return self.document(item)
        return self._blob(item, self._found_in) if key == "blob" else self._found_in(item)

    def _found_in(self, text: str) -> str:
        found: str = self._everywhere(text, 0) if self._fields is None else self._text(text, 0)
        return found

    def document(self, value: Any, depth: int = 0) -> Any:
        """A JSON document: masked everywhere, or in the named fields."""
        if self._fields is None:
            return self._everywhere(value, depth)
        return self._in_fields(value, self._fields.spots(value), depth)

    def _everywhere(self, value: Any, depth: int) -> Any:
        if isinstance(value, dict):
            return self._object(value, depth)
        if isinstance(value, list):
            return [self._everywhere(item, depth) for item in value]
        if isinstance(value, str) and depth < _DEEPEST and (parsed := as_json(value)) is not None:
            return self._rewrite_json(value, parsed, lambda one: self._everywhere(one, depth + 1))
        return self._scalar(value)

    def _object(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        masked: dict[str, Any] = {}
        for called, (key, item) in zip(names_of(value), value.items(), strict=True):
            name = self._unused(self._scalar(key), masked)
            if key == "blob" and isinstance(item, str):
                masked[name] = self._blob(item, lambda text: self._everywhere(text, depth))
            elif (
                isinstance(item, str) and self._detects is not None and (by := self._detects.finds_under(called, item))
            ):
                masked[name], self.count = mark(by.label), self.count + 1
            else:
                masked[name] = self._everywhere(item, depth)
        return masked

    @staticmethod
    def _unused(name: str, taken: Mapping[str, Any]) -> str:
        number, found = 2, name
        while found in taken:
            found, number = f"{name} {number}", number + 1
        return found

    def _in_fields(self, value: Any, picked: set[tuple[int, str]], depth: int) -> Any:
        """Mask the values of the named fields, and look for JSON in the other texts."""
        assert self._fields is not None
        if isinstance(value, dict):
            masked, labelled, columns = (
                {},
                is_labelled(value, self._fields.names),
                columns_of(value, self._fields.names),
            )
            for key, item in value.items():
                chosen = self._fields.names(key) or (id(value), key) in picked or (labelled and fold(key) in VALUES)
                masked[key] = self._mask_values(item) if chosen else self._rows(item, columns, picked, depth)
            return masked
        if isinstance(value, list):
            return self._rows(value, None, picked, depth)
        return self._text(value, depth) if isinstance(value, str) else value

    def _rows(self, value: Any, columns: Columns | None, picked: set[tuple[int, str]], depth: int) -> Any:
        """A value that may be the rows of a table: their cells in the columns are masked."""
        if not isinstance(value, list):
            return self._in_fields(value, picked, depth)
        assert self._fields is not None
        if is_pair(value, self._fields.names):
            return [value[0], self._mask_values(value[1])]
        columns = columns or header_of(value, self._fields.names)
        return [
            [
                self._mask_values(cell) if place in columns.places else self._in_fields(cell, picked, depth)
                for place, cell in enumerate(item)
            ]
            if columns is not None and isinstance(item, list) and item is not columns.header
            else self._in_fields(item, picked, depth)
            for item in value
        ]

    def _mask_values(self, value: Any) -> Any:
        """A value of a named field: every scalar in it is masked, and the shape stays."""
        if isinstance(value, dict):
            return {key: self._mask_values(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._mask_values(item) for item in value]
        masked = self._scalar(value)
        shortest = _SHORTEST_COPY if isinstance(value, str) else _SHORTEST_NUMBER
        if masked != value and isinstance(value, str | int | float) and len(str(value)) >= shortest:
            self.copies.add(str(value))
        return masked

    def _text(self, text: str, depth: int) -> str:
        if depth >= _DEEPEST or len(text) > LONGEST_JSON:
            self._pass_over(text)
            return self._pieces(text, [])
        if (parsed := as_json(text)) is not None:
            return self._rewrite_json(text, parsed, lambda one: self.document(one, depth + 1))
        return self._pieces(text, self._embedded(text, depth))

    def _embedded(self, text: str, depth: int) -> list[_Piece]:
        """The JSON documents inside a text, masked."""
        pieces: list[_Piece] = []
        at = work = 0
        while (start := _next_document(text, at)) >= 0:
            if work > _MOST_WORK:
                self._pass_over(text[at:])
                break
            parsed, end = _decoded(text, start)
            work += _PER_TRY + end - start
            if parsed is not None:
                masked = self._rewrite_json(text[start:end], parsed, lambda one: self.document(one, depth + 1))
                pieces.append((start, end, masked))
            at = end if parsed is not None else start + 1
        return pieces

    def _pass_over(self, text: str) -> None:
        """Refuse to leave a text unread that may hold JSON with a named field."""
        if _next_document(text, 0) >= 0 and ("\\u" in text or any(name in fold(text) for name in self._names)):
            raise TooMuchToMask("a text is too long or nested too deep to look for the field")

    def _pieces(self, text: str, documents: list[_Piece]) -> str:
        """A text with its JSON documents masked, and the values that stand behind a name outside of them."""
        values = [
            (start, end, str(self._mask_values(text[start:end])))
            for name, start, end in (self._named_values.find(text) if self._named_values is not None else ())
            if not (_is_inside(name, documents) and _is_inside(start, documents))
        ]
        found, at = list[str](), 0
        for start, end, masked in sorted([*documents, *values]):
            if start >= at:
                found += [text[at:start], masked]
                at = end
        return "".join([*found, text[at:]])

    def _rewrite_json(self, text: str, parsed: Any, mask: Callable[[Any], Any]) -> str:
        before = self.count
        masked = mask(parsed)
        if self.count == before:
            return text
        return orjson.dumps(masked, option=orjson.OPT_INDENT_2 if "\n" in text else 0).decode()

    @staticmethod
    def _blob(blob: str, mask: Callable[[str], str]) -> str:
        """Base64 that holds text is masked like text; other bytes cannot be read and stay."""
        text = decoded_blob(blob)
        masked = mask(text) if text is not None else text
        return blob if masked is None or masked == text else base64.b64encode(masked.encode()).decode()

    def _scalar(self, value: Any) -> Any:
        masked, count = self._leaf(value)
        self.count += count
        return masked

    def without_copies(self, key: str, value: Any) -> Any:
        """A member of the result without copies of masked values in its texts."""
        if key in _NOT_TEXT:
            return value
        if key == "content" and isinstance(value, list):
            return [self._part_without_copies(part) for part in value]
        return self._replace_copies(value)

    def _part_without_copies(self, part: Any) -> Any:
        if not isinstance(part, dict):
            return self._replace_copies(part)
        found = {key: item if _is_kept(part, key) else self._replace_copies(item) for key, item in part.items()}
        if isinstance(resource := part.get("resource"), dict):
            found["resource"] = self._part_without_copies(resource)
        return found

    def _replace_copies(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: self._blob(item, self._replace_copies)
                if key == "blob" and isinstance(item, str)
                else self._replace_copies(item)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._replace_copies(item) for item in value]
        if not isinstance(value, str):
            return value
        return self._without_copies(value) if len(value) >= _SHORTEST_COPY else value

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """The lengths of the copies that begin with the same characters, the longest first."""
        found: dict[str, set[int]] = {}
        for copy in self.copies:
            found.setdefault(copy[:_SHORTEST_COPY], set()).add(len(copy))
        return {start: sorted(lengths, reverse=True) for start, lengths in found.items()}

    def _without_copies(self, text: str) -> str:
        """One pass over the text, however many copies there are."""
        pieces, kept, at = list[str](), 0, 0
        lengths = self._lengths
        while at <= len(text) - _SHORTEST_COPY:
            fitting = lengths.get(text[at : at + _SHORTEST_COPY], ())
            size = next((one for one in fitting if text[at : at + one] in self.copies), 0)
            if size:
                pieces += [text[kept:at], MARK]
                kept = at = at + size
            else:
                at += 1
        return "".join([*pieces, text[kept:]]) if pieces else text


def _is_kept(part: Mapping[str, Any], key: str) -> bool:
    """Whether a member of a content part says what kind of content it is, or is an image or sound."""
    if not isinstance(part[key], str):
        return False
    return key in ("type", "mimeType") or (key == "data" and part.get("type") in BINARY_PARTS)


def _next_document(text: str, at: int) -> int:
    """Where the next text begins that may be a JSON object or list."""
    found = _BEGIN.search(text, at)
    return found.start() if found is not None else -1


def _decoded(text: str, start: int) -> tuple[Any, int]:
    """The JSON at a place and its end; None and the end of what was read if there is none."""
    try:
        return DECODER.raw_decode(text, start)
    except JSONDecodeError as error:
        return None, max(error.pos, start)
    except RecursionError:
        return None, start


def _is_inside(place: int, documents: list[_Piece]) -> bool:
    """Whether a place is inside one of the documents, which are in order."""
    before = bisect_right(documents, place, key=lambda one: one[0]) - 1
    return before >= 0 and place < documents[before][1]


def _leaf_of(rule: GuardRule) -> Leaf:
    if isinstance(rule, DetectorRule):
        return lambda value: _mask_detected(rule, value)
    if isinstance(rule, ValueRule):
        return lambda value: (MARK, 1) if rule.objection(value, NO_CONTEXT) is not None else (value, 0)
    return _hidden


def _mask_detected(rule: DetectorRule, value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        return replace_all(value, rule.detectors)
    return (0, 1) if rule.objection(value, NO_CONTEXT) is not None else (value, 0)


def _hidden(value: Any) -> tuple[Any, int]:
    """A value of a forbidden field, replaced by one of its type; null, empty and masked values stay."""
    if value in (None, "", MARK) or value is False or (value == 0 and not isinstance(value, bool)):
        return value, 0
    if isinstance(value, bool):
        return False, 1
    return (0, 1) if isinstance(value, int | float) else (MARK, 1)


def _without_parts(rule: ContentTypes, result: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    masked, count = dict(result), 0
    if isinstance(content := result.get("content"), list):
        kinds = [kind_of(part) for part in content]
        marks = [{"type": "text", "text": mark(kind[:40])} for kind in kinds]
        kept = [part if kind in rule.types else sign for part, kind, sign in zip(content, kinds, marks, strict=True)]
        count = sum(kind not in rule.types for kind in kinds)
        masked["content"] = kept
    if result.get("structuredContent") is not None and "structured" not in rule.types:
        masked, count = {key: value for key, value in masked.items() if key != "structuredContent"}, count + 1
    return masked, count
