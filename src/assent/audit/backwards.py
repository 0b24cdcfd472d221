"""Read a store's log from its end: pieces of leaves, newest first, and the values of the entries that matter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence

import orjson

from assent.ports import RawLogRow, Store

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
