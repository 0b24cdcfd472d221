"""The inclusion proof of one entry under the newest checkpoint, made from the tiles. Nothing is signed or written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assent.audit.checkpoints import Checkpoint, Proof, open_checkpoint
from assent.audit.merkle import BadProof, hash_leaf, inclusion_ranges, verify_inclusion
from assent.audit.notes import BadNote, parse
from assent.audit.protocols import TileStore
from assent.audit.signed_log import AuditLogError, AuditLogSigner
from assent.audit.tiles import Tile, hash_from_tiles, stored_tile

ProofState = Literal["proved", "waiting", "unsigned", "broken", "no_tiles"]


@dataclass(frozen=True, slots=True)
class SignedHead:
    """The newest checkpoint and when it was signed."""

    checkpoint: Checkpoint
    signed_at: int | None
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntryProof:
    """What can be said of an entry: `proved` with its proof, or why not."""

    state: ProofState
    proof: Proof | None = None
    head: SignedHead | None = None


class _NoTile(LookupError):
    """A tile that the proof needs is not there."""


async def signed_head(signer: AuditLogSigner) -> SignedHead | None:
    """The newest checkpoint, with its signature checked; None where nothing is signed yet."""
    note = await signer.latest()
    if note is None:
        return None
    keys = signer.keys()
    try:
        checkpoint = open_checkpoint(note, keys.newest.name, keys.public)
    except BadNote as error:
        raise AuditLogError(f"The newest checkpoint is not one of this log: {error}.") from error
    stamps = [found for key in keys.public if (found := parse(note).stamped_by(key)) is not None]
    return SignedHead(checkpoint, max(stamps, default=None), tuple(key.text for key in keys.public))


async def prove_entry(signer: AuditLogSigner, index: int, leaf: bytes) -> EntryProof:
    """That this leaf is entry `index` of the log as signed last. A signature meanwhile replaces tiles: one retry."""
    for _ in range(2):
        head = await signed_head(signer)
        if head is None:
            return EntryProof("unsigned")
        if index >= head.checkpoint.size:
            return EntryProof("waiting", None, head)
        try:
            return await _prove_entry(signer.tiles, head, index, leaf)
        except _NoTile:
            continue
    return EntryProof("no_tiles", None, head)


async def _prove_entry(tiles: TileStore, head: SignedHead, index: int, leaf: bytes) -> EntryProof:
    signed = head.checkpoint

    async def read_tile(tile: Tile) -> bytes:
        found = await stored_tile(tiles, tile)
        if found is None:
            raise _NoTile(tile.path)
        return found[0]

    path = await hash_from_tiles(inclusion_ranges(index, signed.size), signed.size, read_tile)
    try:
        verify_inclusion(index, signed.size, hash_leaf(leaf), path, signed.root)
    except BadProof:
        return EntryProof("broken", None, head)
    return EntryProof("proved", Proof(index, tuple(path), signed.note), head)
