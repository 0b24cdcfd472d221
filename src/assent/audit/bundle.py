"""Bundles: all files that an auditor needs to check a log.

A bundle is a directory or a .zip archive: a log in the C2SP tlog-tiles layout (`checkpoint`, `tile/…`,
`tile/entries/…`), the values in the same numbering (`values/…`, each after its length as a big-endian uint32),
`keys`, the kept `checkpoints`, the content of the `anchors/…`, and `bundle.json`.
"""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Protocol

from assent.audit import checkpoints
from assent.audit.leaf_reader import erased_by
from assent.audit.merkle import hash_leaves
from assent.audit.notes import PublicKey
from assent.audit.protocols import EntrySource
from assent.audit.tiles import ENTRIES, VALUES, RightEdge, Tile, pack_entries
from assent.audit.verifier import FORMAT, bundle_path, bundles
from assent.contract.digest import canonical

MOST_ENTRIES = 1_000_000
"""Larger logs are exported at the command line."""
MOST_WAITING = 1024 * 1024
"""Bytes that may wait for a slow reader before no more entries are read."""


class _Pipe:
    """Where the archive is written: bytes wait here until they are sent."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._written, self._taken = asyncio.Event(), asyncio.Event()

    def write(self, data: bytes) -> int:
        self._waiting += data
        self._written.set()
        return len(data)

    def flush(self) -> None:
        """Nothing to do: zipfile calls it."""

    async def room(self) -> None:
        while len(self._waiting) > MOST_WAITING:
            self._taken.clear()
            await self._taken.wait()

    async def take(self) -> bytes:
        await self._written.wait()
        data, self._waiting = bytes(self._waiting), bytearray()
        self._written.clear()
        self._taken.set()
        return data

    def end(self) -> None:
        self._written.set()


class _PacedEntries:
    """Entries that are read only while there is room for what is made of them."""

    def __init__(self, entries: EntrySource, pipe: _Pipe) -> None:
        self._entries, self._pipe = entries, pipe

    async def count(self) -> int:
        return await self._entries.count()

    async def leaves(self, start: int, stop: int) -> Sequence[bytes]:
        await self._pipe.room()
        return await self._entries.leaves(start, stop)

    async def values(self, start: int, stop: int) -> Sequence[bytes | None]:
        return await self._entries.values(start, stop)


async def stream_bundle(evidence: LogMetadata, entries: EntrySource, *, values: bool) -> AsyncIterator[bytes]:
    """The archive piece by piece. If it cannot be finished, this raises, and the reader has a torn archive."""
    pipe = _Pipe()
    writing = asyncio.ensure_future(_write(pipe, evidence, entries, values))
    writing.add_done_callback(lambda _: pipe.end())
    try:
        while not writing.done():
            if data := await pipe.take():
                yield data
        writing.result()
        pipe.end()
        yield await pipe.take()
    finally:
        writing.cancel()


async def _write(pipe: _Pipe, evidence: LogMetadata, entries: EntrySource, values: bool) -> None:
    archive = zipfile.ZipFile(pipe, "w")  # type: ignore[call-overload]
    sink = ZipSink(archive)
    sink.put("verifier.py", verifier_source())
    await write_bundle(sink, evidence, _PacedEntries(entries, pipe), values=values)
    archive.close()  # only now: an archive that could not be finished must not look whole


def verifier_source() -> bytes:
    """The stand-alone verifier, one file."""
    return resources.files("assent.audit").joinpath("verifier.py").read_bytes()


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
    for number, width in bundles(newest.size):
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
