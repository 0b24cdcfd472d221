#!/usr/bin/env python3
"""Stand-alone verifier of an audit log bundle: complete, in order, signed, unaltered, every erasure recorded.

    python verifier.py BUNDLE [--key FILE]... [--checkpoint FILE]... [--json]

BUNDLE is a directory or a .zip file, the .tlog-proof of one entry with its .leaf next to it, or the .json receipt of an
operation. This is one file on purpose: it needs Python 3.11 and `cryptography`, and nothing of Assent. You can read and
run it without trusting the log or its authors.

`--key` names the log's public keys, which you got from elsewhere. `--checkpoint` names checkpoints (a file or a
directory) that you, an anchor or a witness kept. Without `--key`, a forger could have made the bundle and its keys.
Without `--checkpoint`, the owner of the secret key could have rewritten history before you saw it.

Checks. Leaves are hashed into the Merkle tree of RFC 6962. Every checkpoint (C2SP tlog-checkpoint) must belong to this
log, carry a plain and a timestamped signature of the key in force at its size, and have the root of the leaves at that
size. Only a checkpoint kept elsewhere may carry other signatures. Entries of kind `key` change the key in force; a
checkpoint signed by the previous key must cover them. Tiles must match the leaves (C2SP tlog-tiles). Each value must
match its leaf's commitment, SHA-256("assent/commitment/v1\\n" + salt + length + field + value). A missing value must
be named by a later entry of kind `redaction`.

A decision that a person signed with a passkey carries the assertion (WebAuthn) as its value `signed`. Its
challenge must be the digest of the approval, the call, the text that was shown and the verdict; its signature
must be right, and an earlier entry must have brought in the passkey for the same person.

Exit code: 0 no fault, 1 faults found, 2 the bundle could not be read.
"""

import argparse
import base64
import binascii
import json
import os
import re
import stat
import struct
import sys
import zipfile
import zlib
from binascii import b2a_base64
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

# `cryptography` is imported where a signature is checked: it takes more memory than the rest of this file's work.

FORMAT = "assent-audit-bundle/1"
PROOF = "c2sp.org/tlog-proof@v1"
RECEIPT = "assent-receipt/1"
COMMITMENT = b"assent/commitment/v1\n"
SIGNED = "assent-signed-decision/1"
DECISION = b"assent decision v1\n"
CLOCK_SLACK = 5000
SHOWN = 20
NOTE_LIMIT = 64 * 1024
FILE_LIMIT = 512 * 1024 * 1024
MOST_ENTRIES = 2**53 - 1
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_KEY = re.compile(r"([^\s+\x00-\x1f\x7f]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)")
_LINE = re.compile("\u2014 ([^\\s+\x00-\x1f\x7f]+) ([A-Za-z0-9+/=]+)")
_FIELD = re.compile(rb"[a-z][a-z0-9_]{0,62}")
_COMMITMENT = rb'"[a-z][a-z0-9_]{0,62}":"[A-Za-z0-9+/]{43}="'
_TEXT = rb'"[!#-\[\]-~]{1,512}"'
_FACT = rb'"[a-z_]++":(?:' + _TEXT + rb"|0|[1-9]\d{0,15}|true|false|\[" + _TEXT + rb"(?:," + _TEXT + rb")*+\])"
_REST = rb'\},"facts":\{((?:%s(?:,%s)*+)?)\},"kind":"[a-z]++","v":1\}' % (_FACT, _FACT)
_AFTER = re.compile(_REST)
_NAMES = re.compile(rb'"([a-z_]++)":')
_HEAD = rb'\{"at":(?:0|[1-9]\d{0,14}),"commitments":\{(?:%s(?:,%s)*+)?' % (_COMMITMENT, _COMMITMENT)
LEAF = re.compile(_HEAD + _REST)
_TIMES = re.compile(rb'(?:\{"at":[1-9]\d{12},)*+')
_CLAIM = b'},"facts":{"claim":"'
_LENGTH = struct.Struct(">I").unpack_from


@dataclass(frozen=True)
class LogFault:
    code: str
    place: str
    detail: str


@dataclass
class LogReport:
    entries: int = 0
    erased: int = 0
    checkpoints: int = 0
    signed: int = 0
    faults: list[LogFault] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.faults

    def wrong(self, code: str, place: str, detail: str) -> None:
        self.faults.append(LogFault(code, place, detail))


@dataclass(frozen=True)
class Key:
    name: str
    raw: bytes
    text: str

    def key_id(self, kind: int) -> bytes:
        return sha256(self.name.encode() + b"\n" + bytes([kind]) + self.raw).digest()[:4]


@lru_cache(maxsize=4096)
def is_signed(raw: bytes, message: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@dataclass
class SignedCheckpoint:
    """A checkpoint: it says that the log had this root at this size."""

    place: str
    origin: str
    size: int
    root: bytes
    text: bytes
    signatures: list[tuple[str, bytes, bytes]]

    def signed_by(self, key: Key) -> int | None:
        """Return when the key signed this, in seconds; None unless both signatures are present and valid."""
        plain = [blob for name, key_id, blob in self.signatures if (name, key_id) == (key.name, key.key_id(1))]
        stamped = [blob for name, key_id, blob in self.signatures if (name, key_id) == (key.name, key.key_id(4))]
        if not plain or not stamped or not all(is_signed(key.raw, self.text, blob) for blob in plain):
            return None
        times = [int.from_bytes(blob[:8], "big") for blob in stamped]
        for seconds, blob in zip(times, stamped, strict=True):
            if not is_signed(key.raw, b"cosignature/v1\ntime %d\n" % seconds + self.text, blob[8:]):
                return None
        return max(times)

    def signers(self, keys: Mapping[tuple[str, bytes], list[Key]]) -> dict[str, Key]:
        """Return the keys, given by name and id, that signed this."""
        named = {key.text: key for name, key_id, _ in self.signatures for key in keys.get((name, key_id), ())}
        return {text: key for text, key in named.items() if self.signed_by(key) is not None}

    def strange(self, right: Sequence[Key]) -> bool:
        """Whether it has a signature by none of these keys."""
        known = {(key.name, key.key_id(kind)) for key in right for kind in (1, 4)}
        return any((name, key_id) not in known for name, key_id, _ in self.signatures)


def exact_base64(text: str) -> bytes | None:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def parse_key(text: str) -> Key | None:
    match = _KEY.fullmatch(text)
    data = exact_base64(match[3]) if match else None
    if match is None or data is None or len(data) != 33 or data[0] != 1:
        return None
    key = Key(match[1], data[1:], text)
    return key if key.key_id(1).hex() == match[2] else None


def parse_checkpoint(place: str, data: bytes) -> SignedCheckpoint | None:
    try:
        note = data.decode() if len(data) <= NOTE_LIMIT else ""
    except UnicodeDecodeError:
        return None
    text, blank, tail = note.rpartition("\n\n")
    lines, body = tail[:-1].split("\n"), text.split("\n")
    if not blank or not tail.endswith("\n") or len(body) != 3 or len(lines) > 64:
        return None
    if not body[0] or not _SIZE.fullmatch(body[1]) or any(char < " " and char != "\n" for char in note):
        return None
    root = exact_base64(body[2])
    signatures = []
    for line in lines:
        match = _LINE.fullmatch(line)
        blob = exact_base64(match[2]) if match else None
        if match is None or blob is None or len(blob) < 5:
            return None
        signatures.append((match[1], blob[:4], blob[4:]))
    if root is None or len(root) != 32:
        return None
    return SignedCheckpoint(place, body[0], int(body[1]), root, (text + "\n").encode(), signatures)


def split_checkpoints(data: bytes) -> list[bytes]:
    """Split checkpoints that are separated by blank lines."""
    pieces = data.split(b"\n\n") if data else []
    pairs = [b"\n\n".join(pieces[at : at + 2]) for at in range(0, len(pieces), 2)]
    return [pair + b"\n" for pair in pairs[:-1]] + pairs[-1:]


def pair_up(row: list[bytes]) -> bytes:
    while len(row) > 1:
        row = [sha256(b"\x01" + row[at] + row[at + 1]).digest() for at in range(0, len(row), 2)]
    return row[0]


def bundle_path(prefix: str, number: int, width: int) -> str:
    digits = f"{number:03d}"
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    parts = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    path = "/".join([prefix, *(f"x{part}" for part in parts[:-1]), parts[-1]])
    return path if width == 256 else f"{path}.p/{width}"


def bundles(size: int) -> Iterator[tuple[int, int]]:
    for number in range(-(-size // 256)):
        yield number, min(256, size - number * 256)


def unpack(data: bytes, width: int, prefix: int) -> list[bytes] | None:
    """Return length-prefixed items; None unless there are exactly that many."""
    items, at, length = [], 0, struct.Struct(">H" if prefix == 2 else ">I").unpack_from
    try:
        for _ in range(width):
            start = at + prefix
            at = start + length(data, at)[0]
            items.append(data[start:at])
    except struct.error:
        return None
    return items if at == len(data) else None


@lru_cache(maxsize=1024)
def _shape(names: tuple[bytes, ...]) -> bytes:
    """Return the bytes of a leaf with these commitments after its time; empty if impossible."""
    if list(names) != sorted(set(names)) or not all(map(_FIELD.fullmatch, names)):
        return b""
    return b',"commitments":{' + b",".join(b'"%b":"%%b"' % name for name in names)


def matches(leaf: bytes, blob: bytes) -> bool:
    """Fast check: whether a leaf with a time of 13 digits is valid and its values match its commitments."""
    names, digests, at, end = [], [], 0, len(blob)
    try:
        while at < end:
            start = at + 4
            at = start + _LENGTH(blob, at)[0]
            record = blob[start:at]
            names.append(record[17 : 17 + record[16]])
            digests.append(b2a_base64(sha256(COMMITMENT + record).digest(), newline=False))
    except (struct.error, IndexError):
        return False
    shape = _shape(tuple(names))
    head = shape % tuple(digests) if shape else b""
    return at == end and head != b"" and leaf.startswith(head, 19) and _has_valid_tail(leaf, 19 + len(head))


def _has_valid_tail(leaf: bytes, at: int) -> bool:
    """Whether valid facts and kind follow; the cache ignores the claim, which differs in most leaves."""
    if leaf.startswith(_CLAIM, at):
        cut = leaf.find(b'"', at + len(_CLAIM))
        claim = leaf[at + len(_CLAIM) : cut]
        if claim.isalnum() and len(claim) <= 512:
            return _ends_leaf(leaf[cut:])
    return _is_tail(leaf, at)


@lru_cache(maxsize=4096)
def _ends_leaf(rest: bytes) -> bool:
    return _is_tail(_CLAIM + b"c" + rest, 0)


def _is_tail(leaf: bytes, at: int) -> bool:
    """Whether valid facts and kind follow, each fact once and in order."""
    match = _AFTER.fullmatch(leaf, at)
    names = _NAMES.findall(match[1]) if match else []
    return match is not None and names == sorted(set(names))


class LogWalk:
    """One pass over the entries: builds the tree and collects keys, erasures and times.

    The caller reads: it gives each 256 entries in order, then compares the upper tiles.
    """

    def __init__(self, size: int, with_values: bool, sizes: Sequence[int], report: LogReport) -> None:
        self.size, self.with_values, self.report = size, with_values, report
        self.count = 0
        self.broken = False
        self.peaks: list[tuple[int, bytes]] = []
        self.rows: list[list[bytes]] = [[]]
        self.roots: dict[int, bytes] = {0: sha256(b"").digest()}
        self.times: dict[int, int] = {}
        self.keys: list[tuple[int, dict[str, Any]]] = []
        self.redactions: list[tuple[int, int, list[str]]] = []
        self.missing: set[tuple[int, str]] = set()
        self.suspects: list[tuple[str, int, int]] = []
        self.passkeys: dict[tuple[str, str], str] = {}
        self.erased_passkeys = 0
        self._wanted = sorted({size, *sizes} - {0}, reverse=True)
        self._last = 0
        self._back: list[tuple[int, int]] = []

    def add(self, leaves: Sequence[bytes], blobs: Sequence[bytes] | None, tile: bytes | None) -> None:
        """Take in the next 256 entries, or the last ones: leaves, values if known, and the stored tile if any."""
        first, width = self.count, len(leaves)
        row = [sha256(b"\x00" + leaf).digest() for leaf in leaves]
        while self._wanted and self._wanted[-1] <= first + width:
            size = self._wanted.pop()
            self.roots[size] = self._root(row[: size - first])
            self.times[size] = _time(leaves[size - first - 1])
        if tile is not None:
            self._compare(first, row, tile)
        self._values(first, leaves, blobs)
        self.count += width
        if width == 256:
            self.rows[0].append(pair_up(row))
            self._push(self.peaks, self.rows[0][-1])

    def upper_tiles(self) -> Iterator[tuple[int, int, int, bytes]]:
        """Yield level, number, width and content of every tile above the lowest."""
        for level, row in enumerate(self.rows, 1):  # the list grows during the loop
            lifted = []
            for number, width in bundles(len(row)):
                part = row[number * 256 : number * 256 + width]
                yield level, number, width, b"".join(part)
                if width == 256:
                    lifted.append(pair_up(part))
            if lifted:
                self.rows.append(lifted)

    @staticmethod
    def _push(peaks: list[tuple[int, bytes]], root: bytes) -> None:
        """Add the root of 256 more leaves to the complete subtrees."""
        height = 8
        while peaks and peaks[-1][0] == height:
            root = sha256(b"\x01" + peaks.pop()[1] + root).digest()
            height += 1
        peaks.append((height, root))

    def _root(self, row: list[bytes]) -> bytes:
        """Return the root over the subtrees so far and the leaf hashes after them."""
        parts = [root for _, root in self.peaks]
        while row:
            power = 1 << (len(row).bit_length() - 1)
            parts.append(pair_up(row[:power]))
            row = row[power:]
        root = parts.pop()
        while parts:
            root = sha256(b"\x01" + parts.pop() + root).digest()
        return root

    def _compare(self, first: int, row: list[bytes], tile: bytes) -> None:
        """Compare leaf hashes with the stored tile; the signatures decide later which is right."""
        if b"".join(row).startswith(tile):
            return
        differ = [at for at in range(len(tile) // 32) if tile[at * 32 : at * 32 + 32] != row[at]]
        self.suspects.append((bundle_path("tile/0", first // 256, len(row)), first + differ[0], first + differ[-1]))

    def _values(self, first: int, leaves: Sequence[bytes], blobs: Sequence[bytes] | None) -> None:
        heads = [leaf[:20] for leaf in leaves]
        usual = _TIMES.fullmatch(b"".join(heads)) is not None
        self._check_times(first, leaves, heads if usual else None)
        beside: Sequence[bytes | None] = blobs or [None] * len(leaves)
        for index, (leaf, blob) in enumerate(zip(leaves, beside, strict=True), first):
            if blob is None or not usual or not matches(leaf, blob):
                self._inspect(index, leaf, blob)
            if leaf.endswith((b'"kind":"redaction","v":1}', b'"kind":"key","v":1}')):
                self._read_key_or_redaction(index, leaf)
            if blob is not None and leaf.endswith((b'"kind":"decision","v":1}', b'"kind":"authentication","v":1}')):
                self._signatures(index, leaf, blob)

    def remark_clock(self) -> None:
        if self._back:
            index, by = self._back[0]
            more = f", and {len(self._back) - 1} times more" if len(self._back) > 1 else ""
            self.report.remarks.append(f"the clock went back by {by} ms at entry {index}{more}")

    def _check_times(self, first: int, leaves: Sequence[bytes], heads: list[bytes] | None) -> None:
        """Fast path: all timestamps have 13 digits and are non-decreasing."""
        if heads and heads == sorted(heads) and int(heads[0][6:19]) >= self._last:
            self._last = int(heads[-1][6:19])
            return
        for index, leaf in enumerate(leaves, first):
            at = _time(leaf) or self._last
            if at + CLOCK_SLACK < self._last:
                self._back.append((index, self._last - at))
            self._last = at

    def _inspect(self, index: int, leaf: bytes, blob: bytes | None) -> None:
        """Full check: whether the leaf is valid, and which values are wrong, unexpected or missing."""
        body = _load(leaf)
        if body is None:
            self.report.wrong("leaf.malformed", f"entry {index}", "the leaf is not what an entry looks like")
            return
        if blob is None:
            return
        commitments = body["commitments"]
        records = _records(blob)
        if records is None:
            self.report.wrong("value.torn", f"entry {index}", "the values beside the leaf are torn")
            return
        for name, digest in records:
            if name not in commitments:
                self.report.wrong("value.surplus", f"entry {index} {name}", "the leaf does not know this value")
            elif commitments.pop(name) != digest:
                self.report.wrong("value.wrong", f"entry {index} {name}", "this is not the value that was recorded")
        self.missing |= {(index, name) for name in commitments}

    def _signatures(self, index: int, leaf: bytes, blob: bytes) -> None:
        """Follow which passkeys people have, and check the decisions that they signed."""
        body, values = _load(leaf), _values_of(blob)
        if body is None or values is None:
            return
        facts, event = body["facts"], body["facts"].get("event")
        if event in ("passkey.added", "passkey.removed"):
            self.erased_passkeys += not {"person", "credential", "public_key"} <= values.keys()
            owner = (str(values.get("person")), str(values.get("credential")))
            self.passkeys.pop(owner, None)
            if event == "passkey.added":
                self.passkeys[owner] = str(values.get("public_key"))
        elif body["kind"] == "decision" and "signed" in values:
            self.report.signed += 1
            wrong = wrong_with_signature(facts, values, self.passkeys)
            if wrong is not None and wrong[0] == "signature.stranger" and self.erased_passkeys:
                self.report.remarks.append(f"entry {index} is signed; who owns the passkey was erased")
            elif wrong is not None:
                self.report.wrong(wrong[0], f"entry {index}", wrong[1])

    def _read_key_or_redaction(self, index: int, leaf: bytes) -> None:
        body = _load(leaf)
        if body is None:
            self.report.wrong("leaf.malformed", f"entry {index}", "the leaf is not what an entry looks like")
            return
        entry, names = body["facts"].get("entry"), body["facts"].get("fields")
        if body["kind"] == "key":
            self.keys.append((index, body["facts"]))
        elif type(entry) is int and type(names) is list and entry < index:
            self.redactions.append((index, entry, names))
        else:
            self.report.wrong("redaction.baseless", f"entry {index}", "it names no earlier entry and fields")


def _load(leaf: bytes) -> dict[str, Any] | None:
    """Parse a leaf; None unless it is canonical."""
    if LEAF.fullmatch(leaf) is None:
        return None
    body: dict[str, Any] = json.loads(leaf)
    return body if json.dumps(body, separators=(",", ":"), sort_keys=True).encode() == leaf else None


def _records(blob: bytes) -> list[tuple[str, str]] | None:
    """Return field and commitment of each value, or None if torn."""
    found, at = [], 0
    while at < len(blob):
        start = at + 4
        at = start + int.from_bytes(blob[start - 4 : start], "big")
        record = blob[start:at]
        if at > len(blob) or len(record) < 18 or len(record) <= 17 + record[16]:
            return None
        name = record[17 : 17 + record[16]].decode("ascii", "replace")
        found.append((name, base64.b64encode(sha256(COMMITMENT + record).digest()).decode()))
    return found if len({name for name, _ in found}) == len(found) else None


def _values_of(blob: bytes) -> dict[str, Any] | None:
    """The values beside a leaf; None if they cannot be read. That they are the recorded ones is checked elsewhere."""
    found, at = {}, 0
    try:
        while at < len(blob):
            start = at + 4
            at = start + int.from_bytes(blob[at:start], "big")
            record = blob[start:at]
            cut = 17 + record[16]
            found[record[17:cut].decode("ascii")] = json.loads(record[cut:])
    except (IndexError, ValueError, RecursionError):
        return None
    return found


def wrong_with_signature(
    facts: Mapping[str, Any], values: Mapping[str, Any], passkeys: Mapping[tuple[str, str], str]
) -> tuple[str, str] | None:
    """Code and detail of the first thing that is wrong with a signed decision; None if nothing is."""
    signed = values["signed"]
    names = ("binding", "text", "domain", "credential", "public_key", "authenticator_data", "client_data", "signature")
    if not isinstance(signed, dict) or signed.get("format") != SIGNED:
        return "signature.malformed", f"the signed decision must be of format {SIGNED}"
    if not all(isinstance(signed.get(name), str) for name in names):
        return "signature.malformed", "the signed decision lacks a part"
    challenge = decision_digest(
        str(facts.get("approval")), signed["binding"], signed["text"], str(facts.get("verdict"))
    )
    shown = values.get("shown")
    if isinstance(shown, str) and sha256(shown.encode("utf-8", "surrogatepass")).hexdigest() != signed["text"]:
        return "signature.wrong", "the text that was shown is not the one that was signed"
    if not is_assertion(signed, challenge):
        return "signature.wrong", "the passkey did not sign this decision"
    if passkeys.get((str(values.get("person")), signed["credential"])) != signed["public_key"]:
        return "signature.stranger", "no entry before it brings in this passkey for this person"
    return None


def decision_digest(*parts: str) -> bytes:
    """What a person signs: approval, binding, digest of the text and verdict, each behind its length."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return sha256(DECISION + b"".join(len(part).to_bytes(4, "big") + part for part in encoded)).digest()


def is_assertion(signed: Mapping[str, str], challenge: bytes) -> bool:
    """Whether this is a WebAuthn assertion of this challenge, with the person present and verified."""
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        client, about = from_base64url(signed["client_data"]), from_base64url(signed["authenticator_data"])
        said, signature = json.loads(client), from_base64url(signed["signature"])
        key = load_der_public_key(from_base64url(signed["public_key"]))
        asked = said["type"], from_base64url(said["challenge"])
        host = said["origin"].partition("://")[2].partition("/")[0].rpartition(":")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    domain = signed["domain"]
    name = host[0] if host[1] and host[2].isdigit() else "".join(host)
    ours = about[:32] == sha256(domain.encode()).digest() and (name == domain or name.endswith(f".{domain}"))
    if asked != ("webauthn.get", challenge) or not ours or len(about) < 37 or about[32] & 5 != 5:
        return False
    return verifies(key, signature, about + sha256(client).digest())


def verifies(key: Any, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        if isinstance(key, EllipticCurvePublicKey):
            key.verify(signature, message, ECDSA(SHA256()))
        elif isinstance(key, RSAPublicKey):
            key.verify(signature, message, PKCS1v15(), SHA256())
        elif isinstance(key, Ed25519PublicKey):
            key.verify(signature, message)
        else:
            return False
    except InvalidSignature:
        return False
    return True


def from_base64url(text: str) -> bytes:
    """The bytes of a text in base64url without padding, which is the one way to write them."""
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != text:
        raise ValueError("this is not base64url")
    return data


def _time(leaf: bytes) -> int:
    digits = leaf[6 : leaf.find(b",")]
    return int(digits) if digits.isdigit() and len(digits) <= 15 else 0


def read_head(files: Mapping[str, bytes], report: LogReport) -> dict[str, Any] | None:
    data = files.get("bundle.json", b"")
    try:
        head = json.loads(data)
    except (ValueError, RecursionError):
        head = None
    shape = {"entries": int, "format": str, "origin": str, "values": bool}
    if isinstance(head, dict) and head.keys() == shape.keys():
        typed = all(type(head[name]) is kind for name, kind in shape.items())
        if typed and head["format"] == FORMAT and 0 <= head["entries"] <= MOST_ENTRIES:
            written = json.dumps(head, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
            if written.encode("utf-8", "replace") == data:
                return head
    report.wrong("bundle.malformed", "bundle.json", f"it must describe a bundle of format {FORMAT}")
    return None


@dataclass(frozen=True)
class Evidence:
    """What a log has beside its entries: its name, its public keys, and its checkpoints with their places."""

    origin: str
    keys: Sequence[str]
    notes: Sequence[tuple[str, bytes]]
    growing: bool = False  # whether new entries may still wait for their checkpoint

    def parse(self, kept: Sequence[tuple[str, bytes]], report: LogReport) -> list[SignedCheckpoint]:
        """Return the checkpoints of the log and those kept elsewhere."""
        texts = list(self.notes)
        for name, data in kept:
            many = split_checkpoints(data)
            texts += [(f"kept {name}" + (f" #{at}" if len(many) > 1 else ""), text) for at, text in enumerate(many)]
            if not many:
                report.wrong("checkpoint.malformed", f"kept {name}", "it is empty")
        parsed = [(place, parse_checkpoint(place, text)) for place, text in texts]
        for place, checkpoint in parsed:
            if checkpoint is None:
                report.wrong("checkpoint.malformed", place, "this is not a signed checkpoint")
        return [checkpoint for _, checkpoint in parsed if checkpoint is not None]


def read_evidence(files: Mapping[str, bytes], origin: str) -> Evidence:
    notes = [("checkpoint", files["checkpoint"])] if "checkpoint" in files else []
    for name in sorted(files):
        if name == "checkpoints" or name.startswith("anchors/"):
            notes += [(f"{name} #{at}", text) for at, text in enumerate(split_checkpoints(files[name]))]
    *keys, rest = files.get("keys", b"").decode("utf-8", "replace").split("\n")
    return Evidence(origin, [*keys, f"{rest} (cut)"] if rest else keys, notes)


def read_items(
    files: Mapping[str, bytes], what: str, path: str, width: int, prefix: int, report: LogReport
) -> list[bytes] | None:
    """Return the leaves or values of one file; None if they cannot be read."""
    data = files.get(path)
    if data is None:
        report.wrong(f"{what}.missing", path, f"{width} {what} are not there")
        return None
    items = unpack(data, width, prefix)
    if items is None:
        report.wrong(f"{what}.torn", path, f"it does not hold exactly {width} {what}")
    return items


def read_tile(files: Mapping[str, bytes], path: str, width: int, report: LogReport) -> bytes | None:
    data = files.get(path)
    if data is None:
        report.wrong("tile.missing", path, "the tile is not there")
    elif len(data) != width * 32:
        report.wrong("tile.torn", path, f"it has {len(data)} bytes where {width * 32} belong")
        return None
    return data


def walk_files(files: Mapping[str, bytes], walk: LogWalk) -> None:
    """Give all entries and tiles of a bundle to the walk."""
    for number, width in bundles(walk.size):
        leaves = read_items(files, "entries", bundle_path("tile/entries", number, width), width, 2, walk.report)
        if leaves is None:
            walk.broken = True
            return
        tile, blobs = read_tile(files, bundle_path("tile/0", number, width), width, walk.report), None
        if walk.with_values:
            blobs = read_items(files, "values", bundle_path("values", number, width), width, 4, walk.report)
        walk.add(leaves, blobs, tile)
    for level, number, width, data in walk.upper_tiles():
        path = bundle_path(f"tile/{level}", number, width)
        stored = read_tile(files, path, width, walk.report)
        if stored is not None:
            check_upper(path, data, stored, walk.report)


def check_upper(path: str, data: bytes, stored: bytes, report: LogReport) -> None:
    if not data.startswith(stored):
        report.wrong("tile.wrong", path, "it is not what the entries give")


def check_newest(evidence: Evidence, checkpoints: list[SignedCheckpoint], size: int, report: LogReport) -> int:
    """Check that the newest checkpoint covers the log; return the number of signed entries."""
    newest = dict(evidence.notes).get("checkpoint")
    own = [text for place, text in evidence.notes if place.startswith("checkpoints #")]
    if newest is None:
        report.wrong("checkpoint.missing", "checkpoint", "nothing says what the log was signed as")
    elif own[-1:] != [newest]:
        report.wrong("checkpoint.missing", "checkpoints", "its last one is not the newest checkpoint")
    signed = next((checkpoint.size for checkpoint in checkpoints if checkpoint.place == "checkpoint"), size)
    if signed < size and evidence.growing:
        report.remarks.append(f"entries {signed} to {size - 1} are not signed yet")
    elif signed < size:
        report.wrong("entries.uncovered", f"entries {signed} to {size - 1}", "no checkpoint covers them")
    return signed


def check_names(files: Mapping[str, bytes], walk: LogWalk, report: LogReport) -> None:
    if walk.broken:
        return
    expected = {bundle_path("tile/entries", *pair) for pair in bundles(walk.size)}
    if walk.with_values:
        expected |= {bundle_path("values", *pair) for pair in bundles(walk.size)}
    level, row = 0, walk.size
    while row:
        expected |= {bundle_path(f"tile/{level}", *pair) for pair in bundles(row)}
        level, row = level + 1, row // 256
    for name in sorted(files):
        if name.startswith(("tile/", "values/")) and name not in expected:
            report.wrong("bundle.surplus", name, f"a log of {walk.size} entries has no such file")


def check_keys(evidence: Evidence, walk: LogWalk, signed: int, report: LogReport) -> list[tuple[int, Key]]:
    """Return the keys in force, each with the size from which it applies."""
    listed = []
    for number, line in enumerate(evidence.keys):
        key = parse_key(line)
        if key is None:
            report.wrong("key.malformed", f"keys #{number}", "this is not a public key")
        else:
            listed.append(key)
    if not listed:
        report.wrong("key.missing", "keys", "there is no key to check signatures with")
        return []
    chain = [(0, listed[0])]
    for index, facts in walk.keys:
        if evidence.growing and index >= signed:
            break  # the entry still waits for its checkpoint
        key = parse_key(str(facts.get("key")))
        if key is None or facts.get("previous", key.text) != chain[-1][1].text:
            report.wrong("key.broken", f"entry {index}", "this key does not follow the one before")
        elif key != chain[-1][1]:
            chain.append((index + 1, key))
    if walk.broken:  # the entries with the other keys could not be read
        return chain + [(walk.count + 1, key) for key in listed[len(chain) :]]
    if [key.text for _, key in chain] != list(evidence.keys):
        report.wrong("key.broken", "keys", "these are not the first key and those the entries name, in order")
    return chain


def check_checkpoints(
    checkpoints: list[SignedCheckpoint],
    walk: LogWalk,
    chain: list[tuple[int, Key]],
    origin: str,
    report: LogReport,
) -> set[str]:
    """Check each checkpoint; return the keys with a valid signature."""
    seen: set[str] = set()
    early: list[str] = []
    starts = [start for start, _ in chain]
    endorsed = {start: start == 0 for start in starts}
    keys: dict[tuple[str, bytes], list[Key]] = {}
    followed: dict[str, list[int]] = {}
    for at, (_, key) in enumerate(chain):
        keys.setdefault((key.name, key.key_id(1)), []).append(key)
        followed.setdefault(key.text, []).extend(starts[at + 1 : at + 2])
    for one in checkpoints:
        signers = one.signers(keys)
        in_force = chain[bisect_right(starts, one.size) - 1][1] if chain else None
        if walk.broken and one.size > walk.count:  # the key in force is unknown
            in_force = next(iter(signers.values()), in_force)
        wrong = wrong_with_checkpoint(one, walk, origin, in_force, list(signers.values()))
        if wrong is not None:
            report.wrong(wrong[0], one.place, wrong[1])
            continue
        seen |= signers.keys()
        endorsed |= {start: True for text in signers for start in followed[text] if start <= one.size}
        if in_force and (one.signed_by(in_force) or 0) * 1000 + CLOCK_SLACK < walk.times.get(one.size, 0):
            early.append(one.place)
    if early:
        more = f" (one of {len(early)})" if len(early) > 1 else ""
        report.remarks.append(f"{early[0]} was signed before its last entry says it was written{more}")
    if not walk.broken:
        for start, ok in endorsed.items():
            if not ok:
                report.wrong("key.unendorsed", f"entry {start - 1}", "no checkpoint by the key before covers it")
    return seen


def wrong_with_checkpoint(
    one: SignedCheckpoint, walk: LogWalk, origin: str, in_force: Key | None, signers: Sequence[Key]
) -> tuple[str, str] | None:
    """Code and detail of the first thing that is wrong with a checkpoint; None if nothing is."""
    if one.origin != origin:
        return "checkpoint.origin", f"it is of {one.origin!r}, this log is {origin!r}"
    own = not one.place.startswith("kept ")
    if in_force not in signers or (own and one.strange(signers)):
        name = in_force.text if in_force else "any key"
        return "checkpoint.unsigned", f"at size {one.size} it must be signed by {name}"
    if one.size > walk.size:
        return "checkpoint.beyond", f"it covers {one.size} entries; here are {walk.size}"
    if walk.roots.get(one.size, one.root) != one.root:
        return "checkpoint.inconsistent", f"the first {one.size} entries give another root"
    return None


def check_suspects(checkpoints: list[SignedCheckpoint], walk: LogWalk, report: LogReport) -> None:
    """Decide where leaves and tiles differ: if the signed root matches the leaves, the tiles are wrong."""
    signed = {one.root for one in checkpoints if one.size == walk.size}
    leaves_right = walk.roots.get(walk.size) in signed
    for path, first, last in walk.suspects:
        if leaves_right:
            report.wrong("tile.wrong", path, f"it is not what entries {first} to {last} give")
            continue
        place = f"entry {first}" if first == last else f"entries {first} to {last}"
        report.wrong("entry.altered", place, f"not what {path} says, and not what was signed")


def check_redactions(walk: LogWalk, later: Set[tuple[int, str]], report: LogReport) -> None:
    """Check that a redaction names every missing value; `later` are values erased during this check."""
    if walk.broken or not walk.with_values:
        return
    missing = walk.missing - later
    for index, entry, names in walk.redactions:
        for name in names:
            if (entry, name) in walk.missing:
                missing.discard((entry, name))
            else:
                report.wrong("redaction.ineffective", f"entry {entry} {name}", f"entry {index} says it was erased")
    report.erased = len(walk.missing) - len(missing)
    for index, name in sorted(missing):
        report.wrong("value.missing", f"entry {index} {name}", "it is not there, and no redaction says why")


def check_trust(
    seen: set[str], chain: list[tuple[int, Key]], trusted: Sequence[str], growing: bool, report: LogReport
) -> None:
    if not trusted and not growing:
        names = ", ".join(key.text for _, key in chain)
        report.remarks.append(f"the keys are those of the bundle itself; compare them with ones you trust: {names}")
    elif trusted and not seen & set(trusted):
        report.wrong("key.untrusted", "keys", "no checkpoint here is signed by a key you trust")


def conclude(
    walk: LogWalk,
    evidence: Evidence,
    checkpoints: list[SignedCheckpoint],
    trusted: Sequence[str],
    later: Set[tuple[int, str]] = frozenset(),
) -> LogReport:
    """Compare what the walk collected with keys, checkpoints and redactions; return the whole report."""
    report = walk.report
    if not walk.broken:
        walk.remark_clock()
    signed = check_newest(evidence, checkpoints, walk.size, report)
    chain = check_keys(evidence, walk, signed, report)
    seen = check_checkpoints(checkpoints, walk, chain, evidence.origin, report)
    check_suspects(checkpoints, walk, report)
    check_redactions(walk, later, report)
    check_trust(seen, chain, trusted, evidence.growing, report)
    if not walk.with_values:
        report.remarks.append("the bundle has no values, so no commitment was checked")
    report.entries, report.checkpoints = walk.count, len(checkpoints)
    return report


def verify(
    files: Mapping[str, bytes], kept: Sequence[tuple[str, bytes]] = (), trusted: Sequence[str] = ()
) -> LogReport:
    """Return every fault of a bundle, given as paths and bytes."""
    report = LogReport()
    head = read_head(files, report)
    if head is None:
        return report
    evidence = read_evidence(files, head["origin"])
    checkpoints = evidence.parse(kept, report)
    walk = LogWalk(head["entries"], head["values"], [one.size for one in checkpoints], report)
    walk_files(files, walk)
    check_names(files, walk, report)
    return conclude(walk, evidence, checkpoints, trusted)


def root_above(index: int, size: int, root: bytes, path: Sequence[bytes]) -> bytes | None:
    """Return the root of an audit path (RFC 9162, 2.1.3.2); None if the path is invalid."""
    node, last = index, size - 1
    for sibling in path:
        if last == 0:
            return None
        if node & 1 or node == last:
            root = sha256(b"\x01" + sibling + root).digest()
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            root = sha256(b"\x01" + root + sibling).digest()
        node, last = node >> 1, last >> 1
    return root if last == 0 else None


def verify_proof(data: bytes, leaf: bytes, trusted: Sequence[str]) -> LogReport:
    """Return every fault of a proof (C2SP tlog-proof) that this leaf is in a log signed by one of these keys."""
    report = LogReport(entries=1, checkpoints=1)
    head, _, note = data.partition(b"\n\n")
    first, *lines = head.decode("ascii", "replace").split("\n")
    if lines and lines[0].startswith("extra ") and exact_base64(lines[0][6:]) is not None:
        lines.pop(0)
    place = lines.pop(0) if lines else ""
    path = [exact_base64(line) or b"" for line in lines]
    signed, named = parse_checkpoint("checkpoint", note), place[:6] == "index " and _SIZE.fullmatch(place[6:])
    if first != PROOF or not named or signed is None or any(len(item) != 32 for item in path):
        report.wrong("proof.malformed", "proof", "it must be a tlog-proof: index, hashes, and a signed checkpoint")
        return report
    keys = [key for text in trusted if (key := parse_key(text)) and key.name == signed.origin]
    if not any(signed.signed_by(key) is not None for key in keys):
        report.wrong("checkpoint.unsigned", "checkpoint", f"no key you trust signed this for {signed.origin}")
    index = int(place[6:])
    root = root_above(index, signed.size, sha256(b"\x00" + leaf).digest(), path) if index < signed.size else None
    if root != signed.root:
        report.wrong("proof.wrong", f"entry {index}", "the proof does not lead from this leaf to the signed root")
    return report


def verify_receipt(data: bytes, trusted: Sequence[str]) -> LogReport:
    """Return every fault of a receipt: its entries are in a log signed by one of these keys, with these values."""
    report = LogReport()
    try:
        receipt = json.loads(data)
        entries = [(e["leaf"].encode(), e["values"], e["packed"], e["proof"].encode()) for e in receipt["entries"]]
        known = receipt["format"] == RECEIPT and isinstance(receipt["operation"], str) and entries
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        known = False
    if not known:
        report.wrong("receipt.malformed", "receipt", f"it must be {RECEIPT} with entries, each with leaf and proof")
        return report
    for leaf, shown, packed, proof in entries:
        one = verify_proof(proof, leaf, trusted)
        report.entries += 1
        report.checkpoints = 1
        report.faults += one.faults
        blob = exact_base64(packed) if isinstance(packed, str) else b""
        body = _load(leaf)
        wanted = _records(blob) if blob is not None else None
        if body is None or wanted is None or any(body["commitments"].get(name) != said for name, said in wanted):
            report.wrong("value.wrong", "receipt", "the packed values are not those that the leaf commits to")
        elif _values_of(blob or b"") != shown:
            report.wrong("value.wrong", "receipt", "the readable values differ from the packed ones")
        else:
            report.erased += len(body["commitments"]) - len(wanted)
    named = {json.loads(leaf)["facts"].get(key) for leaf, *_ in entries if _load(leaf) for key in ("claim", "approval")}
    if receipt["operation"] not in named:
        report.wrong("receipt.foreign", "receipt", "no entry is about the operation that the receipt names")
    return report


class Files(Mapping[str, bytes]):
    """Files of a bundle, read on demand."""

    def __init__(self, names: Sequence[str], read: Callable[[str], bytes]) -> None:
        self._names, self._read = dict.fromkeys(names), read

    def __getitem__(self, name: str) -> bytes:
        if name not in self._names:
            raise KeyError(name)
        return self._read(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def open_bundle(path: Path) -> Files:
    if path.is_dir():
        return Files(_names_below(str(path)), lambda name: _read_file(path / name))
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise ValueError(f"it is neither a directory nor a .zip file: {error}") from error
    members = [name for name in archive.namelist() if not name.endswith("/")]
    found = {name.removeprefix("./"): name for name in members}  # some programs write ./ before each name
    if len(found) != len(members):
        raise ValueError("the archive holds two files of one name")
    return Files(list(found), lambda name: _read_member(archive, found[name]))


def _names_below(root: str) -> list[str]:
    """List regular files; links are skipped because they can lead outside the bundle."""
    names = []
    for folder, _, files in os.walk(root):
        inside = os.path.relpath(folder, root).replace(os.sep, "/") + "/"
        names += [(inside if inside != "./" else "") + name for name in files]
    return sorted(names)


def _read_file(path: Path) -> bytes:
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode):
        raise ValueError(f"{str(path)!r} is not a regular file")
    _check_size(str(path), about.st_size)
    return path.read_bytes()


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    _check_size(name, archive.getinfo(name).file_size)
    try:
        return archive.read(name)
    except (RuntimeError, NotImplementedError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise ValueError(f"{name!r} cannot be unpacked: {error}") from error


def _check_size(name: str, size: int) -> None:
    if size > FILE_LIMIT:
        raise ValueError(f"{name!r} has more than {FILE_LIMIT} bytes, which no file of a bundle needs")


def read_kept(paths: Sequence[str]) -> list[tuple[str, bytes]]:
    kept = []
    for path in map(Path, paths):
        files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
        kept += [(str(file), file.read_bytes()) for file in files]
    return kept


def visible_text(text: str) -> str:
    """Escape control and invisible characters, because names in a bundle can be arbitrary text."""
    return "".join(char if " " <= char <= "~" else char.encode("unicode_escape").decode() for char in text)


def render(report: LogReport) -> str:
    lines = [f"WRONG  {fault.place}: {fault.detail} [{fault.code}]" for fault in report.faults[:SHOWN]]
    if len(report.faults) > SHOWN:
        rest = Counter(fault.code for fault in report.faults[SHOWN:])
        lines.append("WRONG  and more: " + ", ".join(f"{count} x {code}" for code, count in rest.items()))
    lines += [f"note   {remark}" for remark in report.remarks]
    many = len(report.faults)
    verdict = "nothing is wrong" if report.ok else "1 thing is wrong" if many == 1 else f"{many} things are wrong"
    counts = f"entries: {report.entries}, checkpoints: {report.checkpoints}, erased values: {report.erased}"
    counts += f", signed decisions: {report.signed}" if report.signed else ""
    lines.append(f"{counts}; {verdict}")
    return "\n".join(map(visible_text, lines))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("bundle", type=Path, help="a directory, a .zip file, a .tlog-proof, or a receipt")
    parser.add_argument("--checkpoint", action="append", default=[], metavar="FILE", help="one kept elsewhere")
    parser.add_argument("--key", action="append", default=[], metavar="FILE", help="public keys you trust")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    options = parser.parse_args(arguments)
    try:
        trusted = [line for path in options.key for line in Path(path).read_text("utf-8").split()]
        if any(parse_key(line) is None for line in trusted) or (options.key and not trusted):
            raise ValueError("a --key file holds one public key (name+id+base64) per line")
        if options.bundle.suffix in (".tlog-proof", ".json") and not trusted:
            raise ValueError("a proof is checked with --key, since it holds no keys itself")
        if options.bundle.suffix == ".json":
            report = verify_receipt(options.bundle.read_bytes(), trusted)
        elif options.bundle.suffix == ".tlog-proof":
            report = verify_proof(
                options.bundle.read_bytes(), options.bundle.with_suffix(".leaf").read_bytes(), trusted
            )
        else:
            report = verify(open_bundle(options.bundle), read_kept(options.checkpoint), trusted)
    except (OSError, ValueError) as error:
        sys.stderr.write(visible_text(f"{options.bundle} could not be read: {error}") + "\n")
        return 2
    if options.json:
        faults = [vars(fault) for fault in report.faults]
        output = json.dumps({**vars(report), "faults": faults, "ok": report.ok}, indent=1)
    else:
        output = render(report)
    sys.stdout.write(output + "\n")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
