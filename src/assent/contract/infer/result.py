"""Result of the inference and its JSON form, and the annotations that the author declared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


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


class FlowLabels(NamedTuple):
    """Data-flow labels: reads private data, sees untrusted content, can send data out."""

    reads_private: bool
    sees_untrusted: bool
    public_sink: bool

    def as_json(self) -> dict[str, bool]:
        return {
            "reads_private": self.reads_private,
            "sees_untrusted": self.sees_untrusted,
            "public_sink": self.public_sink,
        }


class Inference(NamedTuple):
    """Inferred effect of a tool, the confidence and the reasons."""

    name: str
    tier: str
    risk: str
    read_only: bool
    destructive: bool
    overwrites: bool
    open_world: bool
    labels: FlowLabels
    confidence: float
    reasons: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the object that `assent classify` writes."""
        return {
            "name": self.name,
            "tier": self.tier,
            "risk": self.risk,
            "read_only": self.read_only,
            "destructive": self.destructive,
            "overwrites": self.overwrites,
            "open_world": self.open_world,
            "confidence": self.confidence,
            "reasons": list(self.reasons),
            "labels": self.labels.as_json(),
        }
