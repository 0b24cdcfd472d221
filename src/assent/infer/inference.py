"""Result of the inference and its JSON form."""

from typing import Any, NamedTuple


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
