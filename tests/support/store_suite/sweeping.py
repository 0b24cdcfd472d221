"""Does a sweep let go of what nobody needs, and of nothing else?"""

from __future__ import annotations

import pytest

from assent.core.claims import Settlement, State
from assent.core.document import Document
from assent.core.quotas import Quotas, RateSlot
from assent.ports import ClaimExists, Pruned, Store
from support.store_suite.drafts import NOW, approval_draft, approved, claim_draft, decision, entry, succeeded
from support.store_suite.dues import charge

LATER = NOW + 31 * 86400


class SweepPromises:
    """Promises about retention."""

    async def test_an_answer_past_its_retention_leaves_a_tombstone_that_is_never_run_again(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW, charge("1"))
        await store.settle("claim", 1, succeeded(b"personal"), [])
        before = await store.claim_by_id("claim")
        assert before is not None
        assert await store.prune(before.expires_at - 0.001, NOW) == Pruned()
        assert (await store.prune(before.expires_at, NOW)).claims == 1
        assert await store.claim_by_id("claim") == before._replace(result=None, charges=())
        assert (await store.prune(before.expires_at, NOW)).claims == 0
        with pytest.raises(ClaimExists):
            await store.claim(claim_draft(), entry(), None, LATER)

    @pytest.mark.parametrize("state", [State.IN_DOUBT, State.SUSPENDED, None])
    async def test_what_has_not_ended_is_kept_however_old(self, store: Store, state: State | None) -> None:
        await store.claim(claim_draft(), entry(), None, NOW, charge("1"))
        if state is not None:
            await store.settle("claim", 1, Settlement(state, NOW, b"clue"), [])
        kept = await store.claim_by_id("claim")
        assert (await store.prune(LATER, LATER)).claims == 0
        assert await store.claim_by_id("claim") == kept

    async def test_approvals_are_let_go_once_they_answer_for_nothing(self, store: Store) -> None:
        await approved(store, id="given", binding="b1", lasts=100.0)
        await store.ask(approval_draft("pending", binding="b2"), NOW, 20, entry())
        await store.ask(approval_draft("declined", binding="b3"), NOW, 20, entry())
        await store.decide("declined", decision(verdict="decline"), NOW + 1, entry())
        await approved(store, id="used", binding="b4")
        await store.claim(claim_draft(), entry(), "used", NOW + 2)
        assert (await store.prune(NOW + 59, NOW - 1)).approvals == 0
        assert (await store.prune(NOW + 59, NOW + 59)).approvals == 1
        assert {one.id for one in await store.approvals()} == {"given", "pending", "declined"}
        assert (await store.prune(NOW + 60, NOW + 60)).approvals == 2
        assert {one.id for one in await store.approvals()} == {"given"}
        assert (await store.prune(NOW + 101, NOW + 101)).approvals == 1

    async def test_documents_and_counts_are_let_go_when_they_are_over(self, store: Store) -> None:
        await store.put_document(Document("kind", "old", b"{}", expires_at=NOW + 5), NOW)
        await store.put_document(Document("kind", "new", b"{}", expires_at=NOW + 15), NOW)
        await store.admit(Quotas((RateSlot("r", 1, 5.0),), charge("1", until=NOW + 5).charges), NOW)
        assert await store.prune(NOW + 4, NOW - 1) == Pruned()
        assert await store.prune(NOW + 5, NOW + 5) == Pruned(documents=1, counts=2)
        assert [one.id for one in await store.documents("kind", NOW)] == ["new"]

    async def test_a_sweep_is_bounded(self, store: Store) -> None:
        for number in range(5):
            await store.claim(claim_draft(f"{number}"), entry(), None, NOW)
            await store.settle(f"{number}", 1, succeeded(), [])
            await store.put_document(Document("kind", f"{number}", b"{}", expires_at=NOW), NOW)
        swept = [await store.prune(LATER, LATER, limit=2) for _ in range(4)]
        assert [(one.claims, one.documents) for one in swept] == [(2, 2), (2, 2), (1, 1), (0, 0)]
        assert [bool(one) for one in swept] == [True, True, True, False]
