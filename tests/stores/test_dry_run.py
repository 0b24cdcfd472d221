"""A dry run answers as the store itself would, and the store stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

from assent.core.document import Document
from assent.errors import AssentError
from assent.ports import Store
from assent.stores.dry_run import DryRunStore, dry_run_store
from assent.stores.memory import MemoryStore
from support.store_suite.drafts import NOW, approval_draft, approved, claim_draft, decision, entry, key_draft, succeeded


async def fill(store: Store) -> None:
    await approved(store)
    await store.ask(approval_draft("waiting", binding="other", asked_at=NOW + 2), NOW + 2, 20, entry())
    await store.claim(claim_draft("old"), entry(), None, NOW)
    await store.add_key(key_draft(), entry())
    await store.put_document(Document("note", "one", b"{}"), NOW, entry=entry())
    await store.flush()


async def answer(work: Any) -> Any:
    """The result, or the refusal."""
    try:
        return await work
    except AssentError as error:
        return type(error).__name__, str(error)


async def act(store: Store) -> list[Any]:
    """What a store answers to a bit of everything."""
    return [
        await answer(work)
        for work in (
            store.claim(claim_draft("new"), entry(), "approval", NOW + 2),
            store.claim(claim_draft("again"), entry(), "approval", NOW + 2),
            store.claim(claim_draft("old"), entry(), None, NOW + 2),
            store.settle("new", 1, succeeded(), [entry()]),
            store.settle("new", 1, succeeded(), [entry()]),
            store.mark_in_doubt("old", 1, NOW + 99, entry()),
            store.retake("old", 2, NOW + 200, NOW + 99, entry()),
            store.ask(approval_draft("more", binding="third"), NOW + 3, 1, entry()),
            store.ask(approval_draft("same", binding="other"), NOW + 3, 9, entry()),
            store.decide("waiting", decision(verdict="decline"), NOW + 4, entry()),
            store.decide("waiting", decision("bob"), NOW + 4, entry()),
            store.decide("waiting", decision("bob", "reopen"), NOW + 5, entry()),
            store.ask(approval_draft("late", binding="last"), NOW + 6, 9, entry(), 60.0),
            store.add_key(key_draft(), entry()),
            store.revoke_key("digest 1", NOW, entry()),
            store.revoke_key("digest 1", NOW, entry()),
            store.put_document(Document("note", "one", b"[]"), NOW, expected=7),
            store.put_document(Document("note", "one", b"[]"), NOW, expected=1),
            store.delete_document("note", "one", NOW, expected=2),
            store.delete_document("note", "one", NOW),
            store.erase(0, ["mark"], entry()),
            store.erase(999, ["mark"], entry()),
        )
    ]


async def test_a_dry_run_answers_like_the_store_and_writes_nothing(each_store: Store) -> None:
    real = MemoryStore()
    await fill(real)
    await fill(each_store)
    before = await snapshot(each_store)
    assert await act(dry_run_store(each_store)) == await act(real)
    assert await snapshot(each_store) == before


async def snapshot(store: Store) -> list[Any]:
    await store.flush()
    lists = [await store.claims(), await store.approvals(), await store.keys(), await store.documents("note", NOW)]
    return [*lists, await store.sealed()]


async def test_a_method_that_a_dry_run_does_not_know_is_not_passed_on() -> None:
    with pytest.raises(AttributeError):
        _ = DryRunStore(MemoryStore()).write_something
