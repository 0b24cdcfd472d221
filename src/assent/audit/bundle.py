"""Bundles: all files that an auditor needs to check a log.

A bundle is a directory or a .zip archive: a log in the C2SP tlog-tiles layout (`checkpoint`, `tile/…`,
`tile/entries/…`), the values in the same numbering (`values/…`, each after its length as a big-endian uint32),
`keys`, the kept `checkpoints`, the content of the `anchors/…`, and `bundle.json`.
"""

import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson

from assent.audit import checkpoints
from assent.audit.leaf import erased_by
from assent.audit.merkle import hash_leaves
from assent.audit.notes import PublicKey
from assent.audit.protocols import EntrySource
from assent.audit.tiles import ENTRIES, VALUES, RightEdge, Tile, TornTile, bundle_path, bundles_of, pack_entries
from assent.contract.digest import canonical

FORMAT = "assent-audit-bundle/1"
MOST_ENTRIES = 2**53 - 1
FILE_LIMIT = 512 * 1024 * 1024


class BadBundle(ValueError):
    """The files are not a bundle."""


class UnreadableBundle(ValueError):
    """The files cannot or must not be read."""


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


class MemorySink(dict[str, bytes]):
    def put(self, path: str, data: bytes) -> None:
        self[path] = data


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


def parse_head(data: bytes | None) -> tuple[int, str, bool]:
    """Return the number of entries, the origin, and whether the bundle has values."""
    try:
        head = orjson.loads(data or b"")
        size, origin, values = head["entries"], head["origin"], head["values"]
        right = type(size) is int and 0 <= size <= MOST_ENTRIES and type(origin) is str and type(values) is bool
    except (orjson.JSONDecodeError, KeyError, TypeError):
        right = False
    if not right or head_bytes(size, origin, values) != data:
        raise BadBundle(f"bundle.json does not describe a bundle of format {FORMAT}")
    return size, origin, values


def pack_values(blobs: Sequence[bytes | None]) -> bytes:
    return b"".join(len(blob or b"").to_bytes(4, "big") + (blob or b"") for blob in blobs)


def unpack_values(data: bytes, width: int, path: str) -> list[bytes | None]:
    blobs: list[bytes | None] = []
    at = 0
    for _ in range(width):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if at + 4 > len(data) or end > len(data):
            raise TornTile(f"{path} ends after {len(blobs)} of {width} values")
        blobs.append(data[at + 4 : end] or None)
        at = end
    if at != len(data):
        raise TornTile(f"{path} has {len(data) - at} bytes after its {width} values")
    return blobs


class BundleFiles(Mapping[str, bytes]):
    """Files of a bundle on disk, read on demand; raises UnreadableBundle."""

    def __init__(self, path: Path) -> None:
        self._read: Callable[[str], bytes]
        if path.is_dir():
            found = (item for item in sorted(path.rglob("*")) if item.is_symlink() or not item.is_dir())
            names = [item.relative_to(path).as_posix() for item in found]
            self._read = lambda name: _read_file(path / name)
        else:
            archive = _open_archive(path)
            names = [name for name in archive.namelist() if not name.endswith("/")]
            self._read = lambda name: _read_member(archive, name)
        if len(set(names)) != len(names):
            raise UnreadableBundle(f"{path} holds two files of one name")
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> bytes:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _open_archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise UnreadableBundle(f"it is neither a directory nor a .zip file: {error}") from error


def _read_file(path: Path) -> bytes:
    """Read a regular file; links are refused because they can lead outside the bundle."""
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode):
        raise UnreadableBundle(f"{str(path)!r} is not a regular file")
    _check_size(str(path), about.st_size)
    return path.read_bytes()


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    _check_size(name, archive.getinfo(name).file_size)
    try:
        return archive.read(name)
    except (RuntimeError, NotImplementedError, EOFError, ValueError, zlib.error, zipfile.BadZipFile) as error:
        raise UnreadableBundle(f"{name!r} cannot be unpacked: {error}") from error


def _check_size(name: str, size: int) -> None:
    if size > FILE_LIMIT:
        raise UnreadableBundle(f"{name!r} has more than {FILE_LIMIT} bytes, which no file of a bundle needs")
