"""Does every store keep every promise of the port?"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from assent.ports import Store
from assent.stores import MemoryStore, open_store
from support.store_suite import StorePromises
from support.store_suite.drafts import OpenStore
from support.stores.postgres_server import drop_store, new_store_url


class TestEveryStore(StorePromises):
    @pytest.fixture(params=["memory", "sqlite", "postgres"])
    async def open_store(self, request: Any, tmp_path: Path) -> AsyncIterator[OpenStore]:
        memory, opened = MemoryStore(), list[Store]()
        url = await new_store_url() if request.param == "postgres" else f"sqlite:///{tmp_path}/assent.db"

        async def open_one() -> Store:
            store = memory if request.param == "memory" else await open_store(url)
            opened.append(store)
            return store

        yield open_one
        for store in opened:
            await store.close()
        if request.param == "postgres":
            await drop_store(url)
