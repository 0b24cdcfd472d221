"""What stands in the database behind a server? Every row of every table, read and never written."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from assent.errors import AssentError, Fault, SettingsError
from assent.verify.observe import Observer, Seen

_REMEDY = "Write sqlite:///path/to/file or postgresql://user@host/database"
_TABLES = (
    "select table_schema, table_name from information_schema.tables "
    "where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') order by 1, 2"
)

# An underscore alone would stand for any character.
_OWN_TABLES = "select name from sqlite_master where type = 'table' and name not like 'sqlite!_%' escape '!' order by 1"


def database_at(url: str) -> Observer:
    """The database of this URL; raises SettingsError where there can be none."""
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresDatabase(url)
    return SqliteDatabase(url)


class SqliteDatabase:
    """An SQLite database, opened for reading only."""

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
            connection.text_factory = _any_text
            tables = [row[0] for row in connection.execute(_OWN_TABLES)]
            return {f"table {name}": _text(connection.execute(f"select * from {_quoted(name)}")) for name in tables}
        except sqlite3.Error as error:
            raise AssentError(f"the database cannot be read: {error}") from None
        finally:
            connection.close()


class PostgresDatabase:
    """Every schema of a PostgreSQL database, in one read-only transaction per look."""

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


def _any_text(stored: bytes) -> str:
    """Text as it was stored: SQLite takes what is no UTF-8 as well."""
    return stored.decode("utf-8", "surrogateescape")


def _text(rows: Any) -> str:
    return "\n".join(sorted(repr(row) for row in rows))
