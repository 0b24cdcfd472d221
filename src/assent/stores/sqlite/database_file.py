"""A SQLite database file: opening, migrations, and error messages with a remedy."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from assent.errors import StoreError
from assent.stores.migrations import note_migrated, pending

BUSY = 5.0
"""Seconds to wait for other processes that write to the same file."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0002, 0.005
"""Seconds between two looks whether the other process has finished."""
OLDEST = (3, 33, 0)
"""The first SQLite with UPDATE FROM."""
APPLICATION = int.from_bytes(b"asnt", "big")
_SETTINGS = ("synchronous = FULL", "fullfsync = ON", "journal_size_limit = 67108864")
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "is locked by another process. Stop that process, or try again",
    sqlite3.SQLITE_LOCKED: "is locked by another process. Stop that process, or try again",
    sqlite3.SQLITE_NOTADB: "is not an SQLite database. Use another file",
    sqlite3.SQLITE_CORRUPT: "is corrupt. Restore it from a backup; nothing was written",
    sqlite3.SQLITE_READONLY: "cannot be written to. Let this process write to the file and to its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Let this process write to the file and to its folder",
    sqlite3.SQLITE_PERM: "cannot be opened. Let this process write to the file and to its folder",
    sqlite3.SQLITE_FULL: "could not grow: the disk is full. Free some space; nothing was written",
    sqlite3.SQLITE_IOERR: "could not be read or written by the operating system. Check the disk",
}


def failure(path: Path, error: Exception) -> StoreError:
    """Translate an error into a StoreError that says what went wrong and what to do."""
    if isinstance(error, StoreError):
        return error
    code = getattr(error, "sqlite_errorcode", None)
    remedy = _REMEDIES.get(code & 0xFF) if code is not None else None
    return StoreError(f"The database {path} {remedy}." if remedy else f"The database {path} failed: {error}.")


def open_writer(path: Path, busy: float = BUSY) -> sqlite3.Connection:
    """Open a connection that may write and bring the schema up to date. A missing file is created, readable only by
    its owner.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        found, needed = sqlite3.sqlite_version, ".".join(map(str, OLDEST))
        raise StoreError(f"This Python has SQLite {found}. Install one with SQLite {needed} or newer.")
    _create(path)
    try:
        connection = _connect(path, "rw", busy)
    except sqlite3.Error as error:
        raise failure(path, error) from error
    try:
        _prepare(connection, busy)
        _migrate(connection, path)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise failure(path, error) from error
        raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a connection that can only read."""
    try:
        return _connect(path, "ro", BUSY)
    except sqlite3.Error as error:
        raise failure(path, error) from error


def wait_to_begin(connection: sqlite3.Connection, patience: float) -> None:
    """Begin a transaction that writes; wait so many seconds while another process has one.

    SQLite itself looks again after pauses that grow to a tenth of a second. A commit takes less than a millisecond.
    """
    if not _begin(connection) and not try_until(partial(_begin, connection), patience):
        connection.execute("BEGIN IMMEDIATE")


def _begin(connection: sqlite3.Connection) -> bool:
    """Begin a transaction that writes; False while another process has one."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def try_until(attempt: Callable[[], bool], patience: float) -> bool:
    """Try again, for so many seconds, what needs a lock that another process has; returns whether it worked."""
    deadline, pause = time.monotonic() + patience, _FIRST_PAUSE
    while not attempt():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.1, _LONGEST_PAUSE)
    return True


def watch(path: Path) -> Callable[[], None]:
    """Return a check that the file is still the one that was opened: writes into a removed file are lost."""
    opened = _identity(path)

    def check() -> None:
        if _identity(path) != opened:
            raise StoreError(f"The database {path} was removed or replaced. Put it back, or start this process again.")

    return check


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_place(path: Path) -> None:
    """Raise StoreError if the file cannot be written or created; creates nothing."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder. Use a file in it.")
    if path.exists():
        if not os.access(path, os.R_OK | os.W_OK):  # SQLite would silently open it read-only.
            raise StoreError(f"The database {path} {_REMEDIES[sqlite3.SQLITE_READONLY]}.")
    elif not path.parent.exists():
        raise StoreError(f"The folder {path.parent} does not exist. Create it first.")
    elif not path.parent.is_dir():
        raise _cannot_create(path, os.strerror(errno.ENOTDIR))
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        raise _cannot_create(path, os.strerror(errno.EACCES))


def _create(path: Path) -> None:
    check_place(path)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise _cannot_create(path, error.strerror or str(error)) from None


def _cannot_create(path: Path, why: str) -> StoreError:
    return StoreError(
        f"The database {path} cannot be created: {why}. Let this process write to the folder {path.parent}."
    )


def _connect(path: Path, mode: str, busy: float) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=busy)


def _prepare(connection: sqlite3.Connection, busy: float) -> None:
    deadline = time.monotonic() + busy
    while True:  # Changing to WAL does not wait for other processes by itself.
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    if mode != "wal":
        raise StoreError(f"SQLite cannot use a write-ahead log here (its journal mode is {mode}). Use a local disk.")
    for setting in _SETTINGS:
        connection.execute(f"PRAGMA {setting}").fetchall()


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Run the missing steps, all or none. With several processes, one runs them and the others wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        recognise(connection, path, version)
        steps = pending("sqlite", version, f"The database {path}")
        for step in steps:
            for statement in split(step.sql):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {step.number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    note_migrated(f"The database {path}", version, steps)


def recognise(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """Raise StoreError for a database of another program."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    foreign = application not in (0, APPLICATION) or (application == 0 and version != 0)
    if not foreign and application == 0:
        foreign = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
    if foreign:
        raise StoreError(f"The database {path} belongs to another program. Use another file.")


def split(script: str) -> list[str]:
    """The statements of a script; `executescript` would end our transaction."""
    found, statement = [], ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            found.append(statement)
            statement = ""
    return found
