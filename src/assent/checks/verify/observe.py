"""Observes the state of a server from outside, and finds changes.

State comes from read tools, a command, a function or a database. A part that differs between two looks without a call
in between, such as a clock, is unsteady and proves nothing.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from assent.errors import AssentError, EndedError, Fault, SettingsError, SilentError, UnansweredError
from assent.features import load_package

Seen = Mapping[str, str]
_FAILED: Final = "failed: "
Result = TypeVar("Result")


class Observer(Protocol):
    """Reads the server's state without changing it."""

    async def look(self) -> Seen:
        """Return the state in parts, each with a readable name."""
        ...


class Command:
    """A command that prints the state."""

    def __init__(self, arguments: Sequence[str], patience: float = 60.0) -> None:
        self._arguments, self._patience = tuple(arguments), patience

    async def look(self) -> Seen:
        try:
            process = await asyncio.create_subprocess_exec(*self._arguments, stdout=asyncio.subprocess.PIPE)
        except OSError as error:
            raise AssentError(f"the snapshot command did not run: {error}") from None
        try:
            async with asyncio.timeout(self._patience):
                printed, _ = await process.communicate()
        except TimeoutError:
            raise AssentError(f"the snapshot command did not end within {self._patience:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise AssentError(f"the snapshot command ended with {process.returncode}")
        return {"the snapshot command's output": printed.decode("utf-8", "replace")}


class Hook:
    """A function that returns the state."""

    def __init__(self, function: Callable[[], Any | Awaitable[Any]]) -> None:
        self._function = function

    async def look(self) -> Seen:
        found = self._function()
        found = await found if isawaitable(found) else found
        return {"the snapshot": json.dumps(_to_json(found), sort_keys=True)}


def _to_json(value: Any, within: tuple[int, ...] = ()) -> Any:
    """Convert any state to JSON; an object without its own text becomes its attributes, not its address."""
    if value is None or isinstance(value, str | int | float):
        return value
    if id(value) in within:
        return "..."
    within = (*within, id(value))
    if isinstance(value, Mapping):
        return {repr(key): _to_json(inner, within) for key, inner in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(_to_json(inner, within), sort_keys=True) for inner in value)
    if isinstance(value, list | tuple | Iterator):
        return [_to_json(inner, within) for inner in value]
    if repr(value) == object.__repr__(value):
        return {type(value).__name__: _to_json(_attributes(value), within)}
    return repr(value)


def _attributes(value: Any) -> dict[str, Any]:
    slots = [name for one in type(value).__mro__ for name in _names(one.__dict__.get("__slots__", ()))]
    return {name: getattr(value, name) for name in slots if hasattr(value, name)} | getattr(value, "__dict__", {})


def _names(slots: Any) -> list[str]:
    given = (slots,) if isinstance(slots, str) else tuple(slots)
    return [name for name in given if name not in ("__dict__", "__weakref__")]


class ToolSession(Protocol):
    """A connection for calling tools; each call says how the server's questions are answered."""

    @property
    def questions_asked(self) -> int:
        """Number of questions so far."""
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, key: str | None = None, agree: bool = True
    ) -> dict[str, Any]:
        """Return the result with `content`, `structuredContent` and `isError`; raise UnansweredError."""
        ...

    async def responds(self) -> bool:
        """Whether the server answers at all."""
        ...


class StateSnapshot:
    """Everything that shows the state: outside observers, and read tools without required arguments.

    A read tool may be the one that lies. So the outside state is compared directly before and after a call, and a
    change that reads show counts only if it stops when only reads are called. A read that fails shows nothing, unless
    it failed from the start and no longer does.
    """

    def __init__(
        self,
        session: ToolSession,
        reads: Sequence[str],
        observers: Sequence[Observer],
        lookups: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._session, self._reads, self._observers = session, tuple(reads), tuple(observers)
        self._lookups = tuple(lookups)
        self.unsteady: set[str] = set()
        self.changed_by: dict[str, list[str]] = {}
        """What the first call of a read tool changed outside; some reads change something only once."""
        self.ended_by = ""
        """The read tool that was running when the server ended."""
        self.changed_since: dict[str, list[str]] = {}
        """What changed while only reads were called, and which of them may have changed it."""
        self.unseen_since: dict[str, str] = {}
        """What can no longer be observed, and the tool that was called before."""
        self.silenced_by = ""
        """The read tool that was called when the server stopped answering."""
        self._barren: set[str] = set()

    async def settle(self) -> None:
        """Look twice at each part, and remember what differs without a call."""
        self.unsteady |= set(differing(await self._outside(), await self._outside()))
        settled: dict[str, str | None] = {}
        for tool in self._reads:
            outside = await self._outside()
            first = await self._read_answer(tool)
            if self.ended_by or self.silenced_by:
                return
            self.changed_by[tool] = differing(outside, await self._outside())
            if first is None or first != await self._read_answer(tool):
                self.unsteady.add(_label(tool))
            elif _is_failure(first):
                self._barren.add(_label(tool))
            settled[_label(tool)] = first
        await self._look_back(settled)
        self._reads = tuple(tool for tool in self._reads if _label(tool) not in self.unsteady)

    async def _look_back(self, settled: Mapping[str, str | None]) -> None:
        """Record what changed although only reads were called."""
        reads = self._reads
        now = await self._inside()
        for name in self._list_changes(settled, now):
            self.changed_since[name] = [tool for tool in reads if _label(tool) != name]
        for name in self._list_lost(settled, now):
            self.unseen_since.setdefault(name, " or ".join(tool for tool in reads if _label(tool) != name) or "it")

    async def look(self) -> Seen:
        inside = await self._inside()
        return {**await self._outside(), **{name: said for name, said in inside.items() if said is not None}}

    async def look_up(self, values: Sequence[Any]) -> Seen:
        """Return what one-argument read tools return for given values, such as an id."""
        found = {}
        for tool, argument in self._lookups:
            for value in values:
                said = await self._read_answer(tool, {argument: value})
                if said is None:
                    break  # do not wait for it again
                found[f"what {tool} returns for {argument} {json.dumps(value)}"] = said
        return found

    async def around(self, work: Awaitable[Result], tool: str) -> tuple[Result, list[str]]:
        """Return the result of the work and the parts of the state that it changed."""
        inside, outside = await self._inside(tool), await self._outside()
        result = await work
        changed = differing(outside, await self._outside())
        now = await self._inside(tool)
        for name in self._list_lost(inside, now):
            self.unseen_since.setdefault(name, tool)
        shown = self._list_changes(inside, now)
        if shown:
            drifting = self._list_changes(await self._inside(tool), await self._inside(tool))
            shown = [name for name in shown if name not in drifting]
        return result, changed + shown

    async def _outside(self) -> Seen:
        seen: dict[str, str] = {}
        for observer in self._observers:
            seen.update(await observer.look())
        return {name: value for name, value in seen.items() if name not in self.unsteady}

    def _list_changes(self, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> list[str]:
        return sorted(name for name, said in after.items() if self._proves(name, before.get(name), said))

    def _list_lost(self, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> list[str]:
        """Return what was visible before and no longer is."""
        seen = (name for name, said in before.items() if said is not None and not _is_failure(said))
        return [name for name in seen if name not in self.unsteady and _is_failure(after.get(name) or _FAILED)]

    def _proves(self, name: str, before: str | None, after: str | None) -> bool:
        if before is None or after is None or _is_failure(after):
            return False
        return name in self._barren if _is_failure(before) else before != after

    async def _inside(self, besides: str = "") -> Mapping[str, str | None]:
        """Return what the read tools answer; a tool or server that did not answer is not called again."""
        seen: dict[str, str | None] = {}
        for tool in self._reads:
            if tool == besides or _label(tool) in self.unsteady or self.silenced_by:
                continue
            seen[_label(tool)] = said = await self._read_answer(tool)
            if said is None:
                self._reads = tuple(one for one in self._reads if one != tool)
        return seen

    async def _read_answer(self, tool: str, arguments: Mapping[str, Any] | None = None) -> str | None:
        """Return the answer of a read tool, or None if it does not answer."""
        try:
            result = await self._session.call(tool, arguments or {})
        except SilentError:
            self.silenced_by = self.silenced_by or ("" if await self._session.responds() else tool)
            return None
        except EndedError:
            self.ended_by = self.ended_by or tool
            return None
        except UnansweredError as error:
            return f"{_FAILED}{error}"
        kept = {key: result.get(key) for key in ("content", "structuredContent", "isError")}
        said = json.dumps(kept, sort_keys=True, default=str)
        return _FAILED + said if result.get("isError") else said


def _is_failure(said: str) -> bool:
    return said.startswith(_FAILED)


def _label(tool: str) -> str:
    return f"what {tool} returns"


def differing(before: Seen, after: Seen) -> list[str]:
    """Return the parts of the state that differ."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


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
            # SQLite stores any bytes as text.
            connection.text_factory = lambda stored: stored.decode("utf-8", "surrogateescape")
            tables = [row[0] for row in connection.execute(_OWN_TABLES)]
            return {f"table {name}": _text(connection.execute(f"select * from {_quoted(name)}")) for name in tables}
        except sqlite3.Error as error:
            raise AssentError(f"the database cannot be read: {error}") from None
        finally:
            connection.close()


class PostgresDatabase:
    """All schemas of a PostgreSQL database, read in one read-only transaction per snapshot."""

    def __init__(self, url: str) -> None:
        self._url, self._library = url, load_package("asyncpg", "--database")

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


def _text(rows: Any) -> str:
    return "\n".join(sorted(repr(row) for row in rows))
