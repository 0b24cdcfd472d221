"""What does a tool probably do when nobody says?"""

from assent.infer.inference import Inference, Labels
from assent.infer.judge import classify
from assent.infer.stream import classify_line, classify_lines, is_document, read_definitions

__all__ = [
    "Inference",
    "Labels",
    "classify",
    "classify_line",
    "classify_lines",
    "is_document",
    "read_definitions",
]
