"""A PostgreSQL database: connections, migrations, and error messages with a remedy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import asyncpg

from assent.errors import Fault, SettingsError, StoreError
from assent.stores.migrations import Migration, note_migrated, pending

T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Address:
    """The URL of a store: the server, and what is ours in its query."""

    server: str
    """The URL for the driver. It may hold a password."""
    name: str
    """The server and database, for messages."""
    search_path: str
    pooled: bool
    """`?pooler=transaction`: a pooler that gives every transaction another session. Most are also recognised."""

    @classmethod
    def of(cls, url: str) -> Address:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
        own = {name: value for name, value in query if name in ("search_path", "pooler")}
        if own.get("pooler", "transaction") != "transaction":
            raise SettingsError(
                Fault("`pooler` is not `transaction`", "A pooler in session mode needs no setting", "store")
            )
        rest = urlencode([(name, value) for name, value in query if name not in own])
        return cls(
            parts._replace(query=rest).geturl(),
            f"{parts.hostname or 'local socket'}/{parts.path.strip('/') or 'default'}",
            own.get("search_path", ""),
            "pooler" in own,
        )


class Database:
    """One database on one server. Messages never contain the whole URL, which may hold a password."""

    def __init__(self, url: str) -> None:
        self._address, self._ready, self._preparing = Address.of(url), False, asyncio.Lock()
        self.name = self._address.name
        self.pooled = self._address.pooled
        """Whether a pooler gives every transaction another session: nothing may outlive one."""

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
        return await asyncpg.connect(self._address.server, **self._options())

    async def pool(self, size: int) -> Any:
        await self._ensure_prepared()
        return await asyncpg.create_pool(self._address.server, min_size=1, max_size=size, **self._options())

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"timeout": CONNECT_TIMEOUT, "command_timeout": STATEMENT_TIMEOUT}
        if self.pooled:  # The next statement may reach a session that never saw what this one prepared.
            return options | {"statement_cache_size": 0, "server_settings": {"application_name": "assent"}}
        return options | {"server_settings": {"application_name": "assent", **self._session_settings()}}

    def _session_settings(self) -> dict[str, str]:
        own = {"search_path": self._address.search_path} if self._address.search_path else {}
        return {
            "synchronous_commit": "on",
            "idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_TIMEOUT),
            **own,
        }

    def begin(self, statement: str) -> str:
        """A statement that begins a transaction, with the settings that no session keeps behind a pooler."""
        if not self.pooled:
            return statement
        first, _, rest = statement.partition(";")
        settings = self._session_settings().items()
        local = ", ".join(f"set_config('{name}', '{_escape_quotes(value)}', true)" for name, value in settings)
        return f"{first}; SELECT {local};{rest}"

    async def run_query(self, pool: Any, query: Callable[[Any], Awaitable[T]]) -> T:
        """Run a query on a connection of the pool, or on the pool itself, which borrows one for each statement."""
        if not self.pooled:
            return await query(pool)
        async with pool.acquire() as connection:
            return await self._in_transaction(connection, "BEGIN READ ONLY;", query)

    async def _in_transaction(self, connection: Any, begin: str, query: Callable[[Any], Awaitable[T]]) -> T:
        await connection.execute(self.begin(begin))
        try:
            found = await query(connection)
        except BaseException:
            with suppress(*FAILURES):
                await connection.execute("ROLLBACK")
            raise
        await connection.execute("COMMIT")
        return found

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

        async def migrate(connection: Any) -> tuple[int, tuple[Migration, ...]]:
            await connection.execute(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
            version = await self._version(connection)
            steps = pending("postgres", version, f"The database {self.name}")
            await self._migrate(connection, steps)
            return version, steps

        note_migrated(f"The database {self.name}", *await self._alone("BEGIN;", migrate))

    async def check(self) -> tuple[int, tuple[Migration, ...]]:
        """The version of the schema and the steps it still needs; changes nothing."""
        version = await self._alone("BEGIN READ ONLY;", self._version)
        return version, pending("postgres", version, f"The database {self.name}")

    async def _alone(self, begin: str, query: Callable[[Any], Awaitable[T]]) -> T:
        """Run a query in a transaction on a connection of its own."""
        connection = await self._connect_knowingly()
        try:
            return await self._in_transaction(connection, begin, query)
        finally:
            await _close_quickly(connection.close)

    async def _connect_knowingly(self) -> Any:
        """Connect, and find out whether sessions keep our settings: a pooler refuses or forgets them."""
        options = self._options() | {"statement_cache_size": 0}
        try:
            connection = await asyncpg.connect(self._address.server, **options)
        except asyncpg.ProtocolViolationError as error:
            if self.pooled or "startup parameter" not in str(error):
                raise
            self.pooled = True
            return await self._connect()
        if not self.pooled:
            self.pooled = await self._in_transaction(connection, "BEGIN READ ONLY;", _forgot_settings)
        return connection

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


async def _forgot_settings(connection: Any) -> bool:
    """Whether the session has not the settings with which it was opened."""
    found = await connection.fetchval("SELECT current_setting('idle_in_transaction_session_timeout')")
    return bool(found not in (f"{IDLE_TRANSACTION_TIMEOUT}ms", f"{IDLE_TRANSACTION_TIMEOUT // 1000}s"))


def _escape_quotes(value: str) -> str:
    return value.replace("'", "''")


async def _close_quickly(close: Callable[..., Awaitable[None]]) -> None:
    """Close the connection, but do not wait long for a server that is gone."""
    with suppress(*FAILURES):
        await close(timeout=2.0)
