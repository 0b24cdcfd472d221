"""The log as a Merkle tree: appends entries and signs checkpoints.

One process at a time works with a log. Entries are durable before they come here. A checkpoint is durable before
anyone sees it, and always contains everything signed before.
"""

from collections.abc import Callable, Sequence

from assent.audit import checkpoints, notes
from assent.audit.checkpoints import Checkpoint, Inconsistent, Proof
from assent.audit.leaf_reader import parse_leaf
from assent.audit.log_directory import SigningKeys
from assent.audit.merkle import (
    BadProof,
    Node,
    Range,
    consistency_ranges,
    hash_leaf,
    hash_leaves,
    hash_ranges,
    inclusion_ranges,
    peaks,
    verify_consistency,
    verify_inclusion,
)
from assent.audit.notes import BadNote, PublicKey, SecretKey
from assent.audit.protocols import CheckpointStore, EntrySource, TileStore
from assent.audit.tiles import CHUNK, HASH, RightEdge, Tile, TileBuilder, hash_from_tiles, node_in, tile_of

HEARTBEAT = 60
KEEP_EVERY = 600
TOGETHER = 64
_KEY_LEAF = b',"kind":"key","v":1}'


class RolledBack(RuntimeError):
    """The entries are fewer than, or differ from, the signed ones."""


class Log:
    """A log, made by `open_log`. To rotate keys, add the next key to `keys` before an entry names it."""

    def __init__(self, origin: str, keys: SigningKeys, tile_builder: TileBuilder, store: CheckpointStore) -> None:
        self.origin, self.keys = origin, keys
        self._tile_builder, self._store = tile_builder, store
        self._edge = RightEdge()
        self._latest: Checkpoint | None = None
        self._seconds = 0
        self._kept_at: int | None = None
        self._signed_peaks: dict[Node, bytes] = {}
        self._since: dict[Tile, bytes] = {}
        self._in_force = keys.public[0]
        self._retiring: list[PublicKey] = []
        self._unwritten: dict[Tile, bytes] = {}
        self._written_tiles: set[Tile] = set()
        """The partial tiles that were read or written."""

    @property
    def size(self) -> int:
        return self._edge.size

    @property
    def root(self) -> bytes:
        return self._edge.root

    @property
    def latest(self) -> Checkpoint | None:
        return self._latest

    @property
    def in_force(self) -> PublicKey:
        return self._in_force

    @property
    def repaired(self) -> Sequence[str]:
        """Tiles that were missing, torn or wrong and were rebuilt."""
        return self._tile_builder.repaired

    async def extend(self, leaves: Sequence[bytes]) -> None:
        """Append leaves that are already durable."""
        self._append_hashes(leaves)
        await self._write_tiles()

    def _append_hashes(self, leaves: Sequence[bytes]) -> None:
        for leaf in leaves:
            if leaf.endswith(_KEY_LEAF):
                self._apply_key_entry(leaf)
        full = self._edge.extend(hash_leaves(leaves))
        self._since.update(full)
        self._unwritten.update(full)

    async def _write_tiles(self) -> None:
        """Write full tiles; if the store fails they stay in memory, because they can be rebuilt."""
        try:
            if self._unwritten:
                await self._tile_builder.tiles.write(list(self._unwritten.items()))
            self._unwritten.clear()
        except OSError:
            return

    async def flush(self) -> None:
        """Write the partial tiles too, for the next start and for other readers.

        A partial tile of the same width is the same tile: those of higher levels rarely change.
        """
        await self._write_tiles()
        partial = self._edge.partial()
        await self._tile_builder.tiles.write([one for one in partial if one[0] not in self._written_tiles])
        self._written_tiles = {tile for tile, _ in partial}

    def _apply_key_entry(self, leaf: bytes) -> None:
        facts = parse_leaf(leaf).facts
        key = PublicKey.parse(str(facts.get("key")))
        previous = facts.get("previous", key.text)
        if previous != self._in_force.text or key not in self.keys.public:
            raise Inconsistent(f"an entry brings in the key {key.text}, which does not follow {self._in_force.text}")
        if key != self._in_force:
            self._retiring.append(self._in_force)
            self._in_force = key

    async def checkpoint(self, seconds: int) -> Checkpoint:
        """Sign the log in its current state."""
        head = Checkpoint(self.origin, self._edge.size, self._edge.root)
        issued = checkpoints.issue(self._latest, head, self._growth(), self._signers(), seconds)
        recent = self._kept_at is not None and 0 <= seconds - self._kept_at < KEEP_EVERY
        keep = bool(self._retiring) or not recent
        await self._store.save(issued.note, self._latest.note if self._latest else None, keep=keep)
        self._kept_at = seconds if keep else self._kept_at
        self._settle(issued, seconds)
        return issued

    async def beat(self, seconds: int, after: float = HEARTBEAT) -> Checkpoint | None:
        """Sign an idle log again when its last checkpoint is old, so that readers can tell idle from missing."""
        due = self._latest is None or not 0 <= seconds - self._seconds < after
        return await self.checkpoint(seconds) if due else None

    def _growth(self) -> list[bytes]:
        """Return the consistency proof from the last checkpoint to now."""
        if self._latest is None:
            return []
        first, size = self._latest.size, self._edge.size
        near = {(tile.level, tile.number): data for tile, data in (*self._since.items(), *self._edge.partial())}

        def read_node(node: Node) -> bytes:
            height, position = node
            if position << height < first:
                return self._signed_peaks[node]
            tile, start, stop = tile_of(node, size)
            return node_in(near[tile.level, tile.number], start, stop)

        return hash_ranges(consistency_ranges(first, size), read_node)

    def _signers(self) -> list[SecretKey]:
        signers = []
        for key in (self._in_force, *reversed(self._retiring)):
            signer = self.keys.signer(key)
            if signer is None:
                raise Inconsistent(f"not signed: the secret key of {key.text} is not here")
            signers.append(signer)
        return signers

    def _settle(self, checkpoint: Checkpoint, seconds: int) -> None:
        self._latest, self._seconds = checkpoint, seconds
        self._signed_peaks = dict(zip(peaks(0, checkpoint.size), self._edge.peaks, strict=True))
        self._since.clear()
        self._retiring.clear()

    async def prove_inclusion(self, index: int, checkpoint: Checkpoint | None = None) -> Proof:
        """Prove that an entry is in the signed log, by default in the last one."""
        signed = self._or_latest(checkpoint)
        ranges = inclusion_ranges(index, signed.size)
        leaf = hash_leaf((await self._tile_builder.entries.leaves(index, index + 1))[0])

        def verify(path: list[bytes]) -> None:
            verify_inclusion(index, signed.size, leaf, path, signed.root)

        path = await self._verified_proof(ranges, signed, verify)
        return Proof(index, tuple(path), signed.note)

    async def prove_consistency(self, old: Checkpoint, new: Checkpoint | None = None) -> list[bytes]:
        """Prove that an older signed log is a prefix of a newer one, by default of the last one."""
        signed = self._or_latest(new)

        def verify(path: list[bytes]) -> None:
            verify_consistency(old.size, signed.size, old.root, signed.root, path)

        return await self._verified_proof(consistency_ranges(old.size, signed.size), signed, verify)

    def _or_latest(self, checkpoint: Checkpoint | None) -> Checkpoint:
        signed = checkpoint or self._latest
        if signed is None or signed.size > self.size:
            raise Inconsistent("no such checkpoint is signed; sign one first")
        return signed

    async def _verified_proof(
        self, ranges: list[Range], signed: Checkpoint, verify: Callable[[list[bytes]], None]
    ) -> list[bytes]:
        """Return a proof that verifies; if it does not, rebuild the tiles from the entries and try again."""
        path = await self._hashes(ranges, signed.size)
        try:
            verify(path)
        except BadProof:
            await self._tile_builder.rebuild(self.size)
            path = await self._hashes(ranges, signed.size)
            verify(path)
        return path

    async def _hashes(self, ranges: list[Range], size: int) -> list[bytes]:
        near = {(tile.level, tile.number): data for tile, data in self._edge.partial()}
        near |= {(tile.level, tile.number): data for tile, data in self._unwritten.items()}

        async def fetch(tile: Tile) -> bytes:
            data = near.get((tile.level, tile.number))
            return await self._tile_builder.fetch(tile) if data is None else data[: tile.width * HASH]

        return await hash_from_tiles(ranges, size, fetch)

    async def resume(self) -> None:
        """Continue from the last checkpoint; refuse if the entries differ from the signed ones."""
        note = await self._store.latest()
        if note is not None:
            await self._resume_from(note)
        await self.catch_up()

    async def catch_up(self) -> None:
        """Append the entries that became durable since."""
        count = await self._tile_builder.entries.count()
        while (start := self.size) < count:  # read up to whole tiles, which is cheaper than single entries
            stop = min(count, start - start % CHUNK + CHUNK)
            leaves = await self._tile_builder.entries.leaves(start, stop)
            if len(leaves) != stop - start:
                raise Inconsistent(f"entry {start + len(leaves)} is missing, and later ones are there; restore it")
            self._append_hashes(leaves)
            if len(self._unwritten) >= TOGETHER:  # computing few tiles is cheaper than a thread
                await self._write_tiles()
        await self._write_tiles()

    async def _resume_from(self, note: bytes) -> None:
        signed = checkpoints.open_checkpoint(note, self.origin, self.keys.public)
        count = await self._tile_builder.entries.count()
        if count < signed.size:
            raise RolledBack(f"{signed.size} entries were signed, and {count} are here")
        self._edge = await self._tile_builder.edge(signed.size)
        if self._edge.root != signed.root:
            self._edge = await self._tile_builder.rebuild(signed.size)
            if self._edge.root != signed.root:
                raise RolledBack(
                    f"the first {signed.size} entries are not those that were signed; see `assent audit verify`"
                )
        else:
            self._written_tiles = {tile for tile, _ in self._edge.partial()} - self._tile_builder.derived
        parsed = notes.parse(note)
        self._in_force = next(key for key in reversed(self.keys.public) if parsed.signed_by(key))
        self._settle(signed, parsed.stamped_by(self._in_force) or 0)
        self._kept_at = self._time_of(await self._store.last_kept())

    def _time_of(self, note: bytes | None) -> int | None:
        """Return when one of the keys signed the note, or None."""
        try:
            parsed = notes.parse(note or b"")
            return max(filter(None, map(parsed.stamped_by, self.keys.public)), default=None)
        except BadNote:
            return None


async def open_log(
    origin: str, keys: SigningKeys, entries: EntrySource, tiles: TileStore, store: CheckpointStore
) -> Log:
    log = Log(origin, keys, TileBuilder(entries, tiles), store)
    await log.resume()
    return log
