"""Does PostgreSQL agree with memory, operation by operation?"""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from assent.ports import Store
from assent.stores import open_store
from support.store_suite.model import StoreModel
from support.stores.postgres_server import drop_store, new_store_url
from support.suite.hypothesis_profile import machines


class PostgresModel(StoreModel):
    """One schema for all; what an example left is deleted before the next. Every look asks a server six times."""

    url: str
    every = 5
    emptied = False

    async def open_subject(self) -> Store:
        if not self.emptied:
            self.emptied = True
            await empty(self.url)
        return await open_store(self.url)


TABLES = ("claims", "approvals", "rehearsals", "rates", "tallies", "audit_entries", "api_keys")


async def empty(url: str) -> None:
    connection = await asyncpg.connect(url)
    emptying = [f"DELETE FROM {table};" for table in TABLES]
    await connection.execute("".join(emptying) + "UPDATE log_head SET next = 0")
    await connection.close()


async def new_schema() -> str:
    url = await new_store_url()
    store = await open_store(url)
    await store.claims()
    await store.close()
    return url


class TestPostgresAgainstMemory(PostgresModel.TestCase):
    settings = machines

    @pytest.fixture(autouse=True)
    def in_a_schema(self) -> Iterator[None]:
        PostgresModel.url = asyncio.run(new_schema())
        yield
        asyncio.run(drop_store(PostgresModel.url))
