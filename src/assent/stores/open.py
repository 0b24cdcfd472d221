"""Opens the store that a URL names."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from assent.errors import Fault, SettingsError
from assent.features import load_package
from assent.ports import Store, no_command
from assent.stores.memory import MemoryStore
from assent.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from assent.stores.postgres import PostgresStore

FORMS = "Write sqlite:///assent.db, sqlite:////var/lib/assent/assent.db, postgresql://user@host/database or memory://"


async def open_store(url: str) -> Store:
    """Open the store, ready for use. Raises SettingsError for a bad URL, StoreError for a store that fails."""
    if is_postgres(url):
        store = open_postgres(url)
        await store.connect()
        return store
    return await asyncio.to_thread(open_lazily, url)


def open_lazily(url: str) -> Store:
    """Open the store without awaiting anything; a store that needs a server connects at first use."""
    if is_postgres(url):
        return open_postgres(url)
    check_url(url)
    return SqliteStore(sqlite_path(url)) if url.startswith("sqlite:") else MemoryStore()


def check_url(url: str) -> None:
    """Raise SettingsError if this is not the URL of a store. Nothing is opened."""
    scheme, separator, rest = url.partition("://")
    if scheme == "sqlite":
        sqlite_path(url)
    elif not is_postgres(url) and not (scheme == "memory" and rest in ("", "/")):
        # The message does not repeat the URL, which may hold a password.
        raise _bad_url(f"{scheme}:// is not a kind of store" if separator else "this is not the URL of a store")


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


def open_postgres(url: str) -> PostgresStore:
    """Return a store that is not connected yet."""
    store: PostgresStore = load_package("assent.stores.postgres", "store").PostgresStore(url)
    return store


def sqlite_path(url: str) -> Path:
    """The file that `sqlite:///relative` or `sqlite:////absolute` names."""
    parts = urlsplit(url)
    if parts.netloc:
        raise _bad_url("the URL has a host where the file name should be: one slash is missing")
    if parts.query or parts.fragment:
        raise _bad_url("a SQLite URL takes no options; write ? as %3F and # as %23 if they are part of the name")
    name = unquote(parts.path.removeprefix("/"))
    if not name or name.endswith("/"):
        raise _bad_url("the URL names no file")
    if name == ":memory:" or "\0" in name:
        raise _bad_url("this is not a file name")
    return Path(name)


def store_place(url: str) -> str:
    """The store as people are told of it: its file, or server and database without who signs in."""
    if is_postgres(url):
        parts = urlsplit(url)
        return parts.netloc.rpartition("@")[2] + parts.path
    return str(sqlite_path(url).absolute()) if url.startswith("sqlite:") else url


def store_command(url: str) -> Callable[[str], str | None]:
    """How another process on this machine runs a command on this store: `assent WORDS --store URL`.

    A password is left out; the person gives it as libpq does (PGPASSWORD, ~/.pgpass). Memory belongs to one process.
    """
    if url.startswith("memory:"):
        return no_command
    if is_postgres(url):
        parts = urlsplit(url)
        user, _, host = parts.netloc.rpartition("@")
        shown = parts._replace(netloc=f"{user.partition(':')[0]}@{host}" if user else host, query="").geturl()
    else:
        shown = "sqlite:///" + quote(str(sqlite_path(url).absolute()))
    return lambda words: f"assent {words} --store {shlex.quote(shown)}"


def _bad_url(message: str) -> SettingsError:
    return SettingsError(Fault(message, FORMS + ".", field="store"))
