"""Edits one value of a YAML text and keeps comments and layout."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from assent.contract.yaml_lines import without_values
from assent.lint.edit import Edit

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = re.compile(r"[a-z][a-z_]*\Z")
_NOT_PLAIN = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


def edited(text: str, change: Edit) -> str:
    """Return the text after the edit; raise ValueError or KeyError if one edit cannot do it."""
    made = _edited(text, change)
    if without_values(made).count("#") < without_values(text).count("#"):
        raise ValueError("a comment would go with it")
    return made


def _edited(text: str, change: Edit) -> str:
    holder = yaml.compose(text, Loader=_LOADER)
    for key in change.path[:-1]:
        holder = holder.value[key] if isinstance(holder, yaml.SequenceNode) else _pair(holder, key)[1]
    if not isinstance(holder, yaml.MappingNode):
        raise ValueError("it is not a mapping")
    last = change.path[-1]
    known = last in {key.value for key, _ in holder.value}
    if change.deed == "rename":
        key = _pair(holder, last)[0]
        return text[: key.start_mark.index] + _scalar(change.value) + text[key.end_mark.index :]
    if change.deed == "remove":
        return _flow_without(text, holder, last) if holder.flow_style else _block_without(text, holder, last)
    if known:
        node = _pair(holder, last)[1]
        if not _exact(node):
            raise ValueError("it is written over several lines")
        return text[: node.start_mark.index] + _scalar(change.value) + text[node.end_mark.index :]
    return (_flow_with if holder.flow_style else _block_with)(text, holder, last, change.value)


def _pair(holder: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(holder, yaml.MappingNode):
        raise KeyError(name)
    for key, value in holder.value:
        if key.value == name:
            return key, value
    raise KeyError(name)


def _exact(node: Any) -> bool:
    """Whether the node's end mark is at its last character; a block's end mark is at the next node."""
    return node.flow_style is True if isinstance(node, yaml.CollectionNode) else node.style not in ("|", ">")


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.match(value) and value not in _NOT_PLAIN:
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {_scalar(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def _flow_with(text: str, holder: Any, key: str, value: Any) -> str:
    said = f"{_scalar(key)}: {_scalar(value)}"
    if not holder.value:
        at = holder.start_mark.index + 1
        return text[:at] + said + text[at:]
    at = holder.value[-1][1].end_mark.index
    return f"{text[:at]}, {said}{text[at:]}"


def _flow_without(text: str, holder: Any, name: str) -> str:
    spans = [(key.start_mark.index, value.end_mark.index) for key, value in holder.value]
    index = [key.value for key, _ in holder.value].index(name)
    begins, ends = spans[index]
    if index + 1 < len(spans):
        ends = spans[index + 1][0]
    elif index:
        begins = spans[index - 1][1]
    return text[:begins] + text[ends:]


def _block_with(text: str, holder: Any, key: str, value: Any) -> str:
    """Add a line after the last one-line field, or else before the first."""
    column = holder.value[0][0].start_mark.column
    line = f"{' ' * column}{_scalar(key)}: {_scalar(value)}"
    newline = "\r\n" if "\r\n" in text else "\n"
    exact = [node for _, node in holder.value if _exact(node)]
    if not exact:
        at = text.rfind("\n", 0, holder.value[0][0].start_mark.index) + 1
        return f"{text[:at]}{line}{newline}{text[at:]}"
    end = text.find("\n", exact[-1].end_mark.index)
    if end < 0:
        return f"{text}{newline}{line}{newline}"
    return f"{text[: end + 1]}{line}{newline}{text[end + 1 :]}"


def _block_without(text: str, holder: Any, name: str) -> str:
    key, node = _pair(holder, name)
    begins = text.rfind("\n", 0, key.start_mark.index) + 1
    if len(holder.value) < 2 or not _exact(node) or text[begins : key.start_mark.index].strip():
        raise ValueError("it shares a line with something else")
    ends = text.find("\n", node.end_mark.index)
    return text[:begins] + ("" if ends < 0 else text[ends + 1 :])
