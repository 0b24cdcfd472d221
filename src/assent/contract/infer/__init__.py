"""Inference of the effect of tools that declare no contract."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from assent.contract.infer.result import FlowLabels as Labels
from assent.contract.infer.result import Inference

if TYPE_CHECKING:
    from assent.contract.infer.json_lines import classify_lines, read_definitions

__all__ = [
    "Inference",
    "Labels",
    "classify",
    "classify_lines",
    "read_definitions",
]


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
