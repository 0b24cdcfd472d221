"""Is what a writer only thinks of a claim tried when it is written, with another writer on the same database?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from assent.core.claims import State
from assent.core.quotas import Quotas, RateSlot
from assent.ports import ApprovalGone, ClaimExists, RateLimited, Store
from assent.stores import open_store
from support.store_suite.drafts import LEASE, NOW, claim_draft, entry, marks, succeeded
from support.stores.postgres_server import drop_store, new_store_url

Pair = tuple[Store, Store]
LATER = NOW + LEASE + 1


@pytest.fixture(params=["sqlite", "postgres"])
async def pair(request: Any, tmp_path: Path) -> AsyncIterator[Pair]:
    """Two stores, each with a writer of its own, on one database."""
    url = await new_store_url() if request.param == "postgres" else f"sqlite:///{tmp_path}/both.db"
    ours, theirs = await open_store(url), await open_store(url)
    yield ours, theirs
    await ours.close()
    await theirs.close()
    if request.param == "postgres":
        await drop_store(url)


async def test_what_another_writer_has_claimed_is_taken_and_nothing_of_ours_is_written(pair: Pair) -> None:
    ours, theirs = pair
    await theirs.claim(claim_draft("a"), entry("theirs"), None, NOW)
    ends = await asyncio.gather(
        ours.claim(claim_draft("a"), entry("never"), None, NOW),
        ours.claim(claim_draft("b"), entry("ours"), None, NOW),
        return_exceptions=True,
    )
    assert isinstance(ends[0], ClaimExists) and ends[0].record == claim_draft("a")
    assert await marks(ours) == ["theirs", "ours"]


async def test_an_owner_who_was_fenced_elsewhere_does_not_settle(pair: Pair) -> None:
    ours, theirs = pair
    for name in "ab":
        await ours.claim(claim_draft(name), entry(name), None, NOW)
    assert await theirs.mark_in_doubt("a", 1, LATER, entry("doubt")) is not None
    settled = await asyncio.gather(*(ours.settle(name, 1, succeeded(), [entry("end")]) for name in "ab"))
    assert settled == [False, True]
    found = await theirs.claim_by_id("a")
    assert found is not None and (found.state, found.epoch) == (State.IN_DOUBT, 2)
    assert await marks(theirs) == ["a", "b", "doubt", "end"]


async def test_a_claim_that_was_settled_elsewhere_is_taken_with_its_result(pair: Pair) -> None:
    ours, theirs = pair
    await ours.claim(claim_draft("a"), entry(), None, NOW)
    assert await theirs.settle("a", 1, succeeded(), [])
    with pytest.raises(ClaimExists) as taken:
        await ours.claim(claim_draft("a"), entry(), None, NOW)
    assert taken.value.record.state is State.SUCCEEDED
    assert not await ours.settle("a", 1, succeeded(), [])


async def test_that_a_claim_is_taken_goes_before_what_else_would_refuse_it(pair: Pair) -> None:
    ours, theirs = pair
    await theirs.claim(claim_draft("a"), entry(), None, NOW)
    once = Quotas(rates=(RateSlot("once", 1, 3600.0),))
    await ours.admit(once, NOW)
    with pytest.raises(ClaimExists):
        await ours.claim(claim_draft("a"), entry(), "no approval", NOW)
    with pytest.raises(ClaimExists):
        await ours.claim(claim_draft("a"), entry(), None, NOW, once)
    with pytest.raises(ApprovalGone):
        await ours.claim(claim_draft("b"), entry(), "no approval", NOW)
    with pytest.raises(RateLimited):
        await ours.claim(claim_draft("b"), entry(), None, NOW, once)


async def test_places_in_the_log_go_on_where_another_writer_left_off(pair: Pair) -> None:
    ours, theirs = pair
    for round_ in range(3):
        await ours.claim(claim_draft(f"a{round_}"), entry("ours"), None, NOW)
        await theirs.claim(claim_draft(f"b{round_}"), entry("theirs"), None, NOW)
    assert [one.index for one in await ours.entries()] == list(range(6))
    assert await marks(ours) == ["ours", "theirs"] * 3


async def test_a_claim_and_its_end_may_come_in_one_commit(pair: Pair) -> None:
    ours, theirs = pair
    ends = await asyncio.gather(
        ours.claim(claim_draft("a"), entry("start"), None, NOW), ours.settle("a", 1, succeeded(), [entry("end")])
    )
    assert ends[1] is True
    found = await theirs.claim_by_id("a")
    assert found is not None and found.state is State.SUCCEEDED and found.result is not None
