"""Is a database used only if it is ours and usable, and is it said what to do if not?"""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from assent.errors import StoreError
from assent.ports import ClaimExists
from assent.stores import open_store
from assent.stores.migrations import migrations
from assent.stores.open import open_lazily
from assent.stores.postgres import PostgresStore
from support.store_suite.drafts import NOW, claim_draft, entry, marks, succeeded
from support.stores.postgres_server import drop_store, new_store_url, server_url


@pytest.fixture
async def url() -> AsyncIterator[str]:
    url = await new_store_url()
    yield url
    await drop_store(url)


async def run(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(sql)
    await connection.close()


async def test_many_processes_that_start_at_once_make_one_schema(url: str) -> None:
    stores = await asyncio.gather(*(open_store(url) for _ in range(5)))
    await asyncio.gather(*(store.claim(claim_draft(str(n)), entry(), None, NOW) for n, store in enumerate(stores)))
    assert [one.index for one in await stores[0].entries()] == list(range(5))
    for store in stores:
        await store.close()


@pytest.mark.parametrize("version", range(1, len(migrations("postgres"))))
async def test_a_database_of_an_earlier_version_keeps_what_it_holds(url: str, version: int) -> None:
    await run(url, "CREATE TABLE assent_schema (version integer PRIMARY KEY)")
    for step in migrations("postgres")[:version]:
        await run(url, f"{step.sql}; INSERT INTO assent_schema VALUES ({step.number})")
    await run(url, "INSERT INTO audit_entries VALUES (0, 'first', NULL); UPDATE log_head SET next = 1")
    stores = await asyncio.gather(*(open_store(url) for _ in range(3)))
    await stores[0].claim(claim_draft(), entry(), None, NOW)
    assert [row.index for row in await stores[1].sealed()] == [0, 1]
    assert await stores[2].schema() == len(migrations("postgres"))
    for store in stores:
        await store.close()


async def test_a_newer_schema_is_left_alone(url: str) -> None:
    await (await open_store(url)).close()
    await run(url, "INSERT INTO assent_schema VALUES (999)")
    with pytest.raises(StoreError, match=rf"has schema 999, .* up to {len(migrations('postgres'))}\. Upgrade Assent"):
        await open_store(url)


async def test_tables_of_another_program_are_left_alone(url: str) -> None:
    await run(url, "CREATE TABLE claims (title text)")
    with pytest.raises(
        StoreError, match=r"tables of another program\. Use another database, or give Assent its own schema"
    ):
        await open_store(url)


async def test_a_database_that_is_not_there_is_named_without_its_password(url: str) -> None:
    missing = server_url().replace("postgres:@/postgres", "postgres:hunter2@/nowhere")
    with pytest.raises(StoreError, match=r"/nowhere has no such database\. Create it first") as error:
        await open_store(missing)
    assert "hunter2" not in str(error.value)


async def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(StoreError, match=r"127\.0\.0\.1/db cannot be reached\. Start it"):
        await open_store("postgresql://127.0.0.1:1/db")


async def test_a_store_connects_when_it_is_first_used(url: str) -> None:
    store = open_lazily(url)
    store.append(entry("first"))
    assert await store.claim_by_id("claim") is None
    assert await marks(store) == ["first"]
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.claim_by_id("claim")
    with pytest.raises(StoreError, match="closed"):
        await store.claim(claim_draft(), entry(), None, NOW)


async def test_text_that_no_database_takes_is_refused_alone(url: str) -> None:
    store = await open_store(url)
    ends = await asyncio.gather(
        store.claim(claim_draft("a"), entry(), None, NOW),
        store.claim(claim_draft("b", principal="nul\x00"), entry(), None, NOW),
        store.claim(claim_draft("c", principal="\ud800"), entry(), None, NOW),
        store.claim(claim_draft("d"), entry(), None, NOW),
        return_exceptions=True,
    )
    assert [isinstance(end, StoreError) for end in ends] == [False, True, True, False]
    assert await marks(store) == ["intent", "intent"]
    await store.close()


async def cut(url: str) -> None:
    """End every other session of the store's user, as a restart of the server would."""
    await run(
        server_url(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'assent' AND pid <> pg_backend_pid()",
    )


async def test_a_server_that_vanishes_and_returns_loses_nothing(url: str) -> None:
    store = await open_store(url)
    await store.claim(claim_draft(), entry(), None, NOW)
    store.append(entry("noted"))
    await cut(url)
    assert await store.settle("claim", 1, succeeded(), [entry("outcome")])
    record = await store.claim_by_id("claim")
    assert record is not None and record.result == succeeded().result
    assert await marks(store) == ["intent", "noted", "outcome"]
    await store.close()


async def test_a_commit_whose_answer_was_lost_is_found_out_about(url: str) -> None:
    """The connection ends after the server has committed and before it says so."""
    store = PostgresStore(url)
    await store.connect()
    connection = await store._writer._connect()

    class Deaf:
        def __getattr__(self, name: str) -> object:
            return getattr(connection, name)

        async def execute(self, sql: str, *values: object, **options: object) -> object:
            said = await connection.execute(sql, *values, **options)
            if sql == "COMMIT":
                raise ConnectionResetError("gone")
            return said

    store._writer._connection = Deaf()
    claimed = await store.claim(claim_draft(), entry(), None, NOW)
    assert await store.claim_by_id("claim") == claimed
    assert await marks(store) == ["intent"]
    with pytest.raises(ClaimExists):
        await store.claim(claim_draft(), entry(), None, NOW)
    await store.close()


CUTTING = """
CREATE SEQUENCE cuts;
CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('cuts') <= 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER cutting AFTER INSERT ON audit_entries FOR EACH STATEMENT EXECUTE FUNCTION cut();
"""


async def test_a_session_that_is_cut_in_the_middle_of_a_transaction_costs_nobody_an_answer(url: str) -> None:
    store = await open_store(url)
    await store.claim(claim_draft(), entry(), None, NOW)
    await run(url, CUTTING)
    ends = [
        store.settle("claim", 1, succeeded(), [entry("outcome")]),
        store.claim(claim_draft("other"), entry(), None, NOW),
    ]
    settled, other = await asyncio.gather(*ends)
    assert settled is True and await store.claim_by_id("other") == other
    assert sorted(await marks(store)) == ["intent", "intent", "outcome"]
    await store.close()


CUTTING_LOOKS = """
CREATE SEQUENCE cuts;
CREATE FUNCTION uncut() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('cuts') <= 3 THEN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); END IF;
  RETURN true;
END $$;
ALTER TABLE claims RENAME TO kept_claims;
CREATE VIEW claims AS SELECT * FROM kept_claims WHERE uncut();
"""


async def test_a_session_that_is_cut_under_a_look_costs_nobody_an_answer(url: str) -> None:
    store = await open_store(url)
    claimed = await store.claim(claim_draft(), entry(), None, NOW)
    await run(url, CUTTING_LOOKS)
    assert await store.claim_by_id("claim") == claimed
    await store.close()


async def test_a_commit_that_is_still_under_way_when_its_connection_is_lost_is_waited_for(url: str) -> None:
    store, other = PostgresStore(url), await asyncpg.connect(server_url())
    await store.connect()
    connection = await store._writer._connect()
    commits: list[asyncio.Task[object]] = []

    async def commit() -> object:
        """Once somebody waits for the log's head, or nobody will."""
        for _ in range(100):
            if await other.fetchval("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
                break
            await asyncio.sleep(0.01)
        return await connection.execute("COMMIT")

    class Slow:
        def is_closed(self) -> bool:
            return bool(commits)

        def __getattr__(self, name: str) -> object:
            return getattr(connection, name)

        async def execute(self, sql: str, *values: object, **options: object) -> object:
            if sql != "COMMIT":
                return await connection.execute(sql, *values, **options)
            commits.append(asyncio.create_task(commit()))
            raise ConnectionResetError("gone")

    store._writer._connection = Slow()
    try:
        claimed = await store.claim(claim_draft(), entry(), None, NOW)
    finally:
        await asyncio.gather(*commits)
    assert await store.claim_by_id("claim") == claimed
    assert await marks(store) == ["intent"]
    await store.close()
    await other.close()
    await connection.close()


async def test_a_process_that_stands_still_in_a_transaction_does_not_hold_up_the_others(url: str) -> None:
    still, going = PostgresStore(url), PostgresStore(url)
    await still.connect()
    connection = await still._writer._connect()
    await connection.execute("SET idle_in_transaction_session_timeout = 50")
    await connection.execute("BEGIN; SELECT next FROM log_head FOR UPDATE")
    await going.claim(claim_draft(), entry(), None, NOW)
    assert await marks(going) == ["intent"]
    await still.claim(claim_draft("other"), entry(), None, NOW)
    await still.close()
    await going.close()


async def test_no_session_is_busy_and_few_are_open_while_many_calls_are_under_way(url: str) -> None:
    store = await open_store(url)
    await asyncio.gather(*(store.claim(claim_draft(str(number)), entry(), None, NOW) for number in range(300)))
    looker = await asyncpg.connect(server_url())
    sessions = await looker.fetch("SELECT state FROM pg_stat_activity WHERE application_name = 'assent'")
    await looker.close()
    assert {row["state"] for row in sessions} == {"idle"}
    assert len(sessions) <= 6
    tries = (store.settle(str(number), 1, succeeded(), [entry("outcome")]) for number in range(300))
    assert all(await asyncio.gather(*tries))
    await store.close()
