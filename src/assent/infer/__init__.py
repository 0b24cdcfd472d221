"""Inference of the effect of tools that declare no contract."""

from assent.infer.classifier import classify
from assent.infer.inference import FlowLabels as Labels
from assent.infer.inference import Inference
from assent.infer.json_lines import classify_line, classify_lines, is_document, read_definitions

__all__ = [
    "Inference",
    "Labels",
    "classify",
    "classify_line",
    "classify_lines",
    "is_document",
    "read_definitions",
]
