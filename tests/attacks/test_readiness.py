"""A gateway whose store cannot be written is not ready, and says so."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import asyncpg
import httpx2

from assent.stores import open_store
from assent.stores.probe import StoreProbe
from support.gateway.gateways import shop_gateway
from support.stores.postgres_server import drop_store, new_store_url


def forbid_writes(database: Path) -> None:
    """Make every write of a rate, a claim or an entry fail, as a full disk would; reads go on."""
    with sqlite3.connect(database) as connection:
        for table in ("rates", "claims", "audit_entries"):
            connection.execute(
                f"CREATE TRIGGER full_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
            )


async def test_a_gateway_is_not_ready_while_its_store_can_be_read_but_not_written(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _shop), httpx2.AsyncClient(timeout=60) as client:
        page = url.replace("/mcp", "/readyz")
        assert (await client.get(page)).status_code == 200
        await gateway_app.store.flush()
        forbid_writes(tmp_path / "assent.db")
        gateway_app.probe = StoreProbe(gateway_app.store, lambda: 0.0)  # the answer of a moment ago is forgotten
        refused = await client.get(page)
        assert (refused.status_code, refused.json()) == (503, {"status": "not ready"})
        assert await gateway_app.store.claim_by_id("") is None
        with sqlite3.connect(tmp_path / "assent.db") as connection:
            for table in ("rates", "claims", "audit_entries"):
                connection.execute(f"DROP TRIGGER full_{table}")
        gateway_app.probe = StoreProbe(gateway_app.store, lambda: 0.0)
        assert (await client.get(page)).status_code == 200


_REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'disk is full' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER full_rates BEFORE INSERT ON rates EXECUTE FUNCTION refuse();
"""


async def test_a_postgres_store_that_takes_no_writes_is_not_writable() -> None:
    url = await new_store_url()
    store, connection = await open_store(url), await asyncpg.connect(url)
    try:
        assert await StoreProbe(store, lambda: 0.0).is_writable()
        await connection.execute(_REFUSE)
        assert not await StoreProbe(store, lambda: 0.0).is_writable()
    finally:
        await connection.close()
        await store.close()
        await drop_store(url)


async def test_many_questions_at_once_write_once(tmp_path: Path) -> None:
    store, asked = await open_store(f"sqlite:///{tmp_path}/assent.db"), 0

    def now() -> float:
        nonlocal asked
        asked += 1
        return 0.0

    probe = StoreProbe(store, now)
    assert await asyncio.gather(*(probe.is_writable() for _ in range(100))) == [True] * 100
    assert asked == 1
    await store.close()
