"""Does every store keep every promise of the port?"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from assent.ports import Store
from assent.stores import MemoryStore, SqliteStore
from assent.testing.stores import StorePromises
from assent.testing.stores.drafts import OpenStore


class TestEveryStore(StorePromises):
    @pytest.fixture(params=["memory", "sqlite"])
    async def open_store(self, request: Any, tmp_path: Path) -> AsyncIterator[OpenStore]:
        memory, opened = MemoryStore(), []

        async def open_one() -> Store:
            store = memory if request.param == "memory" else SqliteStore(tmp_path / "assent.db")
            opened.append(store)
            return store

        yield open_one
        for store in opened:
            await store.close()
