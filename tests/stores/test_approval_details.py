"""Stores keep the parts of an approval, the reason of a decision and the claim that used it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from assent.core.approval import Decision
from assent.ports import Store
from assent.stores import open_store
from assent.stores.migrations import migrations
from assent.stores.sqlite.database_file import APPLICATION
from support.store_suite.drafts import NOW, approval_draft, approved, claim_draft, entry

DETAILS = {"title": "Place an order", "arguments": {"to": "a\u202eb", "n": [1.5, None, {"deep": "é"}]}, "preview": None}


async def test_details_are_kept_as_they_were_asked(each_store: Store) -> None:
    draft = approval_draft(details=DETAILS)
    await each_store.ask(draft, NOW, 20, entry())
    found = await each_store.approval(draft.id)
    assert found == draft and found.details == DETAILS
    assert [one.details for one in await each_store.approvals(pending_at=NOW)] == [DETAILS]


async def test_a_reason_is_kept_with_its_decision(each_store: Store) -> None:
    await each_store.ask(approval_draft(), NOW, 20, entry())
    said = Decision("ann", "decline", NOW + 1, "console", 'not "today"\n')
    await each_store.decide("approval", said, NOW + 1, entry())
    found = await each_store.approval("approval")
    assert found is not None and found.decisions == (said,) and found.decline == said


async def test_a_used_approval_names_its_claim_and_is_found_as_the_last_one(each_store: Store) -> None:
    for number, name in enumerate(("first", "second")):
        changes = {"binding": name, "asked_at": NOW + number, "expires_at": NOW + 60}
        given = await approved(each_store, name=name, **changes)
        await each_store.claim(claim_draft(f"claim of {name}"), entry(), given.id, NOW + 2)
    await approved(each_store, name="unused", binding="unused", asked_at=NOW + 3)
    last = await each_store.last_used_approval("local", "agent", "orders.place", NOW + 4)
    assert last is not None and (last.id, last.claim, last.used) == ("second", "claim of second", 1)
    before = await each_store.last_used_approval("local", "agent", "orders.place", NOW + 1)
    assert before is not None and before.id == "first"
    for other in (("other", "agent", "orders.place"), ("local", "bot", "orders.place"), ("local", "agent", "x")):
        assert await each_store.last_used_approval(*other, NOW + 4) is None


async def test_approvals_of_an_earlier_version_are_read_without_details(tmp_path: Path) -> None:
    steps = migrations("sqlite")
    before = [one for one in steps if one.number < next(n.number for n in steps if n.name == "approval_details")]
    row = (
        "old",
        "b",
        "local",
        "agent",
        "t",
        "user",
        1,
        "Place the order?",
        b"{}",
        NOW,
        NOW + 9,
        9,
        1,
        0,
        b"[]",
        NOW + 9,
    )
    with sqlite3.connect(tmp_path / "old.db") as old:
        for step in before:
            old.executescript(step.sql)
        columns = "id, binding, tenant, requester, tool, given_by, quorum, text, facts, asked_at, expires_at, lasts"
        columns += ", uses, used, decisions, answers_until"
        old.execute(f"INSERT INTO approvals ({columns}) VALUES ({', '.join('?' * len(row))})", row)
        old.execute(f"PRAGMA user_version = {len(before)}")
        old.execute(f"PRAGMA application_id = {APPLICATION}")
    old.close()
    store = await open_store(f"sqlite:///{tmp_path}/old.db")
    found = await store.approval("old")
    await store.close()
    assert found is not None and (found.text, found.details, found.claim) == ("Place the order?", None, None)
