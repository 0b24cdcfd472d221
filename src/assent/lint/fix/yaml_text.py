"""Edits one value of a YAML text and keeps comments and layout."""

from __future__ import annotations

import json
import re
from typing import Any

from assent.contract.yaml_document import Node, YamlDocument
from assent.lint.edit import Edit

_PLAIN = re.compile(r"[a-z][a-z_]*\Z")
_NOT_PLAIN = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


def edited(text: str, change: Edit) -> str:
    """Return the text after the edit; raise ValueError or KeyError if one edit cannot do it."""
    document = YamlDocument(text)
    if document.text != text:
        raise ValueError("it has characters that JSON escapes as two")
    made = _edited(document, change)
    if YamlDocument(made).without_values().count("#") < document.without_values().count("#"):
        raise ValueError("a comment would go with it")
    return made


def _edited(document: YamlDocument, change: Edit) -> str:
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
