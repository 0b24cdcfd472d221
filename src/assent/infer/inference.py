"""What do we conclude about a tool, and how is it written down?"""

from typing import Any, NamedTuple


class FlowLabels(NamedTuple):
    """What flow control wants to know: private data in, untrusted content in, a way out."""

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
    """The effect a tool probably has, how sure we are, and why."""

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
        """The object `assent classify` writes, its labels after what every reader needs."""
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
