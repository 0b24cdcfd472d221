"""How do the entries leave for another system, so that it can go on later where it stopped?"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson

from assent.audit.filter import EntryView, PrincipalIndex, Selection
from assent.audit.leaf_values import BadEntry
from assent.audit.merkle import hash_leaf
from assent.audit.protocols import EntrySource

CHUNK, LOOK_BACK = 1024, 10_000
_CURSOR = re.compile(r"(0|[1-9][0-9]{0,15})\.([0-9a-f]{16}|-)")


class StaleCursor(ValueError):
    """A cursor that is none, or of another log."""


def json_line(row: EntryView) -> dict[str, Any]:
    """An entry as one flat object; what was erased is named, not shown."""
    line: dict[str, Any] = {
        "index": row.index,
        "time": timestamp(row.leaf.at),
        "kind": row.leaf.kind,
        **row.leaf.facts,
        "values": dict(row.values),
        "leaf_hash": row.leaf_hash.hex(),
    }
    return line | ({"erased": row.erased} if row.erased else {})


def timestamp(at: int) -> str:
    moment = datetime.fromtimestamp(at / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def export(
    entries: EntrySource,
    cursor: str | None = None,
    *,
    selection: Selection | None = None,
    shape: Callable[[EntryView], Mapping[str, Any]] = json_line,
    limit: int = 1000,
    callers: PrincipalIndex | None = None,
) -> tuple[list[bytes], str]:
    """Up to so many lines of JSON, and the cursor that goes on after them.

    Whoever goes on at once hands the same `callers` in again, so that nobody need look back for them.
    """
    wanted, callers = selection or Selection(), callers or PrincipalIndex()
    position, last = await _resume(entries, cursor)
    await _look_back(entries, callers, position)
    lines: list[bytes] = []
    while len(lines) < limit:
        rows = await _read(entries, callers, position, position + CHUNK)
        if not rows:
            break
        for row in rows:
            position, last = row.index + 1, row.leaf_hash
            if wanted.takes(row):
                lines.append(orjson.dumps(shape(row)))
            if len(lines) == limit:
                break
    return lines, f"{position}.{last.hex()[:16] or '-'}"


async def _resume(entries: EntrySource, cursor: str | None) -> tuple[int, bytes]:
    match = _CURSOR.fullmatch("0.-" if cursor is None else cursor)
    if match is None:
        raise StaleCursor(f"{cursor!r} is not a cursor; leave it out to begin with the first entry")
    position = int(match[1])
    found: Sequence[bytes] = await entries.leaves(position - 1, position) if position else []
    last = hash_leaf(found[0]) if found else b""
    if (last.hex()[:16] or "-") != match[2] or (position and not found):
        raise StaleCursor(f"entry {position - 1} is not the one this cursor stopped at: another log, or altered")
    return position, last


async def _look_back(entries: EntrySource, callers: PrincipalIndex, position: int) -> None:
    """Learn who began what ends after this place, unless it is known."""
    for start in range(max(callers.position, position - LOOK_BACK), position, CHUNK):
        for index, leaf, blob in await _rows(entries, start, min(position, start + CHUNK)):
            with suppress(BadEntry):  # it has left already, or never will
                callers.read(index, leaf, blob)


async def _read(entries: EntrySource, callers: PrincipalIndex, start: int, stop: int) -> list[EntryView]:
    rows = []
    for index, leaf, blob in await _rows(entries, start, stop):
        try:
            rows.append(callers.read(index, leaf, blob))
        except BadEntry as error:
            raise BadEntry(f"entry {index} cannot be exported: {error}") from error
    return rows


async def _rows(entries: EntrySource, start: int, stop: int) -> list[tuple[int, bytes, bytes | None]]:
    leaves = await entries.leaves(start, stop)
    blobs = await entries.values(start, start + len(leaves))
    return list(zip(range(start, start + len(leaves)), leaves, blobs, strict=True))
