"""What does a test need of the world?"""

from assent.testing.broken import BrokenStore, failing_at, failing_nth
from assent.testing.world import AGENT, ANN, Clock, FakeUpstream, World, as_given

__all__ = [
    "AGENT",
    "ANN",
    "BrokenStore",
    "Clock",
    "FakeUpstream",
    "World",
    "as_given",
    "failing_at",
    "failing_nth",
]
