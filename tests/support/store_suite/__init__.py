"""Does a store keep its promises?

Subclass `StorePromises` in a test module and give it the fixture `open_store`: a function that opens the store under
test anew at every call, as another process would, and closes all of them at the end.

    class TestMyStore(StorePromises):
        @pytest.fixture
        async def open_store(self):
            ...

`support.store_suite.model` compares a store with memory, operation by operation; it needs Hypothesis.
"""

from support.store_suite.approvals import ApprovalPromises
from support.store_suite.claims import ClaimPromises
from support.store_suite.documents import DocumentPromises
from support.store_suite.dues import DuesPromises
from support.store_suite.keys import KeyPromises
from support.store_suite.log import LogPromises
from support.store_suite.sweeping import SweepPromises

__all__ = ["StorePromises"]


class StorePromises(
    ClaimPromises, ApprovalPromises, KeyPromises, DocumentPromises, DuesPromises, SweepPromises, LogPromises
):
    """Every promise of the port `Store`."""
