"""What does a test need of the world?"""

from assent.testing.world import AGENT, ANN, Clock, FakeUpstream, World, as_given

__all__ = ["AGENT", "ANN", "Clock", "FakeUpstream", "World", "as_given"]
