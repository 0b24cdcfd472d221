"""Checks a log against its signatures, in a running store or in a bundle.

It makes the same checks as the stand-alone verifier with the modules of this package. Tests require that both agree
on every log.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from assent.audit import checkpoints, notes
from assent.audit.audited_log import AuditedBundle, AuditedLog
from assent.audit.bundle import BadBundle
from assent.audit.checkpoints import Checkpoint, Proof
from assent.audit.findings import LogReport
from assent.audit.leaf import erased_by
from assent.audit.merkle import BadProof, hash_leaf, verify_inclusion
from assent.audit.notes import BadKey, BadNote, PublicKey
from assent.audit.walk import CLOCK_SLACK, LogWalk

Claim = tuple[str, Checkpoint, notes.Note]


class Inspection:
    """One pass over the entries, then checks of keys, checkpoints, tiles and erasures."""

    def __init__(self, subject: AuditedLog) -> None:
        self.subject, self.report = subject, LogReport()
        self.walk, self.signed = LogWalk(subject, self.report), 0

    async def run(self, kept: Sequence[tuple[str, bytes]], trusted: Sequence[str]) -> LogReport:
        claims = self._parse_claims(kept)
        await self.walk.run([claim.size for _, claim, _ in claims])
        if not self.walk.broken:
            for name in self.subject.surplus():
                self.report.wrong("bundle.surplus", name, "a log of this size has no such file")
        self._check_newest(claims)
        chain = self._keys_in_force()
        seen = self._check_claims(claims, chain)
        self._check_suspects(claims)
        await self._check_redactions()
        if trusted and not seen & set(trusted):
            self.report.wrong("key.untrusted", "keys", "no checkpoint here is signed by a key you trust")
        self.report.entries, self.report.checkpoints = self.walk.count, len(claims)
        return self.report

    def _parse_claims(self, kept: Sequence[tuple[str, bytes]]) -> list[Claim]:
        named = list(self.subject.claims)
        for name, data in kept:
            many = checkpoints.split(data)
            named += [(f"kept {name}" + (f" #{at}" if len(many) > 1 else ""), note) for at, note in enumerate(many)]
            if not many:
                self.report.wrong("checkpoint.malformed", f"kept {name}", "it is empty")
        claims = []
        for place, data in named:
            try:
                claims.append((place, *checkpoints.parse(data)))
            except BadNote as error:
                self.report.wrong("checkpoint.malformed", place, str(error))
        return claims

    def _check_newest(self, claims: list[Claim]) -> None:
        newest = self.subject.newest
        kept = [data for place, data in self.subject.claims if place.startswith("checkpoints #")]
        if newest is None:
            self.report.wrong("checkpoint.missing", "checkpoint", "nothing says what the log was signed as")
        elif kept[-1:] != [newest]:
            self.report.wrong("checkpoint.missing", "checkpoints", "its last one is not the newest checkpoint")
        self.signed = size = next((one.size for place, one, _ in claims if place == "checkpoint"), self.subject.size)
        if size < self.subject.size:
            place = f"entries {size} to {self.subject.size - 1}"
            if self.subject.growing:
                self.report.remarks.append(f"{place} are not signed yet")
            else:
                self.report.wrong("entries.uncovered", place, "no checkpoint covers them")

    def _keys_in_force(self) -> list[tuple[int, PublicKey]]:
        """Return the keys in force, each with the size from which it applies."""
        listed = []
        for number, line in enumerate(self.subject.keys):
            try:
                listed.append(PublicKey.parse(line))
            except BadKey as error:
                self.report.wrong("key.malformed", f"keys #{number}", str(error))
        if not listed:
            self.report.wrong("key.missing", "keys", "there is no key to check signatures with")
            return []
        chain = [(0, listed[0])]
        for index, facts in self.walk.keys:
            if self.subject.growing and index >= self.signed:
                break  # the entry still waits for its checkpoint
            try:
                key = PublicKey.parse(str(facts.get("key")))
            except BadKey:
                key = None
            if key is None or facts.get("previous", key.text) != chain[-1][1].text:
                self.report.wrong("key.broken", f"entry {index}", "this key does not follow the one before")
            elif key != chain[-1][1]:
                chain.append((index + 1, key))
        if self.walk.broken:  # the entries with the other keys could not be read
            return chain + [(self.walk.count + 1, key) for key in listed[len(chain) :]]
        if [key.text for _, key in chain] != list(self.subject.keys):
            self.report.wrong("key.broken", "keys", "not the first key and those the entries name, in order")
        return chain

    def _check_claims(self, claims: list[Claim], chain: list[tuple[int, PublicKey]]) -> set[str]:
        """Check each checkpoint; return the keys with a valid signature."""
        seen: set[str] = set()
        endorsed: set[int] = set()
        early: list[str] = []
        starts, followed = [start for start, _ in chain], _successor_sizes(chain)
        keys = {(key.name, key.key_id(notes.PLAIN)): key for _, key in chain}
        for place, claim, note in claims:
            in_force = chain[bisect_right(starts, claim.size) - 1][1] if chain else None
            named = dict.fromkeys(keys.get((one.name, one.key_id)) for one in note.signatures)
            signers = [key for key in named if key is not None and signed_at(note, key) is not None]
            alone = place.startswith("kept ") or not note.strange(signers)
            if self.walk.broken and claim.size > self.walk.count:  # the key in force is unknown
                in_force = next(iter(signers), in_force)
            why = self._why_wrong(claim, in_force if in_force in signers and alone else None)
            if why:
                self.report.wrong(why[0], place, why[1])
            elif in_force is not None:
                seen |= {key.text for key in signers}
                endorsed |= {start for key in signers for start in followed[key] if start <= claim.size}
                if (signed_at(note, in_force) or 0) * 1000 + CLOCK_SLACK < self.walk.times.get(claim.size, 0):
                    early.append(place)
        if early:
            more = f" (one of {len(early)})" if len(early) > 1 else ""
            self.report.remarks.append(f"{early[0]} was signed before its last entry says it was written{more}")
        for start, _ in chain[1:]:
            if start not in endorsed and not self.walk.broken:
                self.report.wrong("key.unendorsed", f"entry {start - 1}", "no checkpoint by the key before it")
        return seen

    def _why_wrong(self, claim: Checkpoint, signer: PublicKey | None) -> tuple[str, str] | None:
        if claim.origin != self.subject.origin:
            return "checkpoint.origin", f"it is of {claim.origin!r}, not of {self.subject.origin!r}"
        if signer is None:
            return "checkpoint.unsigned", f"the key in force at size {claim.size} did not sign it"
        if claim.size > self.subject.size:
            return "checkpoint.beyond", f"it covers {claim.size} entries; here are {self.subject.size}"
        if self.walk.roots.get(claim.size, claim.root) != claim.root:
            return "checkpoint.inconsistent", f"the first {claim.size} entries give another root"
        return None

    def _check_suspects(self, claims: list[Claim]) -> None:
        signed = {claim.root for _, claim, _ in claims if claim.size == self.subject.size}
        right = self.walk.roots.get(self.subject.size) in signed
        for path, first, last in self.walk.suspects:
            place = f"entry {first}" if first == last else f"entries {first} to {last}"
            if right:
                self.report.wrong("tile.wrong", path, f"it is not what {place} give")
            else:
                self.report.wrong("entry.altered", place, f"not what {path} says, and not what was signed")

    async def _check_redactions(self) -> None:
        if self.walk.broken or not self.subject.with_values:
            return
        erased = {(entry, name): index for index, entry, names in self.walk.redactions for name in names}
        for (entry, name), index in erased.items():
            if (entry, name) not in self.walk.missing:
                self.report.wrong("redaction.ineffective", f"entry {entry} {name}", f"erased, says entry {index}")
        unexplained = self.walk.missing - erased.keys()
        if unexplained and self.subject.growing:  # the value was erased during this check, and its entry came later
            unexplained -= erased_by(await self.subject.later())
        self.report.erased = len(self.walk.missing - unexplained)
        for entry, name in sorted(unexplained):
            self.report.wrong("value.missing", f"entry {entry} {name}", "not there, and no redaction says why")


def _successor_sizes(chain: list[tuple[int, PublicKey]]) -> dict[PublicKey, list[int]]:
    """Return for each key the sizes at which another key replaced it."""
    found: dict[PublicKey, list[int]] = {key: [] for _, key in chain}
    for (start, _), (_, before) in zip(chain[1:], chain, strict=False):
        found[before].append(start)
    return found


def signed_at(note: notes.Note, key: PublicKey) -> int | None:
    """Return when the key signed the note, in seconds; None unless both signatures are present and valid."""
    try:
        return note.stamped_by(key) if note.signed_by(key) else None
    except BadNote:
        return None


async def inspect(
    subject: AuditedLog, kept: Sequence[tuple[str, bytes]] = (), trusted: Sequence[str] = ()
) -> LogReport:
    """Return every fault of a log; `kept` are named checkpoints from elsewhere."""
    return await Inspection(subject).run(kept, trusted)


async def inspect_bundle(
    files: Mapping[str, bytes], kept: Sequence[tuple[str, bytes]] = (), trusted: Sequence[str] = ()
) -> LogReport:
    try:
        subject = AuditedBundle(files)
    except BadBundle as error:
        report = LogReport()
        report.wrong("bundle.malformed", "bundle.json", str(error))
        return report
    return await inspect(subject, kept, trusted)


def verify_proof(data: bytes, leaf: bytes, trusted: Sequence[str]) -> LogReport:
    """Return every fault of a proof that this leaf is in a log signed by one of these keys."""
    report = LogReport(entries=1, checkpoints=1)
    try:
        proof = Proof.decode(data)
        checkpoint, note = checkpoints.parse(proof.checkpoint)
    except (BadProof, BadNote) as error:
        report.wrong("proof.malformed", "proof", str(error))
        return report
    keys = [key for key in map(PublicKey.parse, trusted) if key.name == checkpoint.origin]
    if not any(signed_at(note, key) is not None for key in keys):
        report.wrong("checkpoint.unsigned", "checkpoint", f"no key you trust signed this for {checkpoint.origin}")
    try:
        verify_inclusion(proof.index, checkpoint.size, hash_leaf(leaf), proof.path, checkpoint.root)
    except BadProof as error:
        report.wrong("proof.wrong", f"entry {proof.index}", str(error))
    return report
