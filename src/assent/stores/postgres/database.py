"""A PostgreSQL database: connections, migrations, and error messages with a remedy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from assent.errors import StoreError
from assent.stores.migrate import Migration, pending

CONNECT_TIMEOUT = 10.0
"""Seconds after which a server that does not answer counts as unreachable."""
STATEMENT_TIMEOUT = 30.0
"""Seconds after which a statement that does not end counts as failed."""
IDLE_TRANSACTION_TIMEOUT = 2000
"""Milliseconds after which the server ends an idle transaction: a paused process must not keep the log locked for
all others.
"""
MIGRATION_LOCK = 0x61736E74
CUT = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
    EOFError,
)
"""Errors that mean the session ended; asyncpg raises its own error if the session ends between two statements."""
FAILURES = (*CUT, asyncpg.PostgresError, OSError, TimeoutError, asyncio.TimeoutError)
_REMEDIES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (asyncpg.InvalidPasswordError, "does not accept the user or password. Correct the URL of the store"),
    (asyncpg.InvalidAuthorizationSpecificationError, "does not accept the user. Correct the URL of the store"),
    (asyncpg.InvalidCatalogNameError, "has no such database. Create it first"),
    (asyncpg.InvalidSchemaNameError, "has no such schema. Create it first"),
    (asyncpg.InsufficientPrivilegeError, "forbids this to the user. Grant it the right to its own tables"),
    (asyncpg.ReadOnlySQLTransactionError, "is read-only. Use the URL of the primary server"),
    (asyncpg.DiskFullError, "has no space left. Free some; nothing was written"),
    (asyncpg.TooManyConnectionsError, "has no connection left. Allow more, or run fewer processes"),
    (asyncpg.CannotConnectNowError, "is starting up or shutting down. Try again"),
    (asyncpg.DataCorruptedError, "is corrupt. Restore it from a backup"),
    (asyncpg.IdleInTransactionSessionTimeoutError, "ended a transaction that was idle too long. Nothing was written"),
    ((TimeoutError, asyncio.TimeoutError), "does not answer in time. Check its load and the network"),
    ((*CUT, OSError), "cannot be reached. Start it"),
)


class Database:
    """One database on one server. Messages never contain the whole URL, which may hold a password."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._url, self._ready, self._preparing = url, False, asyncio.Lock()
        self.name = f"{parts.hostname or 'local socket'}/{parts.path.strip('/') or 'default'}"

    def failure(self, error: BaseException) -> StoreError:
        """Translate an error into a StoreError that says what went wrong and what to do."""
        if isinstance(error, StoreError):
            return error
        for kinds, remedy in _REMEDIES:
            if isinstance(error, kinds):
                return StoreError(f"The database {self.name} {remedy}.")
        return StoreError(f"The database {self.name} failed: {error}.")

    async def connect(self) -> Any:
        """Open a connection outside the pool."""
        await self._ensure_prepared()
        return await self._connect()

    async def _connect(self) -> Any:
        return await asyncpg.connect(self._url, **self._options())

    async def pool(self, size: int) -> Any:
        await self._ensure_prepared()
        return await asyncpg.create_pool(self._url, min_size=1, max_size=size, **self._options())

    def _options(self) -> dict[str, Any]:
        return {
            "timeout": CONNECT_TIMEOUT,
            "command_timeout": STATEMENT_TIMEOUT,
            "server_settings": {
                "application_name": "assent",
                "synchronous_commit": "on",
                "idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_TIMEOUT),
            },
        }

    async def _ensure_prepared(self) -> None:
        """Bring the schema up to date before the first use, once."""
        async with self._preparing:
            if not self._ready:
                await self.prepare()
                self._ready = True

    async def prepare(self) -> None:
        """Bring the schema up to date: all steps or none. With several processes, one runs them while the others
        wait.
        """
        connection = await self._connect()
        try:
            async with connection.transaction():
                await connection.execute(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
                version = await self._version(connection)
                await self._migrate(connection, pending("postgres", version, f"The database {self.name}"))
        finally:
            await _close_quickly(connection.close)

    async def check(self) -> tuple[int, tuple[Migration, ...]]:
        """The version of the schema and the steps it still needs; changes nothing."""
        connection = await self._connect()
        try:
            version = await self._version(connection)
            return version, pending("postgres", version, f"The database {self.name}")
        finally:
            await _close_quickly(connection.close)

    async def _version(self, connection: Any) -> int:
        if await connection.fetchval("SELECT to_regclass('assent_schema')") is not None:
            return int(await connection.fetchval("SELECT max(version) FROM assent_schema") or 0)
        if (
            await connection.fetchval("SELECT coalesce(to_regclass('claims'), to_regclass('audit_entries'))")
            is not None
        ):
            raise StoreError(
                f"The database {self.name} has tables of another program. Use another database, "
                "or give Assent its own schema: add ?search_path=assent to the URL."
            )
        return 0

    async def _migrate(self, connection: Any, steps: tuple[Migration, ...]) -> None:
        if not steps:
            return
        await connection.execute("CREATE TABLE IF NOT EXISTS assent_schema (version integer PRIMARY KEY)")
        for step in steps:
            await connection.execute(step.sql)
            await connection.execute("INSERT INTO assent_schema VALUES ($1)", step.number)


async def _close_quickly(close: Callable[..., Awaitable[None]]) -> None:
    """Close the connection, but do not wait long for a server that is gone."""
    with suppress(*FAILURES):
        await close(timeout=2.0)
