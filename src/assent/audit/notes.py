"""Signed notes and keys (C2SP signed-note, Ed25519).

A key is written as `name+id+base64`, a secret key with `PRIVATE+KEY+` before it. Each checkpoint has two signatures
of the log's key: a plain one (type 1) and a timestamped one (type 4, C2SP tlog-cosignature).
"""

import base64
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from assent.audit.verifier import exact_base64, is_signed

if TYPE_CHECKING:  # It is imported where a note is signed or checked, because a start does neither.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PLAIN, STAMPED = 1, 4
NOTE_LIMIT, LINE_LIMIT = 64 * 1024, 64
_DASH = "\u2014 "
_SECRET = "PRIVATE+KEY+"
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]+")


class BadNote(ValueError):
    """The text is not a signed note, or its signatures are invalid."""


class BadKey(ValueError):
    """The text is not a key."""


@dataclass(frozen=True)
class PublicKey:
    name: str
    raw: bytes

    def key_id(self, kind: int) -> bytes:
        return sha256(self.name.encode() + b"\n" + bytes([kind]) + self.raw).digest()[:4]

    @cached_property
    def text(self) -> str:
        return _key_text(self.name, self.key_id(PLAIN), self.raw)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        return is_signed(self.raw, message, signature)

    @classmethod
    def parse(cls, text: str) -> "PublicKey":
        name, raw, key_id = _parse_key(text)
        key = cls(name, raw)
        if key.key_id(PLAIN).hex() != key_id:
            raise BadKey(f"the id {key_id} does not belong to this key of {name}")
        return key


@dataclass(frozen=True)
class SecretKey:
    name: str
    seed: bytes

    def __repr__(self) -> str:
        return f"SecretKey({self.public.text})"

    @cached_property
    def _signer(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.seed)

    @cached_property
    def public(self) -> PublicKey:
        return PublicKey(self.name, self._signer.public_key().public_bytes_raw())

    @property
    def text(self) -> str:
        return _SECRET + _key_text(self.name, self.public.key_id(PLAIN), self.seed)

    def sign(self, message: bytes) -> bytes:
        return self._signer.sign(message)

    @classmethod
    def parse(cls, text: str) -> "SecretKey":
        if not text.startswith(_SECRET):
            raise BadKey(f"a secret key begins with {_SECRET}")
        name, seed, key_id = _parse_key(text[len(_SECRET) :])
        key = cls(name, seed)
        if key.public.key_id(PLAIN).hex() != key_id:
            raise BadKey(f"the id {key_id} does not belong to this secret key of {name}")
        return key

    @classmethod
    def generate(cls, name: str, randomness: Callable[[int], bytes]) -> "SecretKey":
        if not _NAME.fullmatch(name):
            raise BadKey(f"{name!r} cannot name a key: no spaces, no plus sign, not empty")
        return cls(name, randomness(32))


@dataclass(frozen=True, slots=True)
class Signature:
    name: str
    key_id: bytes
    blob: bytes


@dataclass(frozen=True, slots=True)
class Note:
    text: str
    signatures: tuple[Signature, ...]

    def signed_by(self, key: PublicKey) -> bool:
        """Whether the key signed this text; an invalid signature in its name raises BadNote."""
        blobs = self._blobs(key, PLAIN)
        if not all(len(blob) == 64 and key.verifies(self.text.encode(), blob) for blob in blobs):
            raise BadNote(f"a signature in the name of {key.name} is wrong")
        return bool(blobs)

    def stamped_by(self, key: PublicKey) -> int | None:
        """Return when the key signed this text with a timestamp, in seconds, or None."""
        times = []
        for blob in self._blobs(key, STAMPED):
            seconds = int.from_bytes(blob[:8], "big")
            if len(blob) != 72 or not key.verifies(_stamped(self.text, seconds), blob[8:]):
                raise BadNote(f"a timestamped signature in the name of {key.name} is wrong")
            times.append(seconds)
        return max(times, default=None)

    def _blobs(self, key: PublicKey, kind: int) -> list[bytes]:
        key_id = key.key_id(kind)
        return [item.blob for item in self.signatures if item.name == key.name and item.key_id == key_id]


def sign(text: str, signers: Iterable[SecretKey], seconds: int | None = None) -> bytes:
    """Return the text with one signature per key, and with a timestamped one too if a time is given."""
    _check_text(text)
    lines = []
    for signer in signers:
        public = signer.public
        lines.append(_line(signer.name, public.key_id(PLAIN) + signer.sign(text.encode())))
        if seconds is not None:
            stamp = struct.pack(">Q", seconds) + signer.sign(_stamped(text, seconds))
            lines.append(_line(signer.name, public.key_id(STAMPED) + stamp))
    return (text + "\n" + "".join(lines)).encode()


def parse(data: bytes) -> Note:
    if len(data) > NOTE_LIMIT:
        raise BadNote(f"a note has at most {NOTE_LIMIT} bytes, this one {len(data)}")
    try:
        note = data.decode()
    except UnicodeDecodeError as error:
        raise BadNote("a note is UTF-8 text") from error
    text, separator, tail = note.rpartition("\n\n")
    if not separator or not tail.endswith("\n"):
        raise BadNote("a note is text, a blank line, and signature lines that end in a newline")
    text += "\n"
    _check_text(text)
    lines = tail[:-1].split("\n")
    if len(lines) > LINE_LIMIT:
        raise BadNote(f"a note has at most {LINE_LIMIT} signatures")
    return Note(text, tuple(_parse_line(line) for line in lines))


def find_keys(note: Note, keys: Sequence[PublicKey]) -> list[PublicKey]:
    """Return the keys that signed the note."""
    return [key for key in keys if note.signed_by(key)]


def _stamped(text: str, seconds: int) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()


def _check_text(text: str) -> None:
    if not text.endswith("\n") or any(char < " " and char != "\n" for char in text):
        raise BadNote("a note's text ends in a newline and has no other control characters")


def _line(name: str, blob: bytes) -> str:
    return f"{_DASH}{name} {base64.b64encode(blob).decode()}\n"


def _parse_line(line: str) -> Signature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not _NAME.fullmatch(name):
        raise BadNote("a signature line is a dash, a name and a signature")
    blob = exact_base64(encoded)
    if blob is None or len(blob) < 5:
        raise BadNote(f"the signature of {name} is not base64 of a key id and a signature")
    return Signature(name, blob[:4], blob[4:])


def _key_text(name: str, key_id: bytes, raw: bytes) -> str:
    return f"{name}+{key_id.hex()}+{base64.b64encode(bytes([PLAIN]) + raw).decode()}"


def _parse_key(text: str) -> tuple[str, bytes, str]:
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    raw = exact_base64(encoded)
    if not _NAME.fullmatch(name) or raw is None or len(raw) != 33 or raw[0] != PLAIN:
        raise BadKey("a key is name+id+base64 of an Ed25519 key")
    return name, raw[1:], key_id
