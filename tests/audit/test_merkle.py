"""Does the tree hash, prove and verify as RFC 6962 says?"""

from base64 import b64decode
from hashlib import sha256

import pytest

from assent.audit.merkle import (
    EMPTY_ROOT,
    BadProof,
    complete_root,
    consistency_ranges,
    fold,
    hash_leaf,
    hash_pair,
    hash_ranges,
    inclusion_ranges,
    peaks,
    verify_consistency,
    verify_inclusion,
)
from support.audit import vectors as audit_vectors
from support.audit.log_parts import reader_of
from support.audit.memory import root_of

LIMIT = 300
ROW = [hash_leaf(b"leaf %d" % n) for n in range(LIMIT)]


class Naive:
    """The recursive definitions of RFC 6962, section 2.1, remembered between calls."""

    def __init__(self, row):
        self.row, self.known = row, {}

    def root(self, start, stop):
        if (start, stop) not in self.known:
            self.known[start, stop] = self._root(start, stop)
        return self.known[start, stop]

    def _root(self, start, stop):
        if stop - start == 1:
            return self.row[start]
        middle = start + _largest_power_below(stop - start)
        return sha256(b"\x01" + self.root(start, middle) + self.root(middle, stop)).digest()

    def path(self, index, start, stop):
        if stop - start == 1:
            return []
        middle = start + _largest_power_below(stop - start)
        if index < middle:
            return [*self.path(index, start, middle), self.root(middle, stop)]
        return [*self.path(index, middle, stop), self.root(start, middle)]

    def proof(self, old, start, stop, whole):
        if old == stop:
            return [] if whole else [self.root(start, stop)]
        middle = start + _largest_power_below(stop - start)
        if old <= middle:
            return [*self.proof(old, start, middle, whole), self.root(middle, stop)]
        return [*self.proof(old, middle, stop, False), self.root(start, middle)]


def _largest_power_below(number):
    power = 1
    while power * 2 < number:
        power *= 2
    return power


NAIVE = Naive(ROW)


def read(node):
    height, position = node
    return NAIVE.root(position << height, (position + 1) << height)


def test_every_consistency_proof_up_to_300_equals_the_naive_one_and_verifies():
    for new in range(1, LIMIT + 1):
        for old in range(1, new + 1):
            proof = hash_ranges(consistency_ranges(old, new), read)
            assert proof == NAIVE.proof(old, 0, new, True)
            verify_consistency(old, new, NAIVE.root(0, old), NAIVE.root(0, new), proof)


def test_every_inclusion_proof_up_to_300_equals_the_naive_one_and_verifies():
    for size in [*range(1, 70), 127, 128, 129, 255, 256, 257, 299, 300]:
        for index in range(size):
            proof = hash_ranges(inclusion_ranges(index, size), read)
            assert proof == NAIVE.path(index, 0, size)
            verify_inclusion(index, size, ROW[index], proof, NAIVE.root(0, size))


def test_an_altered_consistency_proof_is_refused():
    for old, new in [(1, 2), (3, 7), (6, 8), (7, 8), (64, 200), (129, 300), (255, 256)]:
        proof = hash_ranges(consistency_ranges(old, new), read)
        old_root, new_root = NAIVE.root(0, old), NAIVE.root(0, new)
        for position in range(len(proof)):
            flipped = [
                *proof[:position],
                bytes([proof[position][0] ^ 16]) + proof[position][1:],
                *proof[position + 1 :],
            ]
            _refused(old, new, old_root, new_root, flipped)
        for wrong in (proof[:-1], proof[1:], [*proof, old_root], [new_root, *proof], []):
            _refused(old, new, old_root, new_root, wrong)
        for shifted in ((old - 1, new), (old + 1, new), (old, new * 2)):
            _refused(*shifted, old_root, new_root, proof)
        _refused(old, new, new_root, old_root, proof)
        _refused(old, new, b"short", new_root, proof)


def _refused(old, new, old_root, new_root, proof):
    with pytest.raises(BadProof):
        verify_consistency(old, new, old_root, new_root, proof)


def test_an_altered_inclusion_proof_is_refused():
    for index, size in [(0, 2), (2, 3), (5, 8), (255, 300), (299, 300)]:
        proof = hash_ranges(inclusion_ranges(index, size), read)
        root = NAIVE.root(0, size)
        for wrong in (proof[:-1], [*proof, root], [root, *proof], [b"short", *proof[1:]]):
            with pytest.raises(BadProof):
                verify_inclusion(index, size, ROW[index], wrong, root)
        with pytest.raises(BadProof):
            verify_inclusion(index ^ 1, size + 1, ROW[index], proof, root)
        with pytest.raises(BadProof):
            verify_inclusion(index, size, ROW[index], proof, EMPTY_ROOT)


def test_trivial_consistency_is_checked_too():
    root = NAIVE.root(0, 5)
    verify_consistency(0, 5, EMPTY_ROOT, root, [])
    verify_consistency(5, 5, root, root, [])
    for old, new, old_root, new_root, proof in [
        (0, 5, root, root, []),
        (5, 5, root, EMPTY_ROOT, []),
        (5, 5, root, root, [root]),
        (6, 5, root, root, []),
        (-1, 5, root, root, []),
    ]:
        _refused(old, new, old_root, new_root, proof)


def test_proofs_about_entries_that_are_not_there_are_refused():
    for index, size in [(5, 5), (-1, 5), (0, 0)]:
        with pytest.raises(BadProof):
            inclusion_ranges(index, size)
    with pytest.raises(BadProof):
        consistency_ranges(6, 5)


def test_the_published_tree_is_reproduced():
    row = [hash_leaf(leaf) for leaf in audit_vectors.LEAVES]
    assert [root_of(row[:size]) for size in range(9)] == audit_vectors.ROOTS
    for (index, size), path in audit_vectors.INCLUSION.items():
        proof = hash_ranges(inclusion_ranges(index, size), reader_of(row))
        assert [item.hex() for item in proof] == path
        verify_inclusion(index, size, row[index], proof, audit_vectors.ROOTS[size])
    for (old, new), path in audit_vectors.CONSISTENCY.items():
        proof = hash_ranges(consistency_ranges(old, new), reader_of(row))
        assert [item.hex() for item in proof] == path
        verify_consistency(old, new, audit_vectors.ROOTS[old], audit_vectors.ROOTS[new], proof)


def test_the_published_hashes_of_a_leaf_and_a_node_are_reproduced():
    assert hash_leaf(b"L123456").hex() == "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56"
    assert hash_pair(b"N123", b"N456").hex() == ("aa217fe888e47007fa15edab33c2b492a722cb106c64667fc2b044444de66bbb")


def test_a_proof_of_a_public_log_of_a_billion_certificates_verifies():
    proof = [b64decode(item) for item in audit_vectors.ARGON_CONSISTENCY]
    old_root, new_root = b64decode(audit_vectors.ARGON_OLD_ROOT), b64decode(audit_vectors.ARGON_ROOT)
    verify_consistency(audit_vectors.ARGON_OLD, audit_vectors.ARGON_SIZE, old_root, new_root, proof)
    assert len(consistency_ranges(audit_vectors.ARGON_OLD, audit_vectors.ARGON_SIZE)) == len(proof)
    _refused(audit_vectors.ARGON_OLD - 1, audit_vectors.ARGON_SIZE, old_root, new_root, proof)


def test_a_log_is_the_fold_of_its_complete_subtrees():
    assert peaks(0, 6) == [(2, 0), (1, 2)]
    assert peaks(4, 7) == [(1, 2), (0, 6)]
    assert fold([complete_root(ROW[:256]), complete_root(ROW[256:288])]) == NAIVE.root(0, 288)
