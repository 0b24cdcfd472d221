"""Do the stores agree with memory, operation by operation?"""

import asyncio
import tempfile
from pathlib import Path
from shutil import rmtree

from hypothesis import HealthCheck, settings

from assent.ports import Store
from assent.stores import SqliteStore, open_store
from assent.testing.stores.model import StoreModel
from postgres_server import drop_store, new_store_url
from soak import TORTURE, rounds

SETTINGS = settings(
    max_examples=rounds(40, 20_000),
    stateful_step_count=100 if TORTURE else 30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


class SqliteModel(StoreModel):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        super().__init__()

    async def open_subject(self) -> Store:
        return SqliteStore(self.folder / "assent.db")

    def teardown(self) -> None:
        super().teardown()
        rmtree(self.folder)


TestSqliteAgainstMemory = SqliteModel.TestCase
TestSqliteAgainstMemory.settings = SETTINGS


class PostgresModel(StoreModel):
    def __init__(self) -> None:
        self.url = asyncio.run(new_store_url())
        super().__init__()

    async def open_subject(self) -> Store:
        return await open_store(self.url)

    def teardown(self) -> None:
        super().teardown()
        asyncio.run(drop_store(self.url))


TestPostgresAgainstMemory = PostgresModel.TestCase
# Every step asks a server in another process, so the short form takes fewer.
TestPostgresAgainstMemory.settings = settings(SETTINGS, max_examples=rounds(10, 20_000))
