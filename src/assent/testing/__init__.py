"""What does a test need of the world?"""

from assent.testing.annotations import assert_annotations, every_tool_annotated
from assent.testing.world import AGENT, ANN, Clock, FakeUpstream, World, as_given

__all__ = [
    "AGENT",
    "ANN",
    "Clock",
    "FakeUpstream",
    "World",
    "as_given",
    "assert_annotations",
    "every_tool_annotated",
]
