"""Does a store keep every entry, in one order, for good?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assent.audit.verifier import matches
from assent.core.audit import Entry
from assent.errors import StoreError
from assent.ports import LogEntry, Store
from support.store_suite.drafts import NOW, OpenStore, claim_draft, entry, mark_of, marks, succeeded


class LogPromises:
    """Promises about entries."""

    async def test_entries_come_back_as_they_were_written(self, store: Store) -> None:
        facts = {"tool": "orders.place", "count": 9007199254740991, "dry_run": True, "would": ["a", "b"]}
        values = {"arguments": {"text": 'é\u2028\x00"\\', "deep": [[{"x": None}]], "price": 0.1}}
        written = Entry("intent", NOW + 0.123, facts, values)
        store.append(written)
        store.append(Entry("read", NOW, {}))
        await store.flush()
        assert await store.entries() == [LogEntry(0, written), LogEntry(1, Entry("read", NOW, {}))]

    async def test_an_entry_is_kept_as_it_was_when_it_was_noted(self, store: Store) -> None:
        arguments: dict[str, Any] = {"to": "ann"}
        store.append(Entry("read", NOW, {}, {"arguments": arguments}))
        arguments["to"] = "mallory"
        await store.flush()
        assert (await store.entries())[0].entry.values == {"arguments": {"to": "ann"}}

    async def test_a_new_log_is_empty(self, store: Store) -> None:
        assert await store.entries() == []

    async def test_notes_and_operations_share_one_order(self, store: Store) -> None:
        store.append(entry("first"))
        await store.claim(claim_draft(), entry("second"), None, NOW)
        store.append(entry("third"))
        await store.settle("claim", 1, succeeded(), [entry("fourth"), entry("fifth")])
        store.append(entry("sixth"))
        assert await marks(store) == ["first", "second", "third", "fourth", "fifth", "sixth"]

    async def test_the_log_is_read_in_pages(self, store: Store) -> None:
        for number in range(25):
            store.append(entry(f"{number}"))
        await store.flush()
        assert [one.index for one in await store.entries(after=9, limit=10)] == list(range(10, 20))
        assert [mark_of(one) for one in await store.entries(after=19)] == ["20", "21", "22", "23", "24"]
        assert await store.entries(after=24) == []
        assert await store.entries(after=1000) == []

    async def test_many_writers_leave_no_gap_and_lose_nothing(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(3)]
        names = [f"{number}" for number in range(90)]
        for number, name in enumerate(names):
            stores[number % 3].append(entry(f"note {name}"))
        claims = (stores[int(name) % 3].claim(claim_draft(name), entry(name), None, NOW) for name in names)
        await asyncio.gather(*claims)
        await asyncio.gather(*(store.flush() for store in stores))
        log = await stores[0].entries()
        assert [one.index for one in log] == list(range(180))
        assert {mark_of(one) for one in log} == {*names, *(f"note {name}" for name in names)}

    async def test_notes_outlive_the_process_without_a_flush(self, open_store: OpenStore) -> None:
        store = await open_store()
        store.append(entry("last words"))
        await store.close()
        again = await open_store()
        assert await marks(again) == ["last words"]
        again.append(entry("more"))
        assert await marks(again) == ["last words", "more"]

    async def test_an_entry_that_is_no_json_is_refused_at_once_and_alone(self, store: Store) -> None:
        store.append(entry("before"))
        with pytest.raises(StoreError):
            store.append(Entry("bad", NOW, {"object": object()}))
        with pytest.raises(StoreError):
            await store.claim(claim_draft(), Entry("bad", NOW, {1: {2}}), None, NOW)  # type: ignore[dict-item]
        assert await store.claim_by_id("claim") is None
        assert await marks(store) == ["before"]

    async def test_the_log_can_be_read_as_it_lies_there(self, store: Store) -> None:
        store.append(entry("first"))
        store.append(entry("second"))
        await store.flush()
        rows = await store.sealed()
        assert [row.index for row in rows] == [0, 1]
        assert [one.index for one in await store.sealed(after=0, limit=5)] == [1]
        assert await store.leaves(0, 2) == [row.leaf for row in rows]
        assert await store.leaves(1, 9) == [rows[1].leaf]
        assert await store.leaves(2, 9) == []
        assert await store.length() == 2
        assert all(matches(row.leaf, row.vals or b"") for row in rows)
        assert b"first" not in rows[0].leaf and b"first" in (rows[0].vals or b"")

    async def test_what_is_erased_is_gone_and_said_to_be(self, store: Store) -> None:
        store.append(entry("first", secret="canary", other="kept"))
        await store.flush()
        [before] = await store.sealed()
        await store.erase(0, ["secret"], entry("erased"))
        [after, _] = await store.sealed()
        assert after.leaf == before.leaf
        assert b"canary" not in (after.vals or b"")
        assert (await store.entries())[0].entry.values == {"mark": "first", "other": "kept"}
        assert await marks(store) == ["first", "erased"]

    async def test_what_is_not_there_is_not_erased_and_nothing_says_so(self, store: Store) -> None:
        store.append(entry("first", secret="canary"))
        await store.flush()
        for index, fields in ((0, ["secret", "unknown"]), (7, ["secret"]), (-1, ["secret"])):
            with pytest.raises(StoreError):
                await store.erase(index, fields, entry("erased"))
        assert (await store.entries())[0].entry.values["secret"] == "canary"
        assert await marks(store) == ["first"]

    async def test_a_store_is_closed_as_often_as_one_likes(self, store: Store) -> None:
        await store.close()
        await store.close()
