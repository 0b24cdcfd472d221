"""Is somebody who waits woken without having to look?"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from assent.ports import Store
from assent.stores import MemoryStore, SqliteStore, waiting
from assent.stores.postgres import PostgresStore, listening
from assent.testing.stores.drafts import NOW, approval_draft, claim_draft, decision, entry, succeeded
from postgres_server import drop_store, new_store_url


@pytest.fixture(autouse=True)
def nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "FIRST_LOOK", 3600.0)


@pytest.fixture
async def url() -> AsyncIterator[str]:
    url = await new_store_url()
    yield url
    await drop_store(url)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: Any, tmp_path: Path, url: str) -> AsyncIterator[Store]:
    stores = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(tmp_path / "assent.db"),
        "postgres": lambda: PostgresStore(url),
    }
    store = stores[request.param]()
    yield store
    await store.close()


async def asleep(store: Any, name: str) -> None:
    while name not in store._waiters._waiting:  # noqa: ASYNC110 - falling asleep makes no noise
        await asyncio.sleep(0.001)


async def test_an_end_wakes_who_waits_for_it(store: Store) -> None:
    await store.claim(claim_draft(), entry(), None, NOW)
    waits = asyncio.create_task(store.ended("claim", 3600))
    await asleep(store, "claim")
    await store.settle("claim", 1, succeeded(), [])
    ended = await waits
    assert ended is not None and ended.result == succeeded().result


async def test_a_decision_wakes_who_waits_for_it(store: Store) -> None:
    await store.ask(approval_draft(), NOW, 20, entry())
    waits = asyncio.create_task(store.decided("approval", 3600))
    await asleep(store, "approval")
    await store.decide("approval", decision(), NOW, entry())
    decided = await waits
    assert decided is not None and decided.approved_at is not None


async def test_an_end_in_one_process_wakes_who_waits_in_another(url: str) -> None:
    here, there = PostgresStore(url), PostgresStore(url)
    await there.claim(claim_draft(), entry(), None, NOW)
    waits = asyncio.create_task(here.ended("claim", 3600))
    await asleep(here, "claim")
    while here._listener._connection is None:  # noqa: ASYNC110 - nor does listening
        await asyncio.sleep(0.001)
    await there.settle("claim", 1, succeeded(), [])
    ended = await waits
    assert ended is not None and ended.result == succeeded().result
    await here.close()
    await there.close()


async def test_without_a_listener_looking_is_enough(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "FIRST_LOOK", 0.001)
    here, there = PostgresStore(url), PostgresStore(url)
    monkeypatch.setattr(here._listener, "wanted", lambda: None)
    await there.claim(claim_draft(), entry(), None, NOW)
    waits = asyncio.create_task(here.ended("claim", 3600))
    await asleep(here, "claim")
    await there.settle("claim", 1, succeeded(), [])
    assert await waits is not None
    await here.close()
    await there.close()


async def test_where_nobody_can_listen_no_connection_stays_open(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind a pooler, or on a server that knows no LISTEN."""
    monkeypatch.setattr(listening, "PAUSE", 0.0)

    async def refused(*_: object) -> None:
        raise asyncpg.FeatureNotSupportedError("LISTEN is not supported")

    monkeypatch.setattr(asyncpg.Connection, "add_listener", refused)
    store = PostgresStore(url)
    for _ in range(3):
        await store.ended("claim", 0.0)
        assert store._listener._task is not None
        await store._listener._task
    looker = await asyncpg.connect(url)
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'assent'"
    for _ in range(1000):  # a session ends a moment after its connection
        if (sessions := await looker.fetchval(count)) == 1:
            break
        await asyncio.sleep(0.001)
    assert sessions == 1
    await looker.close()
    await store.close()
