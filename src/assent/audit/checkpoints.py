"""Checkpoints and proofs (C2SP tlog-checkpoint, tlog-proof)."""

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assent.audit import notes
from assent.audit.merkle import BadProof, verify_consistency
from assent.audit.notes import BadNote, PublicKey, SecretKey
from assent.audit.verifier import PROOF, exact_base64

_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


class BadCheckpoint(BadNote):
    """The note is not a checkpoint of this log."""


class Inconsistent(RuntimeError):
    """The new checkpoint would contradict an earlier one."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    origin: str
    size: int
    root: bytes
    note: bytes = b""

    @property
    def text(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def parse(data: bytes) -> tuple[Checkpoint, notes.Note]:
    """Parse a checkpoint and its note; signatures are not checked here."""
    note = notes.parse(data)
    lines = note.text[:-1].split("\n")
    if len(lines) != 3:
        raise BadCheckpoint("a checkpoint of this log has three lines: origin, size, root")
    origin, size, encoded = lines
    root = exact_base64(encoded)
    if not origin or not _SIZE.fullmatch(size) or root is None or len(root) != 32:
        raise BadCheckpoint("a checkpoint has an origin, a decimal size and a base64 root")
    return Checkpoint(origin, int(size), root, data), note


def open_checkpoint(data: bytes, origin: str, keys: Sequence[PublicKey]) -> Checkpoint:
    """Return the checkpoint if it belongs to this log and one of the keys signed it."""
    checkpoint, note = parse(data)
    if checkpoint.origin != origin:
        raise BadCheckpoint(f"this is a checkpoint of {checkpoint.origin}, not of {origin}")
    if not notes.find_keys(note, keys):
        raise BadCheckpoint(f"no known key of {origin} signed this checkpoint")
    return checkpoint


def issue(
    previous: Checkpoint | None,
    head: Checkpoint,
    proof: Sequence[bytes],
    signers: Sequence[SecretKey],
    seconds: int,
) -> Checkpoint:
    """Sign a checkpoint, but never one that does not contain the log as signed before."""
    if previous is not None:
        if previous.origin != head.origin:
            raise Inconsistent(f"the log was {previous.origin}; it cannot become {head.origin}")
        try:
            verify_consistency(previous.size, head.size, previous.root, head.root, proof)
        except BadProof as error:
            raise Inconsistent(f"not signed: {error}. Restore the entries, or start a new log") from error
    if not signers or any(signer.name != head.origin for signer in signers):
        raise Inconsistent(f"a checkpoint of {head.origin} is signed by a key of that name")
    note = notes.sign(head.text, signers, seconds)
    return Checkpoint(head.origin, head.size, head.root, note)


def join(checkpoints: Iterable[bytes]) -> bytes:
    """Join checkpoints into one text, separated by blank lines."""
    return b"\n".join(checkpoints)


@dataclass(frozen=True, slots=True)
class Proof:
    """Proof that one leaf is in a signed log (C2SP tlog-proof)."""

    index: int
    path: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes = b""

    def encode(self) -> bytes:
        lines = [PROOF]
        if self.extra:
            lines.append(f"extra {base64.b64encode(self.extra).decode()}")
        lines.append(f"index {self.index}")
        lines += [base64.b64encode(item).decode() for item in self.path]
        return "\n".join(lines).encode() + b"\n\n" + self.checkpoint


def encode_growth(old: Checkpoint, path: Sequence[bytes], new: Checkpoint) -> bytes:
    """Encode the proof that one log is a prefix of another, in the form of C2SP tlog-witness."""
    lines = [f"old {old.size}", *(base64.b64encode(item).decode() for item in path)]
    return "\n".join(lines).encode() + b"\n\n" + new.note
