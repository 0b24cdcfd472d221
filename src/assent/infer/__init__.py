"""What does a tool probably do when nobody says?"""

from assent.infer.inference import Inference, Labels
from assent.infer.judge import classify
from assent.infer.stream import BadLine, classify_lines

__all__ = ["BadLine", "Inference", "Labels", "classify", "classify_lines"]
