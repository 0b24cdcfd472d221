"""Edits one tool in the text of a JSON or YAML file and leaves the rest unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from assent.checks.lint.edit import Edit
from assent.contract.files import homes_of, parse_written
from assent.contract.yaml_document import Node, YamlDocument
from assent.errors import FaultsError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    """Position of a key and its value; the key is empty in a list."""

    key: str
    begins: int
    named: int
    value: int
    ends: int


def members(text: str, at: int) -> Iterator[Member]:
    """Yield the members of the object, or items of the list, that starts at this position."""
    closing = {"{": "}", "[": "]"}[text[at]]
    place = skip(text, at + 1)
    while text[place] != closing:
        begins = named = place
        key = ""
        if closing == "}":
            key, named = _DECODER.raw_decode(text, place)
            place = skip(text, skip(text, named) + 1)
        value = place
        _, ends = _DECODER.raw_decode(text, value)
        yield Member(key, begins, named, value, ends)
        place = skip(text, ends)
        if text[place] == ",":
            place = skip(text, place + 1)


def skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def definitions_in(text: str) -> list[tuple[int, int]]:
    """Return start and end of each definition, in one document or line by line.

    The result is empty for a text that nests too deeply.
    """
    with suppress(RecursionError):
        return [span for begins, ends in _documents(text) for span in _definitions_between(text, begins, ends)]
    return []


def _documents(text: str) -> Iterator[tuple[int, int]]:
    try:
        json.loads(text)
    except ValueError:
        yield from _lines(text)
    else:
        yield skip(text, 0), len(text.rstrip())


def lines_of_names(text: str) -> Iterator[int]:
    """Yield the line of each definition's name."""
    line, last = 1, 0
    for begins, _ in definitions_in(text):
        at = _value(text, begins, "name") or begins
        line += text.count("\n", last, at)
        last = at
        yield line


def _definitions_between(text: str, begins: int, ends: int) -> list[tuple[int, int]]:
    """Return the items of a list or of a tools/list result, bare or inside a JSON-RPC response, else the value
    itself.
    """
    at = begins
    for key in ("result", "tools"):
        inner = _value(text, at, key)
        at = inner if inner is not None and text[inner] == ("{" if key == "result" else "[") else at
    return [(one.value, one.ends) for one in members(text, at)] if text[at] == "[" else [(begins, ends)]


def _value(text: str, at: int, key: str) -> int | None:
    if text[at] != "{":
        return None
    return next((one.value for one in reversed(list(members(text, at))) if one.key == key), None)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped:
            begins = at + len(line) - len(line.lstrip())
            yield begins, begins + len(stripped)
        at += len(line) + 1


def edit_json(text: str, change: Edit) -> str:
    """Return the text of one object after the edit; raise ValueError or KeyError if the place is missing."""
    at = skip(text, 0)
    for key in change.path[:-1]:
        at = _find(text, at, key).value
    last = change.path[-1]
    if change.deed == "rename":
        found = _find(text, at, last)
        return text[: found.begins] + json.dumps(change.value, ensure_ascii=False) + text[found.named :]
    if change.deed == "remove":
        return _without(text, list(members(text, at)), last)
    held = list(members(text, at))
    known = [one for one in held if one.key == last]
    if known:
        return text[: known[-1].value] + _value_text(change.value, text, known[-1]) + text[known[-1].ends :]
    return _with(text, at, held, last, change.value)


def _find(text: str, at: int, key: str) -> Member:
    found = [one for one in members(text, at) if one.key == key]
    if not found:
        raise KeyError(key)
    return found[-1]


def _without(text: str, held: list[Member], key: str) -> str:
    index = [one.key for one in held].index(key)
    if index + 1 < len(held):
        return text[: held[index].begins] + text[held[index + 1].begins :]
    if index:
        return text[: held[index - 1].ends] + text[held[index].ends :]
    return text[: held[index].begins] + text[held[index].ends :]


def _with(text: str, at: int, held: list[Member], key: str, value: Any) -> str:
    """Add a member after the last one, with the same spacing."""
    name = json.dumps(key, ensure_ascii=False)
    if not held:
        return f"{text[: at + 1]}{name}: {json.dumps(value, ensure_ascii=False)}{text[at + 1 :]}"
    last = held[-1]
    before = text[held[-2].ends : last.begins].lstrip(" \t\r\n").removeprefix(",") if len(held) > 1 else None
    space = before if before is not None else text[at + 1 : last.begins] or " "
    colon = text[last.named : last.value]
    return f"{text[: last.ends]},{space}{name}{colon}{_value_text(value, text, last)}{text[last.ends :]}"


def _value_text(value: Any, text: str, beside: Member) -> str:
    compact = text[beside.named : beside.value] == ":"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if compact else None)


_PLAIN = re.compile(r"[a-z][a-z_]*\Z")
_NOT_PLAIN = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


def edit_yaml(text: str, change: Edit) -> str:
    """Return the text after the edit; raise ValueError or KeyError if one edit cannot do it."""
    document = YamlDocument(text)
    if document.text != text:
        raise ValueError("it has characters that JSON escapes as two")
    made = _apply_edit(document, change)
    if YamlDocument(made).without_values().count("#") < document.without_values().count("#"):
        raise ValueError("a comment would go with it")
    return made


def _apply_edit(document: YamlDocument, change: Edit) -> str:
    text, path, last = document.text, change.path[:-1], change.path[-1]
    holder, held = document.nodes[path], _fields(document, path)
    known = held.get(last)
    if change.deed == "put" and known is None:
        return (_flow_with if holder.flow else _block_with)(text, holder, held, last, change.value)
    if known is None:
        raise KeyError(last)
    if change.deed == "rename":
        return text[: known.key_begins] + _scalar(change.value) + text[known.key_ends :]
    if change.deed == "remove":
        return (_flow_without if holder.flow else _block_without)(text, held, last)
    if not known.exact:
        raise ValueError("it is written over several lines")
    return text[: known.begins] + _scalar(change.value) + text[known.ends :]


def _fields(document: YamlDocument, path: tuple[Any, ...]) -> dict[str, Node]:
    """Return the fields of a mapping in the order of the text; raise KeyError if an alias stands for it."""
    value = document.value
    for key in path:
        value = value[key]
    if not isinstance(value, dict):
        raise ValueError("it is not a mapping")
    return {key: document.nodes[(*path, key)] for key in value}


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.match(value) and value not in _NOT_PLAIN:
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {_scalar(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def _flow_with(text: str, holder: Node, held: dict[str, Node], key: str, value: Any) -> str:
    said = f"{_scalar(key)}: {_scalar(value)}"
    if not held:
        at = holder.begins + 1
        return text[:at] + said + text[at:]
    at = list(held.values())[-1].ends
    return f"{text[:at]}, {said}{text[at:]}"


def _flow_without(text: str, held: dict[str, Node], name: str) -> str:
    nodes, index = list(held.values()), list(held).index(name)
    begins, ends = nodes[index].key_begins, nodes[index].ends
    if index + 1 < len(nodes):
        ends = nodes[index + 1].key_begins
    elif index:
        begins = nodes[index - 1].ends
    return text[:begins] + text[ends:]


def _block_with(text: str, holder: Node, held: dict[str, Node], key: str, value: Any) -> str:
    """Add a line after the last one-line field, or else before the first."""
    first = next(iter(held.values()))
    line = f"{' ' * first.column}{_scalar(key)}: {_scalar(value)}"
    newline = "\r\n" if "\r\n" in text else "\n"
    exact = [node for node in held.values() if node.exact]
    if not exact:
        at = text.rfind("\n", 0, first.key_begins) + 1
        return f"{text[:at]}{line}{newline}{text[at:]}"
    end = text.find("\n", exact[-1].ends)
    if end < 0:
        return f"{text}{newline}{line}{newline}"
    return f"{text[: end + 1]}{line}{newline}{text[end + 1 :]}"


def _block_without(text: str, held: dict[str, Node], name: str) -> str:
    node = held[name]
    begins = text.rfind("\n", 0, node.key_begins) + 1
    if len(held) < 2 or not node.exact or text[begins : node.key_begins].strip():
        raise ValueError("it shares a line with something else")
    ends = text.find("\n", node.ends)
    return text[:begins] + ("" if ends < 0 else text[ends + 1 :])


_UNFIT = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, FaultsError)


class EditableDefinitionFile:
    """Definitions in JSON: one document, or one definition or page per line."""

    def __init__(self, text: str) -> None:
        self._parts, self._places = _split_definitions(text)

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def change(self, index: int, change: Edit) -> bool:
        """Make the edit of one tool if possible and return whether it was made."""
        if index >= len(self._places):
            return False
        place = self._places[index]
        made = _edit_checked(self._parts[place], change, json.loads, edit_json)
        if made is None:
            return False
        self._parts[place] = made
        return True


class EditableContractFile:
    """Contracts in YAML or JSON; an edit that would make the file invalid is not made."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._edit = edit_yaml
        with suppress(ValueError, RecursionError):
            json.loads(text)
            self._edit = edit_json

    def change(self, index: int, change: Edit) -> bool:
        document = YamlDocument(self.text)
        places = [(*home, name) for _, home in homes_of(document) for name in _at(document.value, home)]
        whole = Edit(change.deed, (*places[index], *change.path), change.value)
        made = _edit_checked(self.text, whole, lambda text: YamlDocument(text).value, self._edit)
        if made is None:
            return False
        try:
            parse_written(made)
        except FaultsError:
            return False
        self.text = made
        return True


EditableFile = EditableDefinitionFile | EditableContractFile


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def _edit_checked(text: str, change: Edit, read: Callable[[str], Any], edit: Callable[[str, Edit], str]) -> str | None:
    """Return the edited text if parsing it gives exactly the intended result, else None."""
    try:
        value = read(text)
        change = change.rooted(value)
        made = edit(text, change)
        return made if made != text and read(made) == change.applied(value) else None
    except _UNFIT:
        return None


def _split_definitions(text: str) -> tuple[list[str], list[int]]:
    """Split the text and return the indexes of the definitions."""
    parts: list[str] = []
    places: list[int] = []
    last = 0
    for begins, ends in definitions_in(text):
        parts += [text[last:begins], text[begins:ends]]
        places.append(len(parts) - 1)
        last = ends
    return [*parts, text[last:]], places
