"""Which schema does a store have? Looked at without changing or making anything."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from assent.stores.address import is_postgres, open_postgres, sqlite_path
from assent.stores.migrate import migrations, pending
from assent.stores.sqlite.file import failure, open_reader


async def schema_of(url: str) -> tuple[int, int]:
    """The version of the schema there, and the newest this version of Assent knows. Raises StoreError for a newer
    one, and for a store that fails."""
    if is_postgres(url):
        return await open_postgres(url).schema(), len(migrations("postgres"))
    if url.startswith("sqlite:"):
        return await asyncio.to_thread(_sqlite_schema, sqlite_path(url)), len(migrations("sqlite"))
    return 0, 0


def _sqlite_schema(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with closing(open_reader(path)) as connection:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.Error as error:
        raise failure(path, error) from error
    pending("sqlite", version, f"The database {path}")
    return version
