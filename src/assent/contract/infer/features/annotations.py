"""The hints that the author declared in `annotations`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Declared:
    """The declared hints; None for a hint that is absent."""

    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None

    @property
    def settles(self) -> bool:
        return self.read_only is not None or self.destructive is not None

    @property
    def reason(self) -> str | None:
        return "the declared annotations are trusted" if self.settles or self.open_world is not None else None


def read_annotations(definition: Mapping[str, Any]) -> Declared:
    """Read the hint names of the specification, and the older names without `Hint`."""
    annotations = definition.get("annotations")
    if not isinstance(annotations, Mapping):
        return Declared()
    read_only = _flag(annotations, "readOnlyHint", "readOnly")
    destructive = _flag(annotations, "destructiveHint", "destructive")
    if destructive is None and read_only:
        destructive = False
    return Declared(read_only, destructive, _flag(annotations, "openWorldHint", "openWorld"))


def _flag(annotations: Mapping[str, Any], *names: str) -> bool | None:
    for name in names:
        value = annotations.get(name)
        if isinstance(value, bool):
            return value
    return None
