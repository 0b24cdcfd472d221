"""Parts of an audit log that tests make by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from assent.audit.leaf import Sealed, seal
from assent.audit.merkle import Node, NodeReader, complete_root
from assent.audit.tiles import WIDTH, Tile
from assent.audit.verifier import bundles


def redaction(
    index: int,
    fields: Iterable[str],
    at: int,
    values: Mapping[str, object],
    randomness: Callable[[int], bytes],
) -> Sealed:
    """Return the entry that records an erasure; `values` are who erased it and why."""
    facts = {"action": "redact", "entry": index, "fields": sorted(fields)}
    return seal("redaction", at, facts, values, randomness)


def reader_of(leaf_hashes: Sequence[bytes], first: int = 0) -> NodeReader:
    """Return a reader that hashes a row of leaf hashes starting at position `first`."""

    def read(node: Node) -> bytes:
        height, position = node
        start = (position << height) - first
        return complete_root(leaf_hashes[start : start + (1 << height)])

    return read


def tiles_of(size: int) -> Iterator[Tile]:
    """Yield every tile of a log of this size, lowest level first."""
    level, row = 0, size
    while row:
        yield from (Tile(level, number, width) for number, width in bundles(row))
        level, row = level + 1, row // WIDTH
