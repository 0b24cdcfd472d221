"""Does SQLite agree with memory, operation by operation?"""

import itertools
from pathlib import Path

import pytest

from assent.ports import Store
from assent.stores import SqliteStore
from support.store_suite.model import StoreModel
from support.suite.hypothesis_profile import machines


class SqliteModel(StoreModel):
    folder: Path
    numbers = itertools.count()

    def __init__(self) -> None:
        self.file = self.folder / f"{next(self.numbers)}.db"
        super().__init__()

    async def open_subject(self) -> Store:
        return SqliteStore(self.file)

    def teardown(self) -> None:
        super().teardown()
        for left in self.folder.iterdir():
            left.unlink()


class TestSqliteAgainstMemory(SqliteModel.TestCase):
    settings = machines

    @pytest.fixture(autouse=True)
    def in_a_folder(self, tmp_path: Path) -> None:
        SqliteModel.folder = tmp_path
