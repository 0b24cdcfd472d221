"""Snapshots of a database: every row of every table, read-only."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from assent.checks.verify.observe import Observer, Seen
from assent.errors import AssentError, Fault, SettingsError

_REMEDY = "Write sqlite:///path/to/file or postgresql://user@host/database"
_TABLES = (
    "select table_schema, table_name from information_schema.tables "
    "where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') order by 1, 2"
)

# Escaped, because an underscore alone matches any character.
_OWN_TABLES = "select name from sqlite_master where type = 'table' and name not like 'sqlite!_%' escape '!' order by 1"


def database_at(url: str) -> Observer:
    """Return the observer for a database URL; raise SettingsError if the URL is not supported."""
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresDatabase(url)
    return SqliteDatabase(url)


class SqliteDatabase:
    """An SQLite database, opened read-only."""

    def __init__(self, url: str) -> None:
        path = Path(url.removeprefix("sqlite:///"))
        if not url.startswith("sqlite:///") or not path.is_file():
            shown = url.partition("?")[0].rpartition("@")[2]
            raise SettingsError(Fault(f"there is no database at {shown!r}", _REMEDY, "--database"))
        self._address = f"{path.resolve().as_uri()}?mode=ro"

    async def look(self) -> Seen:
        return await asyncio.to_thread(self._dump)

    def _dump(self) -> Seen:
        connection = sqlite3.connect(self._address, uri=True)
        try:
            connection.text_factory = _decode_lossy
            tables = [row[0] for row in connection.execute(_OWN_TABLES)]
            return {f"table {name}": _text(connection.execute(f"select * from {_quoted(name)}")) for name in tables}
        except sqlite3.Error as error:
            raise AssentError(f"the database cannot be read: {error}") from None
        finally:
            connection.close()


class PostgresDatabase:
    """All schemas of a PostgreSQL database, read in one read-only transaction per snapshot."""

    def __init__(self, url: str) -> None:
        try:
            import asyncpg
        except ImportError:
            remedy = "Install it: pip install 'assent[postgres]'"
            raise SettingsError(Fault("PostgreSQL needs asyncpg", remedy, "--database")) from None
        self._url, self._library = url, asyncpg

    async def look(self) -> Seen:
        try:
            connection = await self._library.connect(self._url, timeout=30)
            try:
                async with connection.transaction(isolation="repeatable_read", readonly=True):
                    return await self._dump(connection)
            finally:
                await connection.close()
        except (OSError, TimeoutError, ValueError, self._library.PostgresError) as error:
            raise AssentError(f"the database cannot be read: {error}") from None

    async def _dump(self, connection: Any) -> Seen:
        seen: dict[str, str] = {}
        for schema, table in await connection.fetch(_TABLES):
            rows = await connection.fetch(f"select * from {_quoted(schema)}.{_quoted(table)}")
            seen[f"table {schema}.{table}"] = _text(tuple(row) for row in rows)
        return seen


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _decode_lossy(stored: bytes) -> str:
    """Decode text that may not be UTF-8, because SQLite stores any bytes."""
    return stored.decode("utf-8", "surrogateescape")


def _text(rows: Any) -> str:
    return "\n".join(sorted(repr(row) for row in rows))
