"""Edits of a tool in its file."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assent.checks.lint.target import LintedTool
from assent.contract.profiles import WIRE_NAMES
from assent.contract.tool_listing import SPECIFIED_DEFAULTS

_SHORT = {wire: short for short, wire in WIRE_NAMES.items()}


def is_safe_hint(tool: LintedTool, hint: str, value: bool) -> bool:
    """Whether this hint value keeps the tool at least as guarded as its definition requires."""
    inference = tool.inference
    match _SHORT[hint], value:
        case "read_only", True:
            return tool.confident and inference.read_only
        case "destructive", False:
            return tool.confident and not inference.destructive
        case "open_world", False:
            return tool.confident and not inference.open_world
        case "idempotent", True:
            return tool.confident and inference.read_only
    return True


def explicit_default(tool: LintedTool, hint: str) -> Iterator[Edit]:
    """Yield an edit that writes an absent hint as its default, if the definition agrees."""
    short = _SHORT[hint]
    value = SPECIFIED_DEFAULTS[short]
    if tool.contract is None and tool.confident and getattr(tool.inference, short, None) == value:
        yield put(value, "annotations", hint)


def write_default(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Write the absent hint that a finding points to as its default, if the definition agrees."""
    return explicit_default(tool, at.rpartition("/")[2])


def set_true(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Set the hint that a finding points to; a true hint makes hosts more careful."""
    hint = at.rpartition("/")[2]
    if tool.contract is None and hint in tool.annotations:
        yield put(True, "annotations", hint)


@dataclass(frozen=True, slots=True)
class Edit:
    """Sets a value, removes a key, or renames a key.

    The path starts at the tool: its definition in a file of definitions, its fields in a contract file.
    """

    deed: Literal["put", "remove", "rename"]
    path: tuple[Any, ...]
    value: Any = None

    def rooted(self, fields: Any) -> Edit:
        """Return the same edit, extended by enclosing objects that do not exist yet."""
        for depth in range(1, len(self.path)):
            key = self.path[depth - 1]
            fields = fields.get(key) if isinstance(fields, Mapping) else fields[key] if isinstance(key, int) else None
            if fields is None and self.deed == "put":
                value = self.value
                for key in reversed(self.path[depth:]):
                    value = {key: value}
                return Edit("put", self.path[:depth], value)
        return self

    def applied(self, fields: Any) -> Any:
        """Return the fields after the edit; raise if the place does not exist."""
        changed = _unshared_copy(fields)
        holder = changed
        for key in self.path[:-1]:
            holder = holder[key]
        last = self.path[-1]
        if self.deed == "put":
            holder[last] = copy.deepcopy(self.value)
        elif self.deed == "remove":
            del holder[last]
        else:
            holder[self.value] = holder.pop(last)
        return changed


def _unshared_copy(value: Any) -> Any:
    """Return a deep copy, so that an edit of one tool does not change another that shares a YAML anchor."""
    if isinstance(value, Mapping):
        return {key: _unshared_copy(inner) for key, inner in value.items()}
    return [_unshared_copy(inner) for inner in value] if isinstance(value, list) else copy.deepcopy(value)


def put(value: Any, *path: str) -> Edit:
    return Edit("put", path, value)


def remove(*path: str) -> Edit:
    return Edit("remove", path)


def rename(name: str, *path: str) -> Edit:
    return Edit("rename", path, name)
