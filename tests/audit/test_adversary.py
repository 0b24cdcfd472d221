"""Is every tampering found, and no clean log accused?"""

import random
from collections import Counter

import pytest

from assent.audit import verifier
from assent.audit.signed_log import verify_store
from support.audit.adversary import INSIDERS, OUTSIDERS, attack, make_victim
from support.audit.logs import Scene, make_scene
from support.suite.soak import rounds

ROUNDS, TORTURE_ROUNDS, SEED = 10_000, 1_000_000, 6962
VICTIMS = [  # how often, size, rotations, erasures
    (30, 9, (), ()),
    (30, 23, (11,), (15,)),
    (25, 40, (12, 30), (20, 35)),
    (8, 258, (100,), (90, 200)),
    (4, 301, (270,), (280,)),
    (2, 530, (300, 520), (10, 400)),
]


async def make_victims():
    made = [await make_victim(size, rotations=turns, erasures=gone) for _, size, turns, gone in VICTIMS]
    return made, [weight for weight, *_ in VICTIMS]


def faults_of(report):
    return {(fault.code, fault.place) for fault in report.faults}


async def test_ten_thousand_attacks_are_all_found(told):
    made, weights = await make_victims()
    chance = random.Random(SEED)
    used = Counter()
    for number in range(rounds(ROUNDS, TORTURE_ROUNDS)):
        case = attack(chance.choices(made, weights)[0], chance)
        assert not verifier.verify(case.files, case.kept, case.trusted).ok, f"attack {number}: {case.name}"
        used[case.name] += 1
    assert used.keys() == {act.__name__ for act in (*OUTSIDERS, *INSIDERS)}
    told(f"attacks on the audit log, all found: {sum(used.values())} of {len(used)} kinds")


@pytest.mark.parametrize("size", [*range(1, 34), 255, 256, 257, 511, 512, 513, 770])
async def test_a_clean_log_of_any_size_is_not_accused(size):
    scene = await make_scene(size, rotations=(size // 3,), erasures=(size // 2,), seed=size)
    files, kept = await scene.bundle(), [("kept", note) for note in scene.anchored]
    for trusted in [[text] for text in scene.trusted] + [[]]:
        assert faults_of(verifier.verify(files, kept, trusted)) == set()
        assert faults_of(await verify_store(await scene.metadata(), scene.entries, scene.tiles, kept, trusted)) == set()


async def test_an_empty_log_is_not_accused():
    scene = await Scene().open()
    await scene.sign()
    files = await scene.bundle()
    assert verifier.verify(files, [], scene.trusted).ok


async def test_whoever_holds_the_keys_is_betrayed_by_the_kept_checkpoint_and_by_nothing_else():
    """Otherwise the attacks of insiders would be found for being clumsy, and would show nothing."""
    victim = await make_victim(40)
    chance = random.Random(1)
    for act in INSIDERS:
        for _ in range(20):
            files, kept = act(victim, chance)
            assert verifier.verify(files, [], victim.trusted).ok
            found = verifier.verify(files, [("mine", kept)], victim.trusted).faults
            assert {fault.place for fault in found} == {"kept mine"}
