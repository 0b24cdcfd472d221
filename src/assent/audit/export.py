"""How do the entries leave for another system, so that it can go on later where it stopped?"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

import orjson

from .entries import Leaf, parse_leaf
from .merkle import hash_leaf
from .sources import EntrySource
from .values import BadEntry, unpack

CHUNK = 1024
_CURSOR = re.compile(r"(0|[1-9][0-9]{0,15})\.([0-9a-f]{16}|-)")


class StaleCursor(ValueError):
    """A cursor that is none, or of another log."""


@dataclass(frozen=True, slots=True)
class Row:
    """One entry as it is handed out."""

    index: int
    leaf: Leaf
    leaf_hash: bytes
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def erased(self) -> list[str]:
        return sorted(self.leaf.commitments.keys() - self.values.keys())

    def fact(self, name: str) -> Any:
        return self.leaf.facts.get(name)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which entries are wanted; what is not said does not matter. Names may hold `*`."""

    principal: str | None = None
    tool: str | None = None
    tier: str | None = None
    outcome: str | None = None
    kind: str | None = None
    since: int | None = None
    until: int | None = None
    open_world: bool | None = None

    def takes(self, row: Row) -> bool:
        texts = [
            (self.principal, row.values.get("principal") or row.values.get("person")),
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


def read_row(index: int, leaf: bytes, blob: bytes | None) -> Row:
    values = {name: _load(value) for name, value in unpack(blob)[0].items()}
    return Row(index, parse_leaf(leaf), hash_leaf(leaf), values)


def _load(value: bytes) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return {"uninspectable": value.hex()}


def json_line(row: Row) -> dict[str, Any]:
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
    shape: Callable[[Row], Mapping[str, Any]] = json_line,
    limit: int = 1000,
) -> tuple[list[bytes], str]:
    """Up to so many lines of JSON, and the cursor that goes on after them."""
    wanted = selection or Selection()
    position, last = await _resume(entries, cursor)
    lines: list[bytes] = []
    while len(lines) < limit:
        rows = await _read(entries, position, position + CHUNK)
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


async def _read(entries: EntrySource, start: int, stop: int) -> list[Row]:
    leaves = await entries.leaves(start, stop)
    blobs = await entries.values(start, start + len(leaves))
    rows = []
    for index, (leaf, blob) in enumerate(zip(leaves, blobs, strict=True), start):
        try:
            rows.append(read_row(index, leaf, blob))
        except BadEntry as error:
            raise BadEntry(f"entry {index} cannot be exported: {error}") from error
    return rows
