"""What the tests of stores share: one of each kind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from assent.ports import Store
from assent.stores import MemoryStore, open_store
from support.stores.postgres_server import drop_store, new_store_url


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def each_store(request: Any, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of every kind in turn."""
    if request.param == "memory":
        yield MemoryStore()
        return
    url = await new_store_url() if request.param == "postgres" else f"sqlite:///{tmp_path}/each.db"
    store = await open_store(url)
    yield store
    await store.close()
    if request.param == "postgres":
        await drop_store(url)
