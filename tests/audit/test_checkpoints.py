"""Is a checkpoint what tlog-checkpoint says, and is nothing signed that contradicts an earlier one?"""

from base64 import b64encode

import pytest

from assent.audit import checkpoints, notes
from assent.audit.checkpoints import BadCheckpoint, Checkpoint, Inconsistent, Proof, issue
from assent.audit.merkle import (
    consistency_ranges,
    hash_leaf,
    hash_ranges,
    inclusion_ranges,
)
from assent.audit.notes import BadNote, PublicKey, SecretKey
from assent.audit.verifier import split_checkpoints, verify_proof
from support.audit import vectors as audit_vectors
from support.audit.log_parts import reader_of
from support.audit.logs import ORIGIN, secret_key
from support.audit.memory import root_of

ROW = [hash_leaf(b"%d" % number) for number in range(20)]
NOW = 1_764_000_000


def head(size, row=ROW, origin=ORIGIN):
    return Checkpoint(origin, size, root_of(row[:size]))


def grown(old, new, row=ROW):
    return hash_ranges(consistency_ranges(old, new), reader_of(row))


def test_the_published_checkpoint_of_a_checksum_database_is_read_and_signed_byte_for_byte():
    key = PublicKey.parse(audit_vectors.SUMDB_KEY)
    opened = checkpoints.open_checkpoint(audit_vectors.SUMDB_SIX.encode(), "go.sum database tree", [key])
    assert opened.size == 6
    assert notes.sign(opened.text, [SecretKey.parse(audit_vectors.SUMDB_SECRET)]).decode() == audit_vectors.SUMDB_SIX


def test_a_checkpoint_is_origin_size_and_root_signed_twice():
    signed = issue(None, head(5), [], [secret_key()], NOW)
    lines = signed.note.decode().split("\n")
    assert lines[:4] == [ORIGIN, "5", b64encode(root_of(ROW[:5])).decode(), ""]
    assert all(line.startswith(f"\u2014 {ORIGIN} ") for line in lines[4:6])
    assert checkpoints.open_checkpoint(signed.note, ORIGIN, [secret_key().public]) == signed


def test_a_log_that_grew_is_signed():
    first = issue(None, head(5), [], [secret_key()], NOW)
    second = issue(first, head(13), grown(5, 13), [secret_key()], NOW)
    assert issue(second, head(13), [], [secret_key()], NOW + 60).size == 13


def test_nothing_is_signed_that_contradicts_the_checkpoint_before():
    first = issue(None, head(13), [], [secret_key()], NOW)
    other = [hash_leaf(b"other %d" % number) for number in range(20)]
    for new, proof in (
        (head(5), []),
        (head(13, other), []),
        (head(20, other), grown(13, 20, other)),
        (head(20), grown(12, 20)),
        (head(20), []),
        (head(20, origin="audit.example/other"), grown(13, 20)),
    ):
        with pytest.raises(Inconsistent):
            issue(first, new, proof, [secret_key()], NOW)


def test_a_log_does_not_take_another_name_not_even_with_a_key_of_that_name():
    first, other = issue(None, head(13), [], [secret_key()], NOW), "audit.example/other"
    with pytest.raises(Inconsistent, match="cannot become"):
        issue(first, head(20, origin=other), grown(13, 20), [secret_key(name=other)], NOW)


def test_only_a_key_of_the_logs_name_signs_it():
    for signers in ([], [secret_key(name="other")]):
        with pytest.raises(Inconsistent, match="key of that name"):
            issue(None, head(5), [], signers, NOW)


@pytest.mark.parametrize(
    "text",
    [
        "a\n1\n",
        "\n1\n" + "A" * 43 + "=\n",
        "a\n01\n" + "A" * 43 + "=\n",
        "a\n-1\n" + "A" * 43 + "=\n",
        "a\n1\nAAAA\n",
        "a\n1\n" + "A" * 42 + "B=\n",
        "a\n1\n" + "A" * 43 + "=\nextension\n",
        "a\n99999999999999999999\n" + "A" * 43 + "=\n",
    ],
)
def test_a_note_that_is_no_checkpoint_is_refused(text):
    with pytest.raises(BadCheckpoint):
        checkpoints.parse(notes.sign(text, [secret_key()]))


def test_a_checkpoint_of_another_log_or_key_is_refused():
    signed = issue(None, head(5), [], [secret_key()], NOW)
    with pytest.raises(BadCheckpoint, match=r"of audit\.example/acme, not of other"):
        checkpoints.open_checkpoint(signed.note, "other", [secret_key().public])
    with pytest.raises(BadCheckpoint, match="no known key"):
        checkpoints.open_checkpoint(signed.note, ORIGIN, [secret_key(1).public])


def test_checkpoints_in_one_text_are_told_apart():
    signed = [issue(None, head(size), [], [secret_key()], NOW).note for size in range(4)]
    for count in range(5):
        assert split_checkpoints(checkpoints.join(signed[:count])) == signed[:count]
    broken = split_checkpoints(checkpoints.join(signed)[:-40])
    assert broken[:3] == signed[:3]
    with pytest.raises(BadNote):
        checkpoints.parse(broken[3])


def proof(index=7, size=20):
    signed = issue(None, head(size), [], [secret_key()], NOW)
    path = hash_ranges(inclusion_ranges(index, size), reader_of(ROW))
    return Proof(index, tuple(path), signed.note)


def codes(proof, leaf):
    return [fault.code for fault in verify_proof(proof.encode(), leaf, [secret_key().public.text]).faults]


def test_a_proof_file_proves_its_entry_to_somebody_with_the_key_alone():
    assert proof().encode().startswith(b"c2sp.org/tlog-proof@v1\nindex 7\n")
    assert codes(proof(), b"7") == []
    assert codes(Proof(7, proof().path, proof().checkpoint, b"for you"), b"7") == []


def test_a_proof_does_not_prove_another_entry():
    for leaf, index in ((b"8", 7), (b"7", 8)):
        assert codes(Proof(index, proof().path, proof().checkpoint), leaf) == ["proof.wrong"]
