"""Edits of a tool in its file."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


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
