"""Do the stores agree with memory, operation by operation?"""

import tempfile
from pathlib import Path
from shutil import rmtree

from hypothesis import HealthCheck, settings

from assent.ports import Store
from assent.stores import SqliteStore
from assent.testing.stores.model import StoreModel

SETTINGS = settings(
    max_examples=25,
    stateful_step_count=30,
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
