"""Edits JSON with comments and trailing commas in place: every byte that is not edited stays as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null')
_MOST_NESTED = 100


@dataclass(slots=True)
class JsonNode:
    """A value with its place in the text. A container has its parts in order, by key or by number."""

    start: int
    end: int = 0
    value: Any = None
    parts: dict[Any, JsonPart] = field(default_factory=dict)


@dataclass(slots=True)
class JsonPart:
    """A member of an object or an item of a list; `comma` is the place of the comma after it, if there is one."""

    start: int
    node: JsonNode
    comma: int | None = None


class JsonFile:
    """A JSON file that is read once; edits are collected and applied to the text together."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._root = _Parser(text).document()
        self._edits: list[tuple[int, int, str]] = []
        self.data: Any = self._root.value

    def replace(self, path: Sequence[Any], value: Any) -> None:
        """Put another value in place of the one at this path."""
        node = self._at(path)
        self._edits.append((node.start, node.end, _json_text(value)))

    def prepend(self, path: Sequence[Any], items: Sequence[str]) -> None:
        """Put texts before the items of the list at this path, spaced as the list is."""
        node = self._at(path)
        first = next(iter(node.parts.values()), None)
        if first is None:
            self._edits.append((node.start + 1, node.start + 1, ", ".join(map(_json_text, items))))
            return
        space = self._space_before(first.start) or " "
        self._edits.append((first.start, first.start, "".join(f"{_json_text(item)},{space}" for item in items)))

    def append(self, path: Sequence[Any], value: Any) -> None:
        """Put a value after the items of the list at this path, spaced as the list is."""
        node = self._at(path)
        last = next(reversed(list(node.parts.values())), None)
        if last is None:
            self._edits.append((node.start + 1, node.start + 1, _json_text(value)))
            return
        space = self._space_before(last.start) or " "
        self._edits.append((last.node.end, last.node.end, f",{space}{_json_text(value)}"))

    def drop_first(self, path: Sequence[Any], count: int) -> None:
        """Remove the first items of the list at this path, with the space after them."""
        node = self._at(path)
        parts = list(node.parts.values())
        last_end = parts[count].start if len(parts) > count else parts[-1].node.end
        self._edits.append((parts[0].start, last_end, ""))

    def add(self, path: Sequence[Any], key: str, value: Any, after: str | None = None) -> None:
        """Add a member to the object at this path, after another member or at the end."""
        node = self._at(path)
        beside = node.parts[after] if after is not None else next(reversed(list(node.parts.values())), None)
        text = f"{_json_text(key)}: {_json_text(value)}"
        if beside is None:
            self._edits.append((node.start + 1, node.start + 1, text))
            return
        space = self._space_before(beside.start) or " "
        self._edits.append((beside.node.end, beside.node.end, f",{space}{text}"))

    def put_instead(self, path: Sequence[Any], key: Any, new_key: str, value: Any) -> None:
        """Put another part in place of one in the container at this path."""
        part = self._at(path).parts[key]
        name = f"{_json_text(new_key)}: " if isinstance(key, str) else ""
        self._edits.append((part.start, part.node.end, name + _json_text(value)))

    def remove(self, path: Sequence[Any], keys: Iterable[Any]) -> None:
        """Remove parts of the container at this path with the lines they leave empty."""
        node, gone = self._at(path), set(keys)
        kept = [part for key, part in node.parts.items() if key not in gone]
        for key, part in node.parts.items():
            if key in gone:
                self._edits.append(self._line_of(part.start, part.node.end if part.comma is None else part.comma + 1))
        last = next(reversed(list(node.parts.values())), None)
        if kept and last is not None and last.comma is None and kept[-1] is not last and kept[-1].comma is not None:
            self._edits.append((kept[-1].comma, kept[-1].comma + 1, ""))

    def text(self) -> str:
        """The edited text."""
        parts, at = [], 0
        for start, end, new in sorted(self._edits):
            parts += [self._text[at:start], new]
            at = end
        return "".join([*parts, self._text[at:]])

    def _at(self, path: Sequence[Any]) -> JsonNode:
        node = self._root
        for key in path:
            node = node.parts[key].node
        return node

    def _space_before(self, at: int) -> str:
        start = at
        while start > 0 and self._text[start - 1] in " \t\r\n":
            start -= 1
        return self._text[start:at]

    def _line_of(self, start: int, end: int) -> tuple[int, int, str]:
        """A span, widened to the whole line if nothing else is on it."""
        line_start = self._text.rfind("\n", 0, start) + 1
        line_end = self._text.find("\n", end)
        alone = line_end != -1 and not self._text[line_start:start].strip() and not self._text[end:line_end].strip()
        return (line_start, line_end + 1, "") if alone else (start, end, "")


class _Parser:
    """Reads JSON with comments into nodes; raises ValueError with the line of what cannot be read."""

    def __init__(self, text: str) -> None:
        self._text = text

    def document(self) -> JsonNode:
        at = self._skip(1 if self._text.startswith("\ufeff") else 0)
        node = self._node(at, 0)
        if (end := self._skip(node.end)) != len(self._text):
            raise self._error(end, "unexpected text after the end")
        return node

    def _node(self, at: int, depth: int) -> JsonNode:
        if depth > _MOST_NESTED:
            raise self._error(at, "it nests too deeply")
        if self._text[at : at + 1] in ("{", "["):
            return self._container(at, depth)
        match = _SCALAR.match(self._text, at)
        if match is None:
            raise self._error(at, "a value is missing")
        try:
            return JsonNode(at, match.end(), json.loads(match[0]))
        except ValueError:
            raise self._error(at, "a value cannot be read") from None

    def _container(self, at: int, depth: int) -> JsonNode:
        node, is_object = JsonNode(at), self._text[at] == "{"
        closing, place = ("}" if is_object else "]"), self._skip(at + 1)
        while self._text[place : place + 1] != closing:
            start, key, place = self._key(place, node) if is_object else (place, len(node.parts), place)
            part = node.parts[key] = JsonPart(start, self._node(place, depth + 1))
            place = self._skip(part.node.end)
            if self._text[place : place + 1] == ",":
                part.comma, place = place, self._skip(place + 1)
            elif self._text[place : place + 1] != closing:
                raise self._error(place, f"a comma or {closing} is missing")
        node.end = place + 1
        values = {key: part.node.value for key, part in node.parts.items()}
        node.value = values if is_object else list(values.values())
        return node

    def _key(self, at: int, node: JsonNode) -> tuple[int, str, int]:
        match = _SCALAR.match(self._text, at)
        if match is None or match[0][0] != '"':
            raise self._error(at, "a key is missing")
        key = json.loads(match[0])
        if key in node.parts:
            raise self._error(at, f"{key!r} occurs twice in one object")
        colon = self._skip(match.end())
        if self._text[colon : colon + 1] != ":":
            raise self._error(colon, "a colon is missing")
        return at, key, self._skip(colon + 1)

    def _skip(self, at: int) -> int:
        match = _SKIPPED.match(self._text, at)
        return match.end() if match else at

    def _error(self, at: int, what: str) -> ValueError:
        return ValueError(f"line {self._text.count(chr(10), 0, at) + 1}: {what}")


def _json_text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return "{" + ", ".join(f"{_json_text(key)}: {_json_text(inner)}" for key, inner in value.items()) + "}"
