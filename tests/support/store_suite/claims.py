"""Does a store let an effect happen once, and know how it ended?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assent.core.claims import ClaimRecord, Settlement, State
from assent.ports import ApprovalGone, ClaimExists, Store
from support.store_suite.drafts import (
    LEASE,
    NOW,
    OpenStore,
    approval_draft,
    approved,
    claim_draft,
    entry,
    marks,
    succeeded,
)

LATER = NOW + LEASE


class ClaimPromises:
    """Promises about claims."""

    @pytest.fixture
    async def open_store(self) -> OpenStore:
        raise NotImplementedError("Give the fixture open_store: see support.store_suite")

    @pytest.fixture
    async def store(self, open_store: OpenStore) -> Store:
        return await open_store()

    async def test_a_claim_is_recalled_as_it_was_made(self, store: Store) -> None:
        draft = claim_draft(valid_until=NOW + 5)
        assert await store.claim(draft, entry(), None, NOW) == draft
        assert await store.claim_by_id(draft.id) == draft
        assert await store.claim_by_id("another") is None

    @pytest.mark.parametrize(
        "key", [None, "", "k" * 255, "k" * 256, "'; DROP TABLE claims; --", 'a"b\\c', "\x01\t\n", "ключ"]
    )
    async def test_any_key_is_kept_as_it_is(self, store: Store, key: str | None) -> None:
        await store.claim(claim_draft(key=key), entry(), None, NOW)
        record = await store.claim_by_id("claim")
        assert record is not None and record.key == key

    async def test_a_second_claim_of_the_name_is_refused_with_the_first(self, store: Store) -> None:
        first = await store.claim(claim_draft(), entry(), None, NOW)
        with pytest.raises(ClaimExists) as taken:
            await store.claim(claim_draft(fingerprint="other"), entry(), None, NOW)
        assert taken.value.record == first
        assert await store.claim_by_id("claim") == first
        assert await marks(store) == ["intent"]

    async def test_a_claim_is_refused_however_long_ago_its_lease_ended(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        with pytest.raises(ClaimExists):
            await store.claim(claim_draft(), entry(), None, NOW + 10 * 365 * 86400)

    async def test_one_of_many_claims_at_once_is_granted(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(3)]
        drafts = [claim_draft(key=str(number)) for number in range(30)]
        tries = [stores[number % 3].claim(draft, entry(), None, NOW) for number, draft in enumerate(drafts)]
        ends = await asyncio.gather(*tries, return_exceptions=True)
        granted = [end for end in ends if isinstance(end, ClaimRecord)]
        assert len(granted) == 1
        assert all(isinstance(end, ClaimExists) and end.record == granted[0] for end in ends if end is not granted[0])
        assert await marks(stores[0]) == ["intent"]

    async def test_a_refused_claim_leaves_its_neighbours_alone(self, store: Store) -> None:
        names = ["a", "b", "a", "c", "b"]
        ends = await asyncio.gather(
            *(store.claim(claim_draft(name), entry(), None, NOW) for name in names), return_exceptions=True
        )
        assert [isinstance(end, ClaimRecord) for end in ends] == [True, True, False, True, False]
        assert await marks(store) == ["intent"] * 3

    async def test_a_stale_claim_is_replaced_and_its_epoch_counted_up(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        await store.settle("claim", 1, succeeded(valid_until=NOW + 10), [entry("outcome")])
        with pytest.raises(ClaimExists):
            await store.claim(claim_draft(), entry(), None, NOW + 9.999)
        again = await store.claim(claim_draft(created_at=NOW + 10), entry(), None, NOW + 10)
        assert again == claim_draft(created_at=NOW + 10)._replace(epoch=2)
        assert await store.claim_by_id("claim") == again
        assert await store.settle("claim", 1, succeeded(), []) is False

    async def test_a_claim_in_doubt_is_never_stale(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        await store.settle("claim", 1, Settlement(State.IN_DOUBT, NOW, valid_until=NOW), [])
        with pytest.raises(ClaimExists):
            await store.claim(claim_draft(), entry(), None, NOW + 1)

    async def test_a_claim_consumes_its_approval_in_the_same_stroke(self, store: Store) -> None:
        given = await approved(store)
        await store.claim(claim_draft(), entry(), given.id, NOW + 2)
        consumed = await store.approval(given.id)
        assert consumed is not None and consumed.used == 1

    async def test_without_a_usable_approval_nothing_is_claimed_or_written(self, store: Store) -> None:
        asked = await store.ask(approval_draft(), NOW, 20, entry("approval"))
        for approval in (asked.id, "unheard-of"):
            with pytest.raises(ApprovalGone):
                await store.claim(claim_draft(), entry(), approval, NOW)
        assert await store.claim_by_id("claim") is None
        assert await marks(store) == ["approval"]

    async def test_a_taken_claim_does_not_use_up_the_approval(self, store: Store) -> None:
        given = await approved(store)
        await store.claim(claim_draft(), entry(), None, NOW)
        with pytest.raises(ClaimExists):
            await store.claim(claim_draft(), entry(), given.id, NOW + 2)
        assert await store.approval(given.id) == given

    async def test_a_settled_claim_keeps_its_result(self, store: Store) -> None:
        draft = await store.claim(claim_draft(), entry(), None, NOW)
        settlement = Settlement(State.FAILED, NOW + 2, b"\x00\xff result", valid_until=NOW + 3, lease_until=NOW + 4)
        assert await store.settle("claim", 1, settlement, [entry("outcome"), entry("violation")]) is True
        assert await store.claim_by_id("claim") == draft._replace(
            state=State.FAILED,
            settled_at=NOW + 2,
            result=b"\x00\xff result",
            valid_until=NOW + 3,
            lease_until=NOW + 4,
        )
        assert await marks(store) == ["intent", "outcome", "violation"]

    async def test_a_settlement_that_names_no_lease_leaves_it(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        await store.settle("claim", 1, succeeded(), [])
        record = await store.claim_by_id("claim")
        assert record is not None and record.lease_until == NOW + LEASE

    @pytest.mark.parametrize("end", [State.SUCCEEDED, State.FAILED, State.FAILED_NO_EFFECT])
    async def test_an_ended_claim_is_not_settled_again(self, store: Store, end: State) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        await store.settle("claim", 1, Settlement(end, NOW + 1), [entry("outcome")])
        ended = await store.claim_by_id("claim")
        assert await store.settle("claim", 1, succeeded(b"late"), [entry("outcome")]) is False
        assert await store.claim_by_id("claim") == ended
        assert await marks(store) == ["intent", "outcome"]

    @pytest.mark.parametrize("state", [State.SUSPENDED, State.IN_DOUBT])
    async def test_a_claim_that_is_suspended_or_in_doubt_can_still_be_settled(self, store: Store, state: State) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        assert await store.settle("claim", 1, Settlement(state, NOW + 1), [])
        assert await store.settle("claim", 1, succeeded(), [])
        record = await store.claim_by_id("claim")
        assert record is not None and record.state is State.SUCCEEDED

    async def test_nothing_is_settled_under_a_wrong_name_or_epoch(self, store: Store) -> None:
        draft = await store.claim(claim_draft(), entry(), None, NOW)
        for name, epoch in (("another", 1), ("claim", 0), ("claim", 2)):
            assert await store.settle(name, epoch, succeeded(), [entry("outcome")]) is False
        assert await store.claim_by_id("claim") == draft
        assert await marks(store) == ["intent"]

    async def test_one_of_many_settlements_at_once_counts(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        tries = [store.settle("claim", 1, succeeded(b"%d" % number), [entry("outcome")]) for number in range(20)]
        assert sorted(await asyncio.gather(*tries)) == [False] * 19 + [True]
        assert await marks(store) == ["intent", "outcome"]

    async def test_a_claim_is_retaken_from_the_moment_its_lease_ends(self, store: Store) -> None:
        draft = await store.claim(claim_draft(), entry(), None, NOW)
        assert await store.retake("claim", 1, LATER + LEASE, LATER - 0.001, entry("again")) is None
        taken = await store.retake("claim", 1, LATER + LEASE, LATER, entry("again"))
        assert taken == draft._replace(epoch=2, lease_until=LATER + LEASE)
        assert await store.claim_by_id("claim") == taken
        assert await marks(store) == ["intent", "again"]

    async def test_a_late_owner_is_fenced_by_the_epoch(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        taken = await store.retake("claim", 1, LATER + LEASE, LATER, entry())
        assert await store.settle("claim", 1, succeeded(b"late"), [entry("outcome")]) is False
        await store.extend([("claim", 1)], LATER + 1000)
        assert await store.claim_by_id("claim") == taken
        assert await store.settle("claim", 2, succeeded(b"mine"), [entry("outcome")]) is True

    async def test_who_looked_before_it_was_taken_over_neither_retakes_nor_doubts_it(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        taken = await store.retake("claim", 1, LATER + LEASE, LATER, entry("again"))
        assert await store.retake("claim", 1, LATER + 3 * LEASE, LATER + LEASE, entry("late")) is None
        assert await store.mark_in_doubt("claim", 1, LATER + LEASE, entry("late")) is None
        assert await store.claim_by_id("claim") == taken
        assert await marks(store) == ["intent", "again"]

    @pytest.mark.parametrize("state", [State.SUSPENDED, State.IN_DOUBT])
    async def test_what_was_abandoned_or_is_in_doubt_can_be_retaken(self, store: Store, state: State) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        await store.settle("claim", 1, Settlement(state, NOW + 1), [])
        taken = await store.retake("claim", 1, LATER + LEASE, LATER, entry())
        assert taken is not None
        assert (taken.state, taken.epoch, taken.settled_at) == (State.STARTED, 2, None)

    async def test_a_claim_that_has_ended_or_is_unknown_is_not_retaken(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        await store.settle("claim", 1, succeeded(), [])
        for name, epoch in (("claim", 1), ("claim", 2), ("another", 1)):
            assert await store.retake(name, epoch, LATER + LEASE, LATER, entry()) is None

    async def test_an_owner_learns_of_what_another_process_did_to_its_claim(self, open_store: OpenStore) -> None:
        here, there = await open_store(), await open_store()
        for name in ("warm", "up", "taken", "doubted", "ended"):
            await here.claim(claim_draft(name), entry(), None, NOW)
        await here.settle("warm", 1, succeeded(), [])
        assert await there.retake("taken", 1, LATER + LEASE, LATER, entry()) is not None
        assert await there.mark_in_doubt("doubted", 1, LATER, entry()) is not None
        assert await there.settle("ended", 1, succeeded(b"there"), [])
        for name in ("taken", "doubted", "ended"):
            assert await here.settle(name, 1, succeeded(b"here"), []) is False
        await here.extend([("taken", 1), ("up", 1)], LATER + 1000)
        taken, up = await there.claim_by_id("taken"), await there.claim_by_id("up")
        assert taken is not None and taken.lease_until == LATER + LEASE
        assert up is not None and up.lease_until == LATER + 1000

    async def test_a_doubt_is_written_down_under_a_new_epoch_and_fences_the_late_owner(self, store: Store) -> None:
        draft = await store.claim(claim_draft(), entry(), None, NOW)
        assert await store.mark_in_doubt("claim", 1, LATER - 0.001, entry("doubt")) is None
        doubted = await store.mark_in_doubt("claim", 1, LATER, entry("doubt"))
        assert doubted == draft._replace(state=State.IN_DOUBT, epoch=2, settled_at=LATER)
        assert await store.claim_by_id("claim") == doubted
        await store.extend([("claim", 1)], LATER + 1000)
        assert await store.settle("claim", 1, succeeded(b"late"), [entry("outcome")]) is False
        assert await store.claim_by_id("claim") == doubted
        assert await store.mark_in_doubt("claim", 2, LATER, entry("doubt")) == doubted
        assert await marks(store) == ["intent", "doubt"]
        assert await store.settle("claim", 2, succeeded(b"settled"), [entry("operator")]) is True

    async def test_nothing_is_doubted_under_a_wrong_name_or_epoch_or_after_its_end(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        for name, epoch in (("another", 1), ("claim", 0), ("claim", 2)):
            assert await store.mark_in_doubt(name, epoch, LATER, entry("doubt")) is None
        await store.settle("claim", 1, succeeded(), [])
        assert await store.mark_in_doubt("claim", 1, LATER, entry("doubt")) is None
        assert await marks(store) == ["intent"]

    async def test_an_abandoned_question_of_the_tool_becomes_a_doubt(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        await store.settle("claim", 1, Settlement(State.SUSPENDED, NOW, lease_until=NOW + 600), [])
        assert await store.mark_in_doubt("claim", 1, NOW + 599, entry()) is None
        doubted = await store.mark_in_doubt("claim", 1, NOW + 600, entry())
        assert doubted is not None and (doubted.state, doubted.epoch) == (State.IN_DOUBT, 2)

    async def test_one_of_many_who_retake_at_once_gets_it(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(2)]
        await stores[0].claim(claim_draft(), entry(), None, NOW)
        tries = [stores[number % 2].retake("claim", 1, LATER + LEASE, LATER, entry("again")) for number in range(20)]
        taken = [record for record in await asyncio.gather(*tries) if record is not None]
        assert [record.epoch for record in taken] == [2]
        assert await marks(stores[1]) == ["intent", "again"]

    async def test_leases_of_started_claims_are_extended_and_no_others(self, store: Store) -> None:
        for name in ("started", "moved on", "ended", "suspended"):
            await store.claim(claim_draft(name), entry(), None, NOW)
        await store.settle("ended", 1, succeeded(), [])
        await store.settle("suspended", 1, Settlement(State.SUSPENDED, NOW), [])
        leases = [("started", 1), ("moved on", 2), ("ended", 1), ("suspended", 1), ("unknown", 1)]
        await store.extend(leases, NOW + 99)
        records = {record.id: record.lease_until for record in await store.claims()}
        assert records == {"started": NOW + 99} | dict.fromkeys(("moved on", "ended", "suspended"), NOW + LEASE)

    async def test_who_waits_for_a_claim_sees_its_end(self, open_store: OpenStore) -> None:
        here, elsewhere = await open_store(), await open_store()
        await here.claim(claim_draft(), entry(), None, NOW)
        waiting = [asyncio.create_task(store.wait_until_ended("claim", 30)) for store in (here, here, elsewhere)]
        await asyncio.sleep(0)
        await here.settle("claim", 1, succeeded(b"done"), [])
        for record in await asyncio.gather(*waiting):
            assert record is not None and record.result == b"done"

    async def test_who_waits_is_told_of_the_end(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        waiting = asyncio.create_task(store.wait_until_ended("claim", 30))
        await asyncio.sleep(0)
        await store.settle("claim", 1, succeeded(), [])
        await asyncio.wait_for(waiting, 10)

    async def test_waiting_ends_with_the_time_given_for_it(self, store: Store) -> None:
        draft = await store.claim(claim_draft(), entry(), None, NOW)
        assert await store.wait_until_ended("claim", 0) == draft
        assert await store.wait_until_ended("claim", 0.02) == draft

    async def test_nobody_waits_for_what_is_not_under_way(self, store: Store) -> None:
        assert await store.wait_until_ended("unknown", 30) is None
        await store.claim(claim_draft(), entry(), None, NOW)
        await store.settle("claim", 1, Settlement(State.SUSPENDED, NOW), [])
        record = await store.wait_until_ended("claim", 30)
        assert record is not None and record.state is State.SUSPENDED

    async def test_one_who_stops_waiting_does_not_disturb_the_others(self, store: Store) -> None:
        await store.claim(claim_draft(), entry(), None, NOW)
        leaving, staying = (asyncio.create_task(store.wait_until_ended("claim", 30)) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        await store.settle("claim", 1, succeeded(b"done"), [])
        record = await staying
        assert record is not None and record.result == b"done"

    async def test_claims_are_listed_newest_first_by_state_and_number(self, store: Store) -> None:
        for number, name in enumerate("abcd"):
            await store.claim(claim_draft(name, created_at=NOW + number // 2), entry(), None, NOW)
        await store.settle("a", 1, succeeded(), [])
        await store.settle("c", 1, Settlement(State.IN_DOUBT, NOW), [])

        async def names(**options: Any) -> str:
            return "".join(record.id for record in await store.claims(**options))

        assert await names() == "cdab"
        assert await names(limit=3) == "cda"
        assert await names(states=[State.STARTED]) == "db"
        assert await names(states=[State.SUCCEEDED, State.IN_DOUBT, State.IN_DOUBT]) == "ca"
        assert await names(states=[State.SUSPENDED]) == ""
        assert await names(states=list(State)) == "cdab"

    async def test_claims_outlive_the_process(self, open_store: OpenStore) -> None:
        store = await open_store()
        await store.claim(claim_draft("running"), entry(), None, NOW)
        await store.claim(claim_draft("done"), entry(), None, NOW)
        await store.settle("done", 1, succeeded(b"kept"), [entry("outcome")])
        before = await store.claims()
        await store.close()
        again = await open_store()
        assert await again.claims() == before
        with pytest.raises(ClaimExists):
            await again.claim(claim_draft("running"), entry(), None, NOW)

    async def test_claims_are_listed_in_pages_of_one_tenant_or_principal(self, store: Store) -> None:
        for number, name in enumerate(["a", "b", "c", "d"]):
            who = {"tenant": "acme" if name == "d" else "local", "principal": "other" if name == "a" else "agent"}
            await store.claim(claim_draft(name, created_at=NOW + number // 2, **who), entry(), None, NOW)
        assert [one.id for one in await store.claims()] == ["c", "d", "a", "b"]
        assert [one.id for one in await store.claims(after=(NOW + 1, "c"), limit=2)] == ["d", "a"]
        assert [one.id for one in await store.claims(after=(NOW, "b"))] == []
        assert [one.id for one in await store.claims(tenant="local", principal="agent")] == ["c", "b"]
