"""One pass over all entries of a log, for checks."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assent.audit.audited_log import AuditedLog
from assent.audit.findings import LogReport
from assent.audit.leaf import agree, read_leaf
from assent.audit.leaf_values import BadEntry, commitments_of
from assent.audit.merkle import EMPTY_ROOT, hash_leaves
from assent.audit.tiles import ENTRIES, VALUES, RightEdge, Tile, TornTile, bundle_path, bundles_of, split

CLOCK_SLACK = 5000
_HEADS = re.compile(rb'(?:\{"at":[1-9]\d{12},)*+')
_SPECIAL = (b'"kind":"redaction","v":1}', b'"kind":"key","v":1}')


class LogWalk:
    """Builds the tree from the entries, compares it with the tiles, and collects keys, erasures and times."""

    def __init__(self, subject: AuditedLog, report: LogReport) -> None:
        self.subject, self.report = subject, report
        self.broken = False
        self.roots: dict[int, bytes] = {0: EMPTY_ROOT}
        self.times: dict[int, int] = {}
        self.suspects: list[tuple[str, int, int]] = []
        self.keys: list[tuple[int, Mapping[str, object]]] = []
        self.redactions: list[tuple[int, int, list[str]]] = []
        self.missing: set[tuple[int, str]] = set()
        self._edge = RightEdge()
        self._upper: list[tuple[Tile, bytes]] = []
        self._clock: list[tuple[int, int]] = []
        self._last = 0

    @property
    def count(self) -> int:
        return self._edge.size

    async def run(self, sizes: Sequence[int]) -> None:
        wanted = sorted({*sizes, self.subject.size} - {0}, reverse=True)
        for number, width in bundles_of(self.subject.size):
            try:
                leaves = await self.subject.leaves(number, width)
            except (KeyError, TornTile) as error:
                code = "entries.missing" if isinstance(error, KeyError) else "entries.torn"
                self._report_unreadable(code, bundle_path(ENTRIES, number, width), error)
                self.broken = True
                return
            await self._append_bundle(number * 256, leaves, wanted)
            await self._read_values(number, width, leaves)
        self._upper += [item for item in self._edge.partial() if item[0].level]
        await self._compare([item for item in self._edge.partial() if not item[0].level])
        await self._check_upper()
        if self._clock:
            index, by = self._clock[0]
            more = f", and {len(self._clock) - 1} times more" if len(self._clock) > 1 else ""
            self.report.remarks.append(f"the clock went back by {by} ms at entry {index}{more}")

    async def _append_bundle(self, first: int, leaves: Sequence[bytes], wanted: list[int]) -> None:
        hashes = hash_leaves(leaves)
        full: list[tuple[Tile, bytes]] = []
        done = 0
        while wanted and wanted[-1] <= first + len(leaves):
            size = wanted.pop()
            full += self._edge.extend(hashes[done : size - first])
            done = size - first
            self.roots[size], self.times[size] = self._edge.root, _time(leaves[done - 1])
        full += self._edge.extend(hashes[done:])
        self._upper += [item for item in full if item[0].level]
        await self._compare([item for item in full if not item[0].level])

    async def _stored(self, tile: Tile) -> bytes | None:
        try:
            return await self.subject.tile(tile)
        except KeyError:
            self.report.wrong("tile.missing", tile.path, "the tile is not there")
        except TornTile as error:
            self._report_unreadable("tile.torn", tile.path, error)
        return None

    async def _compare(self, tiles: Sequence[tuple[Tile, bytes]]) -> None:
        """Compare leaf hashes with the lowest tiles; the signatures decide later which is right."""
        for tile, data in tiles:
            stored = await self._stored(tile)
            if stored is not None and not data.startswith(stored):
                pairs = enumerate(zip(split(stored), split(data), strict=False), tile.number * 256)
                differ = [at for at, (one, other) in pairs if one != other]
                self.suspects.append((tile.path, differ[0], differ[-1]))

    async def _check_upper(self) -> None:
        for tile, data in self._upper:
            stored = await self._stored(tile)
            if stored is not None and not data.startswith(stored):
                self.report.wrong("tile.wrong", tile.path, "it is not what the entries give")

    async def _read_values(self, number: int, width: int, leaves: Sequence[bytes]) -> None:
        blobs: Sequence[bytes | None] | None = None
        if self.subject.with_values:
            try:
                blobs = await self.subject.values(number, width)
            except (KeyError, TornTile) as error:
                code = "values.missing" if isinstance(error, KeyError) else "values.torn"
                self._report_unreadable(code, bundle_path(VALUES, number, width), error)
        first = number * 256
        usual = self._check_times(first, leaves)
        if blobs is None:
            for index, leaf in enumerate(leaves, first):
                self._read(index, leaf)
        else:
            for at in [at for at in range(width) if not (usual and agree(leaves[at], blobs[at]))]:
                self._check_values(first + at, leaves[at], blobs[at])
        for index, leaf in [one for one in enumerate(leaves, first) if one[1].endswith(_SPECIAL)]:
            self._read_key_or_redaction(index, leaf)

    def _report_unreadable(self, code: str, path: str, error: Exception) -> None:
        detail = "it is not there" if isinstance(error, KeyError) else str(error).replace(path, "it", 1)
        self.report.wrong(code, path, detail)

    def _check_times(self, first: int, leaves: Sequence[bytes]) -> bool:
        """Fast path: all timestamps have 13 digits and are non-decreasing."""
        heads = [leaf[:20] for leaf in leaves]
        usual = _HEADS.fullmatch(b"".join(heads)) is not None
        if usual and heads == sorted(heads) and int(heads[0][6:19]) >= self._last:
            self._last = int(heads[-1][6:19])
            return usual
        for index, leaf in enumerate(leaves, first):
            at = _time(leaf) or self._last
            if at + CLOCK_SLACK < self._last:
                self._clock.append((index, self._last - at))
            self._last = at
        return usual

    def _read(self, index: int, leaf: bytes) -> dict[str, Any] | None:
        try:
            return read_leaf(leaf)
        except BadEntry as error:
            self.report.wrong("leaf.malformed", f"entry {index}", str(error))
            return None

    def _check_values(self, index: int, leaf: bytes, blob: bytes | None) -> None:
        body = self._read(index, leaf)
        if body is None:
            return
        commitments = body["commitments"]
        try:
            found = commitments_of(blob)
        except BadEntry as error:
            self.report.wrong("value.torn", f"entry {index}", str(error))
            return
        for name, commitment in found.items():
            if name not in commitments:
                self.report.wrong("value.surplus", f"entry {index} {name}", "the leaf does not know this value")
            elif commitments[name] != commitment:
                self.report.wrong("value.wrong", f"entry {index} {name}", "not the value that was recorded")
        self.missing |= {(index, name) for name in commitments.keys() - found.keys()}

    def _read_key_or_redaction(self, index: int, leaf: bytes) -> None:
        body = self._read(index, leaf)
        if body is None:
            return
        entry, names = body["facts"].get("entry"), body["facts"].get("fields")
        if body["kind"] == "key":
            self.keys.append((index, body["facts"]))
        elif type(entry) is int and type(names) is list and entry < index:
            self.redactions.append((index, entry, names))
        else:
            self.report.wrong("redaction.baseless", f"entry {index}", "it names no earlier entry and fields")


def _time(leaf: bytes) -> int:
    digits = leaf[6 : leaf.find(b",")]
    return int(digits) if digits.isdigit() and len(digits) <= 15 else 0
