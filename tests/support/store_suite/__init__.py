"""Does a store keep its promises?

Subclass `StorePromises` in a test module and give it the fixture `open_store`: a function that opens the store under
test anew at every call, as another process would, and closes all of them at the end.

    class TestMyStore(StorePromises):
        @pytest.fixture
        async def open_store(self):
            ...

`assent.testing.stores.model` compares a store with memory, operation by operation; it needs Hypothesis.
"""

from assent.testing.stores.approvals import ApprovalPromises
from assent.testing.stores.claims import ClaimPromises
from assent.testing.stores.documents import DocumentPromises
from assent.testing.stores.dues import DuesPromises
from assent.testing.stores.keys import KeyPromises
from assent.testing.stores.log import LogPromises
from assent.testing.stores.sweeping import SweepPromises

__all__ = ["StorePromises"]


class StorePromises(
    ClaimPromises, ApprovalPromises, KeyPromises, DocumentPromises, DuesPromises, SweepPromises, LogPromises
):
    """Every promise of the port `Store`."""
