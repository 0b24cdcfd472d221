"""Stores as earlier versions left them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from assent.stores.migrations import migrations
from assent.stores.sqlite.database_file import APPLICATION

SCHEMA_OF_0_2_0 = 7


def make_store_of_0_2_0(file: Path) -> None:
    """A SQLite store with the schema of 0.2.0 and the API key of an approver."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for step in migrations("sqlite")[:SCHEMA_OF_0_2_0]:
            connection.executescript(step.sql)
        connection.execute(f"PRAGMA user_version = {SCHEMA_OF_0_2_0}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        row = ("digest", "assent_1a2b3c4d", "carol", "human", "local", b"[]", b'["approver"]', "live", 1.0, None, None)
        connection.execute(f"INSERT INTO api_keys VALUES ({', '.join('?' * len(row))})", row)


def schema_in(file: Path) -> int:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
