"""Looks at a store without changing it: its schema, and the claims in doubt."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from assent.core.claims import State
from assent.errors import Fault, SettingsError
from assent.ports import Store
from assent.stores.migrations import migrations, pending
from assent.stores.open import is_postgres, open_lazily, open_postgres, open_store, sqlite_path, store_place
from assent.stores.sqlite.database_file import check_place, failure, open_reader, recognise


async def schema_of(url: str) -> tuple[int, int]:
    """Return the schema version of the store and the newest version that this Assent knows.

    Raises StoreError for a newer schema, and for a store that fails.
    """
    if is_postgres(url):
        return await open_postgres(url).schema(), len(migrations("postgres"))
    if url.startswith("sqlite:"):
        return await asyncio.to_thread(_sqlite_schema, sqlite_path(url)), len(migrations("sqlite"))
    return 0, 0


async def older_schema(url: str) -> str:
    """What opening this store would change for good: its schema is older than this version's. Empty if nothing."""
    found, newest = await schema_of(url)
    if found in (0, newest):
        return ""
    return (
        f"the store has schema {found}. This version migrates it to {newest} when it first opens it, "
        "and earlier versions cannot open it from then on"
    )


async def open_existing(url: str) -> Store:
    """Open a store that exists: a command that only looks must not leave an empty one behind."""
    if not url.startswith("memory:") and (await schema_of(url))[0] == 0:
        remedy = "Start the gateway first (assent serve), or name its configuration with -c"
        raise SettingsError(
            Fault(f"there is no store at {store_place(url)} yet, so nothing is recorded", remedy, "store")
        )
    return await open_store(url)


async def check_store(url: str) -> None:
    """Raise the error that opening the store would raise, as far as reading it shows."""
    if url.startswith("sqlite:"):
        await asyncio.to_thread(check_place, sqlite_path(url))
    elif not is_postgres(url):
        open_lazily(url)
    await schema_of(url)


async def in_doubt(store: Store, now: float) -> str:
    """How many claims are in doubt and what to do about it; empty if there are none."""
    unsettled = await store.claims(states=[State.STARTED, State.SUSPENDED, State.IN_DOUBT], limit=10_000)
    doubts = sum(record.state_at(now) is State.IN_DOUBT for record in unsettled)
    counted = "1 claim is" if doubts == 1 else f"{doubts} claims are"
    return f"{counted} in doubt. List them: assent claims list" if doubts else ""


def _sqlite_schema(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with closing(open_reader(path)) as connection:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            recognise(connection, path, version)
    except sqlite3.Error as error:
        raise failure(path, error) from error
    pending("sqlite", version, f"The database {path}")
    return version
