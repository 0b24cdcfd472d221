"""Store tests: documents."""

from __future__ import annotations

import asyncio

from assent.core.document import Document
from assent.ports import Pruned, Store
from support.store_suite.drafts import NOW, OpenStore, entry, marks

DRAFT = Document("session", "one", b"\x00body", tenant="acme")


class DocumentPromises:
    """Promises about documents."""

    async def test_a_document_is_kept_with_its_version_and_time(self, store: Store) -> None:
        kept = await store.put_document(DRAFT, NOW)
        assert kept == DRAFT._replace(version=1, updated_at=NOW)
        assert await store.document("session", "one", NOW) == kept
        assert await store.document("session", "two", NOW) is None
        assert await store.document("account", "one", NOW) is None
        changed = await store.put_document(DRAFT._replace(body=b"new"), NOW + 1)
        assert changed == DRAFT._replace(body=b"new", version=2, updated_at=NOW + 1)
        assert await store.document("session", "one", NOW + 1) == changed

    async def test_a_document_is_written_only_over_the_expected_version(self, store: Store) -> None:
        assert await store.put_document(DRAFT, NOW, expected=1, entry=entry("operator")) is None
        assert await store.put_document(DRAFT, NOW, expected=0) is not None
        assert await store.put_document(DRAFT, NOW, expected=0) is None
        assert await store.put_document(DRAFT, NOW, expected=1, entry=entry("operator")) is not None
        assert await marks(store) == ["operator"]

    async def test_one_of_many_concurrent_writers_of_a_version_wins(self, open_store: OpenStore) -> None:
        stores = [await open_store() for _ in range(2)]
        drafts = [DRAFT._replace(body=b"%d" % number) for number in range(10)]
        written = await asyncio.gather(
            *(stores[number % 2].put_document(draft, NOW, expected=0) for number, draft in enumerate(drafts))
        )
        [winner] = [one for one in written if one is not None]
        assert await stores[0].document("session", "one", NOW) == winner

    async def test_a_deleted_document_is_returned_once(self, open_store: OpenStore) -> None:
        one, other = await open_store(), await open_store()
        kept = await one.put_document(DRAFT, NOW)
        assert await other.delete_document("session", "one", NOW, expected=2) is None
        assert await other.delete_document("session", "one", NOW, entry=entry("operator")) == kept
        assert await one.delete_document("session", "one", NOW, entry=entry("operator")) is None
        assert await one.document("session", "one", NOW) is None
        assert await marks(one) == ["operator"]

    async def test_an_expired_document_counts_as_absent_and_is_pruned(self, store: Store) -> None:
        await store.put_document(DRAFT._replace(expires_at=NOW + 5), NOW)
        await store.put_document(DRAFT._replace(id="two"), NOW)
        assert await store.document("session", "one", NOW + 4) is not None
        assert await store.document("session", "one", NOW + 5) is None
        assert [one.id for one in await store.documents("session", NOW + 5)] == ["two"]
        assert await store.prune(NOW + 4, NOW) == Pruned()
        assert await store.prune(NOW + 5, NOW) == Pruned(documents=1)
        again = await store.put_document(DRAFT, NOW + 6, expected=0)
        assert again is not None and again.version == 1

    async def test_documents_are_listed_by_id_kind_and_tenant(self, store: Store) -> None:
        for name in ("b", "a", "c"):
            await store.put_document(DRAFT._replace(id=name, tenant="acme" if name < "c" else "other"), NOW)
        await store.put_document(DRAFT._replace(kind="account", id="d"), NOW)
        assert [one.id for one in await store.documents("session", NOW)] == ["a", "b", "c"]
        assert [one.id for one in await store.documents("session", NOW, tenant="acme")] == ["a", "b"]
        assert [one.id for one in await store.documents("session", NOW, after="a", limit=1)] == ["b"]

    async def test_documents_outlive_the_process(self, open_store: OpenStore) -> None:
        store = await open_store()
        kept = await store.put_document(DRAFT, NOW)
        await store.close()
        assert await (await open_store()).document("session", "one", NOW) == kept
