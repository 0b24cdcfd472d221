"""A store behind a pooler in transaction mode, where every transaction may get another session."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import pytest

from assent.core.audit import Entry
from assent.core.claims import ClaimRecord, Settlement, State
from assent.errors import SettingsError
from assent.ports import ClaimExists
from assent.stores.postgres import PostgresStore
from support.store_suite.drafts import NOW, claim_draft
from support.stores.pgbouncer import PGBOUNCER, pooler
from support.stores.postgres_server import drop_store, new_store_url, server_url

END = Settlement(State.SUCCEEDED, NOW, b"{}")
FORGETS = "ignore_startup_parameters = synchronous_commit,idle_in_transaction_session_timeout,search_path"
"""A pooler that accepts settings and forgets them, as operators configure it to make drivers connect."""


@pytest.fixture(params=["refuses settings", "forgets settings", "named in the URL"])
async def pooled_url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    if PGBOUNCER is None:
        pytest.skip("pgbouncer is not installed")
    direct = await new_store_url()
    schema = parse_qs(urlsplit(direct).query)["search_path"][0]
    with pooler(server_url(), *([FORGETS] if request.param == "forgets settings" else [])) as url:
        named = "&pooler=transaction" if request.param == "named in the URL" else ""
        yield f"{url}?search_path={schema}{named}"
    await drop_store(direct)


async def test_claims_reads_and_waits_of_two_processes_hold_behind_a_pooler(pooled_url: str) -> None:
    one, other = PostgresStore(pooled_url), PostgresStore(pooled_url)

    async def call(number: int) -> None:
        draft = claim_draft(f"claim {number}")
        await one.claim(draft, Entry("intent", NOW, {"claim": draft.id}), None, NOW)
        waiting = asyncio.create_task(other.wait_until_ended(draft.id, 30))
        assert await one.settle(draft.id, 1, END, [Entry("outcome", NOW, {"claim": draft.id})])
        ended = await waiting
        assert ended is not None and ended.state is State.SUCCEEDED

    await asyncio.gather(*(call(number) for number in range(40)))
    assert one._database.pooled and other._database.pooled
    assert await other.length() == 80
    assert len(await one.claims(limit=100)) == 40
    assert [entry.index for entry in await other.entries(limit=100)] == list(range(80))
    await one.close()
    await other.close()


async def test_same_key_races_of_two_processes_have_one_winner_behind_a_pooler(pooled_url: str) -> None:
    stores = [PostgresStore(pooled_url) for _ in range(2)]
    for number in range(5):
        draft = claim_draft(f"key {number}")
        claims = (stores[each % 2].claim(draft, Entry("intent", NOW, {}), None, NOW) for each in range(12))
        results = await asyncio.gather(*claims, return_exceptions=True)
        assert Counter(type(result) for result in results) == {ClaimRecord: 1, ClaimExists: 11}
    assert await stores[0].length() == 5
    for store in stores:
        await store.close()


async def test_a_server_without_a_pooler_keeps_its_sessions() -> None:
    url = await new_store_url()
    store = PostgresStore(url)
    await store.connect()
    assert not store._database.pooled
    await store.close()
    await drop_store(url)


def test_an_unknown_kind_of_pooler_is_refused() -> None:
    with pytest.raises(SettingsError, match="`pooler` is not `transaction`"):
        PostgresStore("postgresql://host/database?pooler=statement")
