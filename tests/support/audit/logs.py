"""Logs to look at: made of believable entries, seeded, the same in every run."""

import random
from dataclasses import dataclass, field
from typing import Any

from assent.audit import bundle
from assent.audit.leaf import Sealed, seal
from assent.audit.leaf_reader import redact
from assent.audit.log_directory import SigningKeys
from assent.audit.log_tree import Log, open_log
from assent.audit.notes import SecretKey
from support.audit.log_parts import redaction
from support.audit.memory import MemoryCheckpoints, MemoryEntries, MemorySink, MemoryTiles

ORIGIN = "audit.example/acme"
START = 1_764_000_000_000
DIGEST = "5b0f2c7a9d1e48c3b6a7f0e2d4c19b8370a6e5d2c1f4b39807e6a5d4c3b2f1e0"


def secret_key(number=0, name=ORIGIN):
    return SecretKey(name, bytes([number + 1]) * 32)


def keys_of(*secrets):
    return SigningKeys(tuple(secret.public for secret in secrets), tuple(secrets))


def call_entry(number, chance, at=None):
    """An intent, outcome, denial or the like, as the pipeline writes them."""
    kind = ("intent", "outcome", "denial", "approval", "decision", "operator")[chance.randrange(6)]
    facts = {"claim": f"c_{number:08x}", "tool": f"tool_{number % 7}", "tier": "write", "risk": "medium"}
    facts |= {"mode": "live", "contract": DIGEST, "policy": DIGEST, "open_world": number % 3 == 0}
    values: dict[str, Any] = {"principal": f"agent-{number % 5}", "tenant": "acme"}
    if kind in ("intent", "denial"):
        values["arguments"] = {"item": f"scene {number}", "amount": number, "note": "Überweisung"}
    if kind == "operator":
        values, facts = {}, {"action": "reload"}
    return seal(kind, START + number * 10 if at is None else at, facts, values, chance.randbytes)


@dataclass
class Scene:
    """A log in memory, with what its operator and others kept of it."""

    secrets: list[SecretKey] = field(default_factory=lambda: [secret_key()])
    entries: MemoryEntries = field(default_factory=MemoryEntries)
    tiles: MemoryTiles = field(default_factory=MemoryTiles)
    checkpoints: MemoryCheckpoints = field(default_factory=MemoryCheckpoints)
    anchored: list[bytes] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    seconds: int = START // 1000
    log: Log = field(init=False)

    async def open(self):
        self.log = await open_log(ORIGIN, keys_of(*self.secrets), self.entries, self.tiles, self.checkpoints)
        return self

    async def append(self, *rows: Sealed):
        await self.entries.append([(row.leaf, row.values) for row in rows])
        await self.log.extend([row.leaf for row in rows])

    async def grow(self, count):
        start = await self.entries.count()
        await self.append(*(call_entry(number, self.chance) for number in range(start, start + count)))

    async def sign(self, later=1000, anchor=False):
        self.seconds += later
        signed = await self.log.checkpoint(self.seconds)
        if anchor:
            self.anchored.append(signed.note)
        return signed

    async def erase(self, index, *fields):
        blob = self.entries.rows[index][1]
        await self.entries.replace_values(index, redact(blob, fields))
        reason = {"operator": "ann", "reason": "asked to"}
        now = START + 10 * await self.entries.count()
        await self.append(redaction(index, fields, now, reason, self.chance.randbytes))

    async def rotate(self, number):
        new, old = secret_key(number), self.secrets[-1]
        self.secrets.append(new)
        self.log.keys = keys_of(*self.secrets)
        now = START + 10 * await self.entries.count()
        facts = {"key": new.public.text, "previous": old.public.text}
        await self.append(seal("key", now, facts, {}, self.chance.randbytes))

    async def metadata(self):
        public = [secret.public for secret in self.secrets]
        anchors = {"directory": self.anchored} if self.anchored else {}
        return bundle.LogMetadata(ORIGIN, public, await self.checkpoints.kept(), anchors)

    async def bundle(self):
        sink = MemorySink()
        await bundle.write_bundle(sink, await self.metadata(), self.entries)
        return dict(sink)

    @property
    def trusted(self):
        return [secret.public.text for secret in self.secrets]


async def make_scene(size, *, rotations=(), erasures=(), anchors=True, seed=7):
    """A log of about this size, signed along the way, with keys rotated and values erased at these sizes."""
    scene = await Scene(chance=random.Random(seed)).open()
    steps = sorted({*rotations, *erasures, size // 3, size // 2, size} - {0})
    for step in steps:
        await scene.grow(max(0, step - await scene.entries.count()))
        if step in rotations:
            await scene.rotate(len(scene.secrets))
        if step in erasures:
            for index, (_, blob) in enumerate(scene.entries.rows):
                if blob and b"arguments" in blob:
                    await scene.erase(index, "arguments")
                    break
        await scene.sign(anchor=anchors)
    return scene
