"""Keys in the store let callers in until they are revoked, here at once and elsewhere within half a second."""

from __future__ import annotations

import asyncio

from assent.core.api_keys import KeyRecord
from assent.core.audit import Entry
from assent.gateway.auth.authenticator import FRESH, MOST_CACHED, StoredApiKeys, make_key, record_key
from assent.stores import MemoryStore
from assent.testing import AGENT, Clock

ENTRY = Entry("operator", 0.0, {})


class CountingStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        self.looks += 1
        return await super().key_by_digest(digest)


async def kept(store: MemoryStore) -> tuple[str, KeyRecord]:
    key = make_key()
    record = record_key(key, AGENT, 1.0)
    await store.add_key(record, ENTRY)
    return key, record


async def test_a_kept_key_is_believed_and_looked_up_now_and_then() -> None:
    store, clock = CountingStore(), Clock()
    keys = StoredApiKeys(store, clock)
    key, _ = await kept(store)
    for _ in range(10):
        assert await keys.find(key) == AGENT
    assert store.looks == 1
    clock.advance(FRESH)
    assert await keys.find(key) == AGENT
    assert store.looks == 2


async def test_a_revocation_elsewhere_is_seen_within_a_second() -> None:
    store, clock = CountingStore(), Clock()
    keys = StoredApiKeys(store, clock)
    key, record = await kept(store)
    assert await keys.find(key) == AGENT
    await store.revoke_key(record.digest, 2.0, ENTRY)
    clock.advance(FRESH)
    assert FRESH <= 1.0
    assert await keys.find(key) is None


async def test_a_revocation_here_is_seen_at_once() -> None:
    store, clock = CountingStore(), Clock()
    keys = StoredApiKeys(store, clock)
    key, record = await kept(store)
    assert await keys.find(key) == AGENT
    assert (await keys.revoke(record.digest, 2.0, ENTRY)) is not None
    assert await keys.find(key) is None


async def test_a_look_that_is_under_way_does_not_bring_a_revoked_key_back() -> None:
    read, go_on = asyncio.Event(), asyncio.Event()

    class SlowStore(MemoryStore):
        async def key_by_digest(self, digest: str) -> KeyRecord | None:
            found = await super().key_by_digest(digest)
            read.set()
            await go_on.wait()
            return found

    store = SlowStore()
    keys = StoredApiKeys(store, Clock())
    key, record = await kept(store)
    looking = asyncio.ensure_future(keys.find(key))
    await read.wait()
    await keys.revoke(record.digest, 2.0, ENTRY)
    go_on.set()
    assert await looking == AGENT  # It began before the revocation.
    assert await keys.find(key) is None


async def test_what_cannot_be_a_kept_key_costs_no_look() -> None:
    store = CountingStore()
    keys = StoredApiKeys(store, Clock())
    for credential in ("", "chosen-by-a-person", "a.b.c", "assent_" + "x" * 1000):
        assert await keys.find(credential) is None
    assert store.looks == 0
    assert await keys.find(make_key()) is None
    assert store.looks == 1


async def test_what_is_remembered_is_bounded_and_holds_no_strangers() -> None:
    store = CountingStore()
    keys = StoredApiKeys(store, Clock())
    key, _ = await kept(store)
    await keys.find(key)
    for _ in range(100):
        await keys.find(make_key())
    assert len(keys._recognized) == 1
    for number in range(MOST_CACHED + 10):
        keys._recognized[str(number)] = 1.0, AGENT
    assert len(keys._recognized) == MOST_CACHED
