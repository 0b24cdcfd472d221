"""Is somebody who waits woken without having to look?"""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from assent.core.claims import ClaimRecord
from assent.errors import StoreError
from assent.ports import Store
from assent.stores import MemoryStore, SqliteStore, change_waiter
from assent.stores.postgres import PostgresStore
from assent.stores.postgres import store as postgres_store
from support.store_suite.drafts import NOW, approval_draft, claim_draft, decision, entry, succeeded
from support.stores.postgres_server import drop_store, new_store_url


@pytest.fixture(autouse=True)
def nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_waiter, "FIRST_POLL", 3600.0)


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
    while not (wakeup := store._waiters.waiting.get(name)) or not wakeup.is_scheduled:  # noqa: ASYNC110 - it makes no noise
        await asyncio.sleep(0.001)


async def test_an_end_wakes_who_waits_for_it(store: Store) -> None:
    await store.claim(claim_draft(), entry(), None, NOW)
    waits = asyncio.create_task(store.wait_until_ended("claim", 3600))
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
    waits = asyncio.create_task(here.wait_until_ended("claim", 3600))
    await asleep(here, "claim")
    while here._listener._connection is None:  # noqa: ASYNC110 - nor does listening
        await asyncio.sleep(0.001)
    await there.settle("claim", 1, succeeded(), [])
    ended = await waits
    assert ended is not None and ended.result == succeeded().result
    await here.close()
    await there.close()


async def test_without_a_listener_looking_is_enough(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_waiter, "FIRST_POLL", 0.001)
    here, there = PostgresStore(url), PostgresStore(url)
    monkeypatch.setattr(here._listener, "ensure_listening", lambda: None)
    await there.claim(claim_draft(), entry(), None, NOW)
    waits = asyncio.create_task(here.wait_until_ended("claim", 3600))
    await asleep(here, "claim")
    await there.settle("claim", 1, succeeded(), [])
    assert await waits is not None
    await here.close()
    await there.close()


async def test_where_nobody_can_listen_no_connection_stays_open(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind a pooler, or on a server that knows no LISTEN."""
    monkeypatch.setattr(postgres_store, "PAUSE", 0.0)

    async def refused(*_: object) -> None:
        raise asyncpg.FeatureNotSupportedError("LISTEN is not supported")

    monkeypatch.setattr(asyncpg.Connection, "add_listener", refused)
    store = PostgresStore(url)
    for _ in range(3):
        await store.wait_until_ended("claim", 0.0)
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


MANY = 1000


class Counting(MemoryStore):
    """A store that counts how often a claim is looked at."""

    looks = 0

    async def claim_by_id(self, claim_id: str) -> ClaimRecord | None:
        self.looks += 1
        return await super().claim_by_id(claim_id)


async def test_a_thousand_who_wait_for_one_claim_look_as_often_as_one() -> None:
    store = Counting()
    await store.claim(claim_draft(), entry(), None, NOW)
    waits = [asyncio.create_task(store.wait_until_ended("claim", 3600)) for _ in range(MANY)]
    await asleep(store, "claim")
    assert store.looks == 1
    await store.settle("claim", 1, succeeded(), [])
    assert {record and record.result for record in await asyncio.gather(*waits)} == {succeeded().result}
    assert store.looks == 2
    assert not store._waiters.waiting and not store._waiters._reads


async def test_every_interval_has_one_look_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_waiter, "FIRST_POLL", 0.001)
    looks = count(1)

    async def look(name: str) -> int:
        return next(looks)

    waiters = change_waiter.ChangeWaiter()
    found = await asyncio.gather(*(waiters.until("x", look, lambda number: number >= 7, 3600) for _ in range(MANY)))
    assert found == [7] * MANY


class Slow:
    """A look that takes until it is let go, and finds what there was when it began."""

    def __init__(self) -> None:
        self.state, self.begun, self.gates = "started", 0, [asyncio.Event() for _ in range(3)]

    async def look(self, name: str) -> str:
        found, gate = self.state, self.gates[self.begun]
        self.begun += 1
        await gate.wait()
        return found

    async def until_begun(self, number: int) -> None:
        while self.begun < number:  # noqa: ASYNC110 - a look makes no noise
            await asyncio.sleep(0)


async def test_who_comes_while_others_look_is_told_what_was_so_when_they_came() -> None:
    slow, waiters = Slow(), change_waiter.ChangeWaiter()
    first = asyncio.create_task(waiters.until("x", slow.look, lambda state: state == "ended", 3600))
    await slow.until_begun(1)
    slow.state = "ended"
    second = asyncio.create_task(waiters.until("x", slow.look, lambda state: state == "ended", 0.0))
    await asyncio.sleep(0)
    slow.gates[0].set()
    slow.gates[1].set()
    assert await second == "ended"
    waiters.wake(["x"])
    slow.gates[2].set()
    assert await first == "ended"


async def test_news_that_comes_while_one_looks_is_not_missed() -> None:
    slow, waiters = Slow(), change_waiter.ChangeWaiter()
    waits = asyncio.create_task(waiters.until("x", slow.look, lambda state: state == "ended", 3600))
    await slow.until_begun(1)
    slow.state = "ended"
    waiters.wake(["x"])
    for gate in slow.gates:
        gate.set()
    assert await waits == "ended"
    assert slow.begun == 2


async def test_one_who_gives_up_takes_the_look_from_nobody() -> None:
    slow, waiters = Slow(), change_waiter.ChangeWaiter()
    leaves, stays = (asyncio.create_task(waiters.until("x", slow.look, bool, 3600)) for _ in range(2))
    await slow.until_begun(1)
    leaves.cancel()
    await asyncio.wait([leaves])
    slow.gates[0].set()
    assert await stays == "started"
    assert leaves.cancelled() and slow.begun == 1


async def test_a_look_that_fails_fails_for_all_who_wait() -> None:
    async def look(name: str) -> None:
        raise StoreError("The disk is gone.")

    waiters = change_waiter.ChangeWaiter()
    ends = await asyncio.gather(
        *(waiters.until("x", look, lambda _: True, 3600) for _ in range(3)), return_exceptions=True
    )
    assert [str(end) for end in ends] == ["The disk is gone."] * 3
    assert not waiters.waiting and not waiters._reads
