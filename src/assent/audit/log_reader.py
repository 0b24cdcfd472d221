"""Reads a store's log: entries in order with filters, and leaves from the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import orjson

from assent.audit.leaf_reader import Leaf, parse_leaf, unpack
from assent.audit.merkle import hash_leaf
from assent.core.limited_dict import LimitedDict
from assent.ports import RawLogRow, Store

CALLS = 50_000
"""Number of calls whose principal is remembered."""
_WHO = {"principal", "person"}


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry as it is returned to readers."""

    index: int
    leaf: Leaf
    leaf_hash: bytes
    values: Mapping[str, Any] = field(default_factory=dict)
    caller: Mapping[str, Any] = field(default_factory=dict)
    """`principal` and `kind` from the intent, for an entry that does not name its own."""

    @property
    def who(self) -> str | None:
        return self.values.get("principal") or self.values.get("person") or self.caller.get("principal")

    @property
    def erased(self) -> list[str]:
        return sorted(self.leaf.commitments.keys() - self.values.keys())

    def fact(self, name: str) -> Any:
        return self.leaf.facts.get(name)


@dataclass(frozen=True, slots=True)
class Selection:
    """Filter for entries; unset fields match everything. Names may contain `*`."""

    principal: str | None = None
    tool: str | None = None
    tier: str | None = None
    outcome: str | None = None
    kind: str | None = None
    since: int | None = None
    until: int | None = None
    open_world: bool | None = None

    def takes(self, row: EntryView) -> bool:
        texts = [
            (self.principal, row.who),
            (self.tool, row.fact("tool")),
            (self.tier, row.fact("tier")),
            (self.outcome, row.fact("state") or row.fact("code")),
            (self.kind, row.leaf.kind),
        ]
        if any(want is not None and not fnmatchcase(str(have or ""), want) for want, have in texts):
            return False
        if self.open_world is not None and bool(row.fact("open_world")) != self.open_world:
            return False
        return (self.since is None or row.leaf.at >= self.since) and (self.until is None or row.leaf.at < self.until)


class PrincipalIndex:
    """Reads entries in order and remembers principals, because an outcome does not repeat the one of its intent."""

    def __init__(self) -> None:
        self._begun = LimitedDict[str, Mapping[str, Any]](CALLS)
        self.position = 0

    def read_entry(self, index: int, leaf: bytes, blob: bytes | None) -> EntryView:
        row = read_row(index, leaf, blob)
        self.position = index + 1
        claim = str(row.fact("claim") or "")
        if not _WHO & row.leaf.commitments.keys():
            return replace(row, caller=self._begun.get(claim, {}))
        if row.leaf.kind == "intent" and "principal" in row.values:
            self._begun[claim] = {name: row.values[name] for name in ("principal", "kind") if name in row.values}
        return row


def read_row(index: int, leaf: bytes, blob: bytes | None) -> EntryView:
    values = {name: _load(value) for name, value in unpack(blob)[0].items()}
    return EntryView(index, parse_leaf(leaf), hash_leaf(leaf), values)


def _load(value: bytes) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return {"uninspectable": value.hex()}


FIRST_PIECE, LARGEST_PIECE = 256, 4096
NEAR = 8
"""Entries that lie no further apart are read together."""
_KIND, _END = b'"kind":"', len(b'","v":1}')


def kind_of(leaf: bytes) -> str:
    """The kind of a leaf, without reading all of it: no text in a leaf holds a quote."""
    return leaf[leaf.rfind(_KIND) + len(_KIND) : -_END].decode("ascii", "replace")


def time_of(leaf: bytes) -> int:
    """The time of a leaf in milliseconds: a leaf begins with it."""
    digits = leaf[6 : leaf.find(b",")]
    return int(digits) if digits.isdigit() else 0


def has_values(leaf: bytes) -> bool:
    """Whether values were recorded beside the leaf; they may be erased by now."""
    return b'"commitments":{}' not in leaf


def needles_of(**facts: object) -> tuple[bytes, ...]:
    """What the bytes of every leaf with these facts hold; a name with `*` must be looked at more closely."""
    return tuple(
        orjson.dumps({name: value})[1:-1]
        for name, value in facts.items()
        if value is not None and not (isinstance(value, str) and "*" in value)
    )


def holding(piece: list[tuple[int, bytes]], needles: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """The leaves that hold all of these bytes."""
    for needle in needles:
        piece = [one for one in piece if needle in one[1]]
    return piece


async def pieces_back(store: Store, before: int, stop: int = 0) -> AsyncIterator[list[tuple[int, bytes]]]:
    """The leaves before a place, newest first, in growing pieces down to `stop`."""
    size = FIRST_PIECE
    while before > stop:
        start = max(stop, before - size)
        leaves = await store.leaves(start, before)
        yield [(start + place, leaf) for place, leaf in reversed(list(enumerate(leaves)))]
        before, size = start, min(LARGEST_PIECE, size * 2)
        await asyncio.sleep(0)  # a long look must not hold up calls


async def rows_at(store: Store, places: Iterable[int]) -> dict[int, RawLogRow]:
    """The entries at these places with their values; those that lie close together are read at once."""
    wanted, found = sorted(set(places)), dict[int, RawLogRow]()
    at = 0
    while at < len(wanted):
        end = at
        while end + 1 < len(wanted) and wanted[end + 1] - wanted[end] <= NEAR:
            end += 1
        rows = await store.sealed(after=wanted[at] - 1, limit=wanted[end] - wanted[at] + 1)
        found |= {row.index: row for row in rows}
        at = end + 1
    return found


async def first_at(store: Store, moment: int, length: int) -> int:
    """The place of the first entry at this time (in milliseconds) or later, by halving; the log grows with time."""
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        leaves = await store.leaves(middle, middle + 1)
        if leaves and time_of(leaves[0]) < moment:
            low = middle + 1
        else:
            high = middle
    return low


CHUNK = 4096
"""Page size for readers that want all entries and block no call."""
Progress = Callable[[int], None]


class StoredEntries:
    """Entries of a log in a store, up to the first gap."""

    def __init__(self, store: Store, progress: Progress = lambda done: None) -> None:
        self._store, self._progress = store, progress
        self._page: list[RawLogRow] = []

    async def count(self) -> int:
        return await self._store.length()

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        rows = await self.rows(start, stop)
        self._progress(stop)
        await asyncio.sleep(0)  # a store may answer at once; let other tasks of this loop run
        return [row.leaf for row in rows]

    async def values(self, start: int, stop: int) -> Sequence[bytes | None]:
        return [row.vals for row in await self.rows(start, stop)]

    async def rows(self, start: int, stop: int) -> list[RawLogRow]:
        """Read in pages, because a reader of leaves usually wants the values and the next entries too."""
        if start < 0 or stop <= start:
            return []
        if not self._page or not self._page[0].index <= start <= stop <= self._page[-1].index + 1:
            page = await self._store.sealed(after=start - 1, limit=max(CHUNK, stop - start))
            whole = page and page[-1].index - start == len(page) - 1
            self._page = page if whole else [row for place, row in enumerate(page, start) if row.index == place]
        first = self._page[0].index if self._page else start
        return self._page[start - first : stop - first]


class StoredLeaves(StoredEntries):
    """Entries for signing and proofs: reads only what is asked for, because calls may wait."""

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        found = await self._store.leaves(start, stop) if start >= 0 else []
        await asyncio.sleep(0)
        return found if len(found) == stop - start else await super().leaves(start, stop)
