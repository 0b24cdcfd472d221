"""Does a store know every key it was given, and forget none that was revoked?"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from assent.core.principal import Principal
from assent.errors import StoreError
from assent.ports import Store
from support.store_suite.drafts import NOW, OpenStore, entry, key_draft, marks


class KeyPromises:
    """Promises about API keys."""

    async def test_a_key_is_kept_as_it_was_given(self, store: Store) -> None:
        who = Principal(
            "c'i é",
            "service",
            "acme",
            frozenset({"orders:*", "a"}),
            frozenset({"approver"}),
            mode="test",
            asks="nobody",
        )
        record = replace(key_draft("1"), principal=who)
        await store.add_key(record, entry("operator"))
        assert await store.key_by_digest(record.digest) == record
        [found] = await store.keys()
        assert (found, found.caller.asks) == (record, "nobody")
        assert await store.key_by_digest("unknown") is None
        assert await marks(store) == ["operator"]

    async def test_a_key_is_added_once(self, store: Store) -> None:
        await store.add_key(key_draft("1"), entry("operator"))
        with pytest.raises(StoreError):
            await store.add_key(replace(key_draft("1"), created_at=NOW + 1), entry("operator"))
        assert await store.keys() == [key_draft("1")]
        assert await marks(store) == ["operator"]

    async def test_a_key_is_revoked_once_and_for_all_processes(self, open_store: OpenStore) -> None:
        one, other = await open_store(), await open_store()
        await one.add_key(key_draft("1"), entry("operator"))
        revoked = replace(key_draft("1"), revoked_at=NOW + 5)
        assert await other.revoke_key("digest 1", NOW + 5, entry("operator")) == revoked
        assert await one.key_by_digest("digest 1") == revoked
        assert await one.revoke_key("digest 1", NOW + 6, entry("operator")) is None
        assert await one.revoke_key("unknown", NOW + 6, entry("operator")) is None
        assert await marks(one) == ["operator", "operator"]

    async def test_many_who_revoke_at_once_are_one_revocation(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(2)]
        await stores[0].add_key(key_draft("1"), entry("operator"))
        tries = [stores[number % 2].revoke_key("digest 1", NOW, entry("operator")) for number in range(10)]
        assert sum(record is not None for record in await asyncio.gather(*tries)) == 1

    async def test_keys_are_listed_newest_first_and_found_by_their_start(self, store: Store) -> None:
        drafts = [
            replace(key_draft(name), created_at=NOW + number) for number, name in enumerate(["a1", "a2", "b_", "b%"])
        ]
        for draft in drafts:
            await store.add_key(draft, entry("operator"))
        assert await store.keys() == drafts[::-1]
        assert await store.keys(start="assent_a") == drafts[1::-1]
        assert await store.keys(start="assent_b_") == [drafts[2]]
        assert await store.keys(start="assent_%") == []
        assert await store.keys(limit=1) == [drafts[3]]

    async def test_keys_outlive_the_process(self, open_store: OpenStore) -> None:
        store = await open_store()
        await store.add_key(key_draft("1"), entry("operator"))
        await store.close()
        assert await (await open_store()).key_by_digest("digest 1") == key_draft("1")
