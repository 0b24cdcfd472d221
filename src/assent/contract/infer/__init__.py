"""Inference of the effect of tools that declare no contract."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from assent.contract.infer.json_lines import classify_lines, read_definitions

__all__ = [
    "FlowLabels",
    "Inference",
    "classify",
    "classify_lines",
    "read_definitions",
]


class FlowLabels(NamedTuple):
    """Data-flow labels: reads private data, sees untrusted content, can send data out."""

    reads_private: bool
    sees_untrusted: bool
    public_sink: bool


class Inference(NamedTuple):
    """Inferred effect of a tool, the confidence and the reasons."""

    name: str
    tier: str
    risk: str
    read_only: bool
    destructive: bool
    overwrites: bool
    open_world: bool
    confidence: float
    reasons: tuple[str, ...]
    labels: FlowLabels

    def as_json(self) -> dict[str, Any]:
        """Return the object that `assent classify` writes."""
        return {**self._asdict(), "reasons": list(self.reasons), "labels": self.labels._asdict()}


def classify(definition: Mapping[str, Any], *, trust_annotations: bool = False) -> Inference:
    """Infer the effect of a tool from its definition; declared annotations count only when trusted.

    The rules and the word model are loaded with the first call.
    """
    from assent.contract.infer.classifier import classify as infer

    return infer(definition, trust_annotations=trust_annotations)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'assent.contract.infer' has no attribute {name!r}")
    return getattr(import_module("assent.contract.infer.json_lines"), name)
