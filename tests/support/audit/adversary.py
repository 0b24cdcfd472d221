"""Everything somebody who can write to a log, or sign for it, could do to it."""

import random
from dataclasses import dataclass, field

from assent.audit import checkpoints, notes
from assent.audit.bundle import head_bytes, pack_values
from assent.audit.checkpoints import Checkpoint
from assent.audit.leaf import seal
from assent.audit.leaf_reader import pack, unpack
from assent.audit.merkle import hash_leaf
from assent.audit.tiles import ENTRIES, VALUES, WIDTH, RightEdge, pack_entries
from assent.audit.verifier import bundle_path, bundles
from support.audit.logs import ORIGIN, START, Scene, call_entry, secret_key
from support.audit.memory import root_of


@dataclass
class Victim:
    """A clean bundle, and everything the adversary may know about it."""

    files: dict[str, bytes]
    rows: list[tuple[bytes, bytes | None]]
    originals: list[tuple[bytes, bytes | None]]
    secrets: list
    kept: list[bytes]
    newest: bytes
    earlier: dict[str, bytes] | None = None
    rotations: list[tuple[int, int]] = field(default_factory=list)  # size from which, number of the key

    @property
    def trusted(self):
        return [self.secrets[0].public.text]

    @property
    def size(self):
        return len(self.rows)


@dataclass
class Attack:
    name: str
    files: dict[str, bytes]
    kept: list[tuple[str, bytes]] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)


async def make_victim(size, *, rotations=(), erasures=(), seed=7):
    """A victim whose state at half its size is remembered too, to roll back to."""
    scene = await Scene(chance=random.Random(seed)).open()
    originals, earlier, turns = {}, None, [(0, 0)]
    for step in sorted({*rotations, *erasures, size // 2, size} - {0}):
        await scene.grow(max(0, step - await scene.entries.count()))
        originals |= {at: row for at, row in enumerate(scene.entries.rows) if at not in originals}
        if step in rotations:
            await scene.rotate(len(scene.secrets))
            turns.append((await scene.entries.count(), len(scene.secrets) - 1))
        if step in erasures:
            await _erase_one(scene)
        await scene.sign(anchor=step == size // 2)
        if step == size // 2:
            earlier = await scene.bundle()
    originals |= {at: row for at, row in enumerate(scene.entries.rows) if at not in originals}
    return Victim(
        files=await scene.bundle(),
        rows=list(scene.entries.rows),
        originals=[originals[at] for at in range(len(originals))],
        secrets=list(scene.secrets),
        kept=list(await scene.checkpoints.kept()),
        newest=await scene.checkpoints.latest(),
        earlier=earlier,
        rotations=turns,
    )


async def _erase_one(scene):
    for index, (_, blob) in enumerate(scene.entries.rows):
        if blob and b"arguments" in blob:
            await scene.erase(index, "arguments")
            return


def lay_out(victim, rows, *, tiles=True, files=None):
    """The victim's bundle with other rows; whoever is not careful leaves the old tiles lying."""
    files = dict(victim.files if files is None else files)
    for name in list(files):
        if name.startswith((ENTRIES, VALUES)) or (tiles and name.startswith("tile/")):
            del files[name]
    edge = RightEdge()
    for number, width in bundles(len(rows)):
        part = rows[number * WIDTH : number * WIDTH + width]
        files[bundle_path(ENTRIES, number, width)] = pack_entries([leaf for leaf, _ in part])
        files[bundle_path(VALUES, number, width)] = pack_values([blob for _, blob in part])
        full = edge.extend([hash_leaf(leaf) for leaf, _ in part]) if tiles else []
        files |= {tile.path: data for tile, data in full}
    files |= {tile.path: data for tile, data in edge.partial()}
    files["bundle.json"] = head_bytes(len(rows), ORIGIN, True)
    return files


def sign_again(victim, rows, files, secrets):
    """All checkpoints signed anew over other rows, by the right keys or by others."""
    hashes = [hash_leaf(leaf) for leaf, _ in rows]
    sizes = [checkpoints.parse(note)[0].size for note in victim.kept]
    sizes = sorted({min(size, len(rows)) for size in sizes} | {len(rows)})
    signed = []
    for at, size in enumerate(sizes):
        turn = [number for start, number in victim.rotations if start <= size]
        signers = [secrets[number] for number in (turn[-1], max(0, turn[-1] - 1))]
        head = Checkpoint(ORIGIN, size, root_of(hashes[:size]))
        signed.append(notes.sign(head.text, dict.fromkeys(signers), START // 1000 + 5000 + at))
    files |= {"checkpoint": signed[-1], "checkpoints": checkpoints.join(signed)}
    files["anchors/directory"] = checkpoints.join(signed[:1])
    return files


def flip(victim, chance):
    name = chance.choice(sorted(victim.files))
    data = bytearray(victim.files[name])
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return {**victim.files, name: bytes(data)}


def cut(victim, chance):
    name = chance.choice(sorted(victim.files))
    data = victim.files[name]
    left = data[: chance.randrange(len(data))]
    if name.startswith("anchors/") and left[-1:] in (b"", b"\n"):
        # What an anchor kept, or who else had signed it, can be left out like the whole file: only the anchor knows.
        return victim.files
    return {**victim.files, name: left}


def pad(victim, chance):
    name = chance.choice(sorted(victim.files))
    return {**victim.files, name: victim.files[name] + chance.randbytes(chance.randrange(1, 40))}


def lose_file(victim, chance):
    names = [name for name in victim.files if not name.startswith("anchors/")]
    files = dict(victim.files)
    del files[chance.choice(sorted(names))]
    return files


def swap_files(victim, chance):
    """Tiles, bundles of entries or of values in each other's place."""
    names = sorted(name for name in victim.files if name.startswith(("tile/", "values/")))
    one, other = chance.sample(names, 2)
    return {**victim.files, one: victim.files[other], other: victim.files[one]}


def surplus_file(victim, chance):
    name = chance.choice(["tile/0/777", "tile/entries/777.p/3", "values/777", "tile/9/000", "tile/0/000.p/300"])
    return {**victim.files, name: chance.randbytes(64)}


def delete(victim, chance):
    rows = list(victim.rows)
    del rows[chance.randrange(len(rows))]
    return lay_out(victim, rows, tiles=chance.random() < 0.7)


def reorder(victim, chance):
    rows = list(victim.rows)
    one, other = chance.sample(range(len(rows)), 2)
    rows[one], rows[other] = rows[other], rows[one]
    return lay_out(victim, rows, tiles=chance.random() < 0.7)


def duplicate(victim, chance):
    rows = list(victim.rows)
    rows.insert(chance.randrange(len(rows) + 1), chance.choice(rows))
    return lay_out(victim, rows, tiles=chance.random() < 0.7)


def insert(victim, chance):
    rows = list(victim.rows)
    forged = call_entry(chance.randrange(10**6), chance)
    rows.insert(chance.randrange(len(rows) + 1), (forged.leaf, forged.values))
    return lay_out(victim, rows, tiles=chance.random() < 0.7)


def replace(victim, chance):
    rows = list(victim.rows)
    forged = call_entry(chance.randrange(10**6), chance)
    rows[chance.randrange(len(rows))] = (forged.leaf, forged.values)
    return lay_out(victim, rows, tiles=chance.random() < 0.7)


def truncate(victim, chance):
    return lay_out(victim, victim.rows[: chance.randrange(len(victim.rows))])


def swap_values(victim, chance):
    filled = [at for at, (_, blob) in enumerate(victim.rows) if blob]
    one, other = chance.sample(filled, 2)
    rows = list(victim.rows)
    rows[one], rows[other] = (rows[one][0], rows[other][1]), (rows[other][0], rows[one][1])
    return lay_out(victim, rows)


def lose_value(victim, chance):
    at = chance.choice([at for at, (_, blob) in enumerate(victim.rows) if blob])
    values, salts = unpack(victim.rows[at][1])
    del values[chance.choice(sorted(values))]
    return lay_out(victim, _with_values(victim.rows, at, pack(values, salts)))


def change_value(victim, chance):
    at = chance.choice([at for at, (_, blob) in enumerate(victim.rows) if blob])
    values, salts = unpack(victim.rows[at][1])
    name = chance.choice(sorted(values))
    values[name] = b'"something else"'
    if chance.random() < 0.5:
        salts[name] = chance.randbytes(16)
    return lay_out(victim, _with_values(victim.rows, at, pack(values, salts)))


def add_value(victim, chance):
    at = chance.randrange(len(victim.rows))
    values, salts = unpack(victim.rows[at][1])
    values["confession"], salts["confession"] = b'"it was me"', chance.randbytes(16)
    return lay_out(victim, _with_values(victim.rows, at, pack(values, salts)))


def unerase(victim, chance):
    erased = [at for at in range(victim.size) if victim.rows[at][1] != victim.originals[at][1]]
    if not erased:
        return change_value(victim, chance)
    at = chance.choice(erased)
    return lay_out(victim, _with_values(victim.rows, at, victim.originals[at][1]))


def _with_values(rows, at, blob):
    return [*rows[:at], (rows[at][0], blob), *rows[at + 1 :]]


def lose_signature(victim, chance):
    text, _, tail = victim.newest.decode().rpartition("\n\n")
    lines = tail.splitlines()
    del lines[chance.randrange(len(lines))]
    return _with_newest(victim, f"{text}\n\n{''.join(line + chr(10) for line in lines)}".encode())


def stale_checkpoint(victim, chance):
    return {**victim.files, "checkpoint": chance.choice(victim.kept[:-1])}


def foreign_checkpoint(victim, chance):
    head = checkpoints.parse(victim.newest)[0]
    foreign = Checkpoint("audit.example/other", head.size, head.root)
    signer = secret_key(victim.rotations[-1][1])
    return _with_newest(victim, notes.sign(foreign.text, [signer], START // 1000))


def _with_newest(victim, note):
    kept = [*victim.kept[:-1], note]
    return {**victim.files, "checkpoint": note, "checkpoints": checkpoints.join(kept)}


def wrong_key(victim, chance):
    """Everything rewritten and signed by somebody else, who may bring keys along."""
    secrets = [secret_key(100 + number) for number in range(len(victim.secrets))]
    files = sign_again(victim, victim.rows, dict(victim.files), secrets)
    if chance.random() < 0.5:
        files["keys"] = "".join(f"{secret.public.text}\n" for secret in secrets).encode()
    return files


def retired_key(victim, chance):
    """The newest checkpoint signed by a key that is no longer, or not yet, in force."""
    head = checkpoints.parse(victim.newest)[0]
    others = [secret for secret in [*victim.secrets, secret_key(50)] if secret != victim.secrets[-1]]
    return _with_newest(victim, notes.sign(head.text, [chance.choice(others)], START // 1000 + 9000))


def unendorsed_key(victim, chance):
    """A new key brings itself in: nobody before it says so."""
    thief = secret_key(60 + chance.randrange(20))
    facts = {"key": thief.public.text, "previous": victim.secrets[-1].public.text}
    row = seal("key", START + 10 * victim.size, facts, {}, chance.randbytes)
    rows = [*victim.rows, (row.leaf, row.values)]
    files = lay_out(victim, rows)
    head = Checkpoint(ORIGIN, len(rows), root_of([hash_leaf(leaf) for leaf, _ in rows]))
    note = notes.sign(head.text, [thief], START // 1000 + 9000)
    files |= {"checkpoint": note, "checkpoints": checkpoints.join([*victim.kept, note])}
    files["keys"] = victim.files["keys"] + thief.public.text.encode() + b"\n"
    return files


OUTSIDERS = [
    flip,
    cut,
    pad,
    lose_file,
    swap_files,
    surplus_file,
    delete,
    reorder,
    duplicate,
    insert,
    replace,
    truncate,
    swap_values,
    lose_value,
    change_value,
    add_value,
    unerase,
    lose_signature,
    stale_checkpoint,
    foreign_checkpoint,
    wrong_key,
    retired_key,
    unendorsed_key,
]


def rewrite(victim, chance):
    """The operator rewrites history and signs it again with the right keys; one old checkpoint was kept."""
    kept = chance.choice(victim.kept)
    size = checkpoints.parse(kept)[0].size
    rows = list(victim.rows)
    at = chance.choice([at for at in range(size) if b'"kind":"key"' not in rows[at][0]])
    way = chance.randrange(4)
    forged = call_entry(chance.randrange(10**6), chance)
    if way == 0:
        rows[at] = (forged.leaf, forged.values)
    elif way == 1:
        rows.insert(at, (forged.leaf, forged.values))
    elif way == 2:
        del rows[at]
    else:
        rows[at], rows[at - 1] = rows[at - 1], rows[at]
    return sign_again(victim, rows, lay_out(victim, rows), victim.secrets), kept


def roll_back(victim, chance):
    """A true state of the log from earlier, as if nothing had happened since; a newer checkpoint was kept."""
    size = checkpoints.parse(victim.earlier["checkpoint"])[0].size
    newer = [note for note in victim.kept if checkpoints.parse(note)[0].size > size]
    return dict(victim.earlier), chance.choice(newer)


INSIDERS = [rewrite, roll_back]


def attack(victim, chance):
    """One seeded attack that certainly changes something."""
    inside = chance.random() < 0.2
    act = chance.choice(INSIDERS if inside else OUTSIDERS)
    for _ in range(100):
        if inside:
            files, kept = act(victim, chance)
            return Attack(act.__name__, files, [("mine", kept)], victim.trusted)
        files = act(victim, chance)
        if files != victim.files:
            return Attack(act.__name__, files, [], victim.trusted)
    raise AssertionError(f"{act.__name__} changes nothing")
