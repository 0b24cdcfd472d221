"""Exports entries as JSON lines, with a cursor to continue later."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson

from assent.audit.leaf import BadEntry
from assent.audit.log_reader import EntryView, PrincipalIndex, Selection
from assent.audit.merkle import hash_leaf
from assent.audit.protocols import EntrySource

CHUNK, LOOK_BACK = 1024, 10_000
_CURSOR = re.compile(r"(0|[1-9][0-9]{0,15})\.([0-9a-f]{16}|-)")


class StaleCursor(ValueError):
    """The cursor is invalid or belongs to another log."""


def json_line(row: EntryView) -> dict[str, Any]:
    """Return an entry as one flat object; erased fields are named, not shown."""
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
    """Return up to `limit` lines of JSON and the cursor after them.

    Pass the same `callers` again to continue at once without reading earlier entries.
    """
    wanted, callers = selection or Selection(), callers or PrincipalIndex()
    position, last = await _resume(entries, cursor)
    await _load_principals(entries, callers, position)
    lines: list[bytes] = []
    while len(lines) < limit:
        rows = await _read_entries(entries, callers, position, position + CHUNK)
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


async def _load_principals(entries: EntrySource, callers: PrincipalIndex, position: int) -> None:
    """Read earlier entries to learn the principals of calls that end after this position."""
    for start in range(max(callers.position, position - LOOK_BACK), position, CHUNK):
        for index, leaf, blob in await _rows(entries, start, min(position, start + CHUNK)):
            with suppress(BadEntry):  # an unreadable entry was exported before, or never will be
                callers.read_entry(index, leaf, blob)


async def _read_entries(entries: EntrySource, callers: PrincipalIndex, start: int, stop: int) -> list[EntryView]:
    rows = []
    for index, leaf, blob in await _rows(entries, start, stop):
        try:
            rows.append(callers.read_entry(index, leaf, blob))
        except BadEntry as error:
            raise BadEntry(f"entry {index} cannot be exported: {error}") from error
    return rows


async def _rows(entries: EntrySource, start: int, stop: int) -> list[tuple[int, bytes, bytes | None]]:
    leaves = await entries.leaves(start, stop)
    blobs = await entries.values(start, start + len(leaves))
    return list(zip(range(start, start + len(leaves)), leaves, blobs, strict=True))
