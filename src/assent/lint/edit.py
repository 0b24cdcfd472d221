"""What is to be changed of a tool, as it stands in its file?"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Edit:
    """A value put under a key, a key taken away, or a key that gets another name.

    The path begins at the tool: its definition in a file of definitions, its fields in a file of contracts.
    """

    deed: Literal["put", "remove", "rename"]
    path: tuple[Any, ...]
    value: Any = None

    def rooted(self, fields: Any) -> Edit:
        """The same change where the enclosing objects may have to be put as well."""
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
        """The fields as they are to be afterwards; raises where the place is not there."""
        changed = _apart(fields)
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


def _apart(value: Any) -> Any:
    """A copy in which nothing is shared: what two tools have in common by an anchor is changed for one of them."""
    if isinstance(value, Mapping):
        return {key: _apart(inner) for key, inner in value.items()}
    return [_apart(inner) for inner in value] if isinstance(value, list) else copy.deepcopy(value)


def put(value: Any, *path: str) -> Edit:
    return Edit("put", path, value)


def remove(*path: str) -> Edit:
    return Edit("remove", path)


def rename(name: str, *path: str) -> Edit:
    return Edit("rename", path, name)
