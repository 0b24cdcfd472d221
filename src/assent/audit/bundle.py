"""Bundles: all files that an auditor needs to check a log.

A bundle is a directory or a .zip archive: a log in the C2SP tlog-tiles layout (`checkpoint`, `tile/…`,
`tile/entries/…`), the values in the same numbering (`values/…`, each after its length as a big-endian uint32),
`keys`, the kept `checkpoints`, the content of the `anchors/…`, and `bundle.json`.
"""

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assent.audit import checkpoints
from assent.audit.leaf import erased_by
from assent.audit.merkle import hash_leaves
from assent.audit.notes import PublicKey
from assent.audit.protocols import EntrySource
from assent.audit.tiles import ENTRIES, VALUES, RightEdge, Tile, bundle_path, bundles_of, pack_entries
from assent.audit.verifier import FORMAT
from assent.contract.digest import canonical


class BadBundle(ValueError):
    """The files are not a bundle."""


class Sink(Protocol):
    def put(self, path: str, data: bytes) -> None: ...


class DirectorySink:
    """Writes a bundle as a directory that only its owner can read; the directory must be new or empty."""

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise BadBundle(f"{root} is not empty; name a new directory")
        self._root = root

    def put(self, path: str, data: bytes) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(0o600)
        target.write_bytes(data)


class ZipSink:
    """Writes a bundle as one archive; equal bundles give equal bytes."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def put(self, path: str, data: bytes) -> None:
        info = zipfile.ZipInfo(path)
        info.compress_type = zipfile.ZIP_DEFLATED
        self._archive.writestr(info, data)


@dataclass(frozen=True, slots=True)
class LogMetadata:
    """Data about a log besides its entries: keys, checkpoints and anchors."""

    origin: str
    keys: Sequence[PublicKey]
    kept: Sequence[bytes]
    anchors: Mapping[str, Sequence[bytes]]


async def write_bundle(
    sink: Sink,
    evidence: LogMetadata,
    entries: EntrySource,
    *,
    values: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Write the log as last signed and return its number of entries.

    Values are read now. If one is erased between that checkpoint and the end of this function, BadBundle is raised.
    """
    if not evidence.kept:
        raise BadBundle("nothing is signed yet; sign a checkpoint first")
    newest, _ = checkpoints.parse(evidence.kept[-1])
    edge = RightEdge()
    for number, width in bundles_of(newest.size):
        first = number * 256
        leaves = await entries.leaves(first, first + width)
        sink.put(bundle_path(ENTRIES, number, width), pack_entries(leaves))
        _put_tiles(sink, edge.extend(hash_leaves(leaves)))
        if values:
            blobs = await entries.values(first, first + width)
            sink.put(bundle_path(VALUES, number, width), pack_values(blobs))
        progress(first + width, newest.size)
    _put_tiles(sink, edge.partial())
    if edge.root != newest.root:
        raise BadBundle("the entries are not those that were signed; `assent audit verify` says where")
    later = await entries.leaves(newest.size, await entries.count()) if values else []
    if any(entry < newest.size for entry, _ in erased_by(later)):
        raise BadBundle("values were erased while the bundle was written; write it again")
    _put_evidence(sink, evidence, newest.size, values)
    return newest.size


def _put_tiles(sink: Sink, tiles: Sequence[tuple[Tile, bytes]]) -> None:
    for tile, data in tiles:
        sink.put(tile.path, data)


def _put_evidence(sink: Sink, evidence: LogMetadata, size: int, values: bool) -> None:
    sink.put("checkpoint", evidence.kept[-1])
    sink.put("checkpoints", checkpoints.join(evidence.kept))
    sink.put("keys", "".join(f"{key.text}\n" for key in evidence.keys).encode())
    for name, found in evidence.anchors.items():
        sink.put(f"anchors/{name}", checkpoints.join(found))
    sink.put("bundle.json", head_bytes(size, evidence.origin, values))


def head_bytes(size: int, origin: str, values: bool) -> bytes:
    return canonical({"entries": size, "format": FORMAT, "origin": origin, "values": values})


def pack_values(blobs: Sequence[bytes | None]) -> bytes:
    return b"".join(len(blob or b"").to_bytes(4, "big") + (blob or b"") for blob in blobs)
