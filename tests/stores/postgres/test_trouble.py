"""A server that is locked, read-only, full or corrupt: is it said, is no call made, and is all well afterwards?"""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from assent.core.outcome import Answer, Refusal
from assent.errors import StoreError
from assent.stores import open_store
from assent.stores.postgres import PostgresStore, database
from assent.testing.world import World
from support.store_suite.drafts import NOW, claim_draft, entry
from support.stores.postgres_server import drop_store, new_store_url

CONTRACTS: dict[str, Any] = {"send": {"side_effect": "write", "idempotency": {"recovery": "none"}}}
FAILING = """
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'trouble' USING ERRCODE = '{code}'; END $$;
CREATE TRIGGER trouble BEFORE INSERT ON audit_entries EXECUTE FUNCTION fail();
"""


@pytest.fixture
async def url() -> AsyncIterator[str]:
    url = await new_store_url()
    await (await open_store(url)).close()
    yield url
    await drop_store(url)


async def called(there: World) -> str:
    outcome = await there.call("send", {}, key="k")
    return "answered" if isinstance(outcome, Answer) else getattr(outcome, "code", "")


async def test_while_the_log_is_locked_no_call_is_made_and_afterwards_all_is_well(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STATEMENT_TIMEOUT", 0.2)
    there = World(CONTRACTS, store=PostgresStore(url))
    other = await asyncpg.connect(url)
    await other.execute("BEGIN; LOCK TABLE log_head")
    outcome = await there.call("send", {}, key="k")
    assert isinstance(outcome, Refusal) and outcome.code in ("claim.unavailable", "record.unavailable")
    with pytest.raises(StoreError, match=r"does not answer in time\. Check its load"):
        await there.store.claim(claim_draft(), entry(), None, NOW)
    assert there.upstream.effects == []
    await other.execute("ROLLBACK")
    await other.close()
    assert await called(there) == "answered"
    assert len(there.upstream.effects) == 1
    await there.store.close()


async def test_a_server_that_may_only_be_read_is_named_and_still_answers(url: str) -> None:
    before = World(CONTRACTS, store=await open_store(url))
    assert await called(before) == "answered"
    await before.store.close()
    schema = url.rpartition("=")[2]
    only_read = PostgresStore(url.replace(schema, f"{schema}&default_transaction_read_only=on"))
    with pytest.raises(StoreError, match=r"is read-only\. Use the URL of the primary server"):
        await only_read.claim(claim_draft(), entry(), None, NOW)
    assert [record.key for record in await only_read.claims()] == ["k"]
    await only_read.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [("53100", r"has no space left\. Free some; nothing was written"), ("XX001", r"is corrupt\. Restore it")],
)
async def test_a_server_that_is_full_or_corrupt_is_named_and_no_call_is_made(url: str, code: str, said: str) -> None:
    there, other = World(CONTRACTS, store=await open_store(url)), await asyncpg.connect(url)
    await other.execute(FAILING.format(code=code))
    assert await called(there) in ("claim.unavailable", "record.unavailable")
    with pytest.raises(StoreError, match=said):
        await there.store.claim(claim_draft(), entry(), None, NOW)
    assert there.upstream.effects == [] and await there.store.claims() == []
    await other.execute("DROP TRIGGER trouble ON audit_entries")
    await other.close()
    assert await called(there) == "answered"
    assert len(there.upstream.effects) == 1
    await there.store.close()


async def test_a_result_that_cannot_be_kept_leaves_a_doubt_and_never_a_second_effect(url: str) -> None:
    there, other = World(CONTRACTS, store=await open_store(url)), await asyncpg.connect(url)

    async def filling(_: Any) -> dict[str, bool]:
        await other.execute(FAILING.format(code="53100"))
        return {"sent": True}

    there.upstream.functions["send"] = filling
    assert await called(there) == "execute.in_doubt"
    await other.execute("DROP TRIGGER trouble ON audit_entries")
    await other.close()
    there.clock.advance(15)
    assert await called(there) == "recall.in_doubt"
    assert len(there.upstream.effects) == 1
    await there.store.close()
