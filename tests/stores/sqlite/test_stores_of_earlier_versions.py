"""A store of 0.2.0 opens: what it lacks is filled in by migrations."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from assent.stores.migrations import migrations
from assent.stores.open import open_store
from assent.stores.sqlite.database_file import APPLICATION

SCHEMA_OF_0_2_0 = 7


async def test_keys_of_0_2_0_are_good_and_count_by_their_name(tmp_path: Path) -> None:
    file = tmp_path / "assent.db"
    with sqlite3.connect(file) as connection:
        for step in migrations("sqlite")[:SCHEMA_OF_0_2_0]:
            connection.executescript(step.sql)
        connection.execute(f"PRAGMA user_version = {SCHEMA_OF_0_2_0}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        row = ("digest", "assent_1a2b3c4d", "carol", "human", "local", b"[]", b'["approver"]', "live", 1.0, None, None)
        connection.execute(f"INSERT INTO api_keys VALUES ({', '.join('?' * len(row))})", row)
    store = await open_store(f"sqlite:///{file}")
    try:
        (record,) = await store.keys()
        assert record.is_good(2.0) and (record.made_by, record.made_in) == ("", "")
        assert (record.caller.id, record.caller.maker, record.caller.key) == ("carol", "", "assent_1a2b3c4d")
    finally:
        await store.close()
