"""Which store does a URL name?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from assent.errors import Fault, SettingsError
from assent.ports import Store
from assent.stores.memory import MemoryStore
from assent.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from assent.stores.postgres import PostgresStore

FORMS = "Write sqlite:///assent.db, sqlite:////var/lib/assent/assent.db, postgresql://user@host/database or memory://"


async def open_store(url: str) -> Store:
    """The store of that URL, ready for use. Raises SettingsError for a bad URL, StoreError for a store that fails."""
    if is_postgres(url):
        store = open_postgres(url)
        await store.connect()
        return store
    return await asyncio.to_thread(open_lazily, url)


def open_lazily(url: str) -> Store:
    """The same where nothing can be awaited: a store that needs a server connects to it when it is first used."""
    if is_postgres(url):
        return open_postgres(url)
    scheme, _, rest = url.partition("://")
    if scheme == "memory" and rest in ("", "/"):
        return MemoryStore()
    if scheme == "sqlite":
        return SqliteStore(sqlite_path(url))
    # The URL itself is not repeated: it may hold a password.
    raise _bad(f"a store cannot be opened under {scheme}://" if "://" in url else "this is not a URL of a store")


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


def open_postgres(url: str) -> PostgresStore:
    """A store that is not connected yet."""
    try:
        from assent.stores.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        raise SettingsError(
            Fault("PostgreSQL needs asyncpg", "Install it: pip install 'assent[postgres]'.", field="store")
        ) from None
    return PostgresStore(url)


def sqlite_path(url: str) -> Path:
    """The file that `sqlite:///relative` or `sqlite:////absolute` names."""
    parts = urlsplit(url)
    if parts.netloc:
        raise _bad("there is a host where the file should be: one slash is missing")
    if parts.query or parts.fragment:
        raise _bad("a file of SQLite takes no options; write ? as %3F and # as %23 if they are part of the name")
    name = unquote(parts.path.removeprefix("/"))
    if not name or name.endswith("/"):
        raise _bad("there is no file named")
    if name == ":memory:" or "\0" in name:
        raise _bad("this is not the name of a file")
    return Path(name)


def _bad(message: str) -> SettingsError:
    return SettingsError(Fault(message, FORMS + ".", field="store"))
