"""Are signed notes exchanged with others' implementations, and nothing else believed?"""

import random

import pytest

from assent.audit import notes
from assent.audit.notes import BadKey, BadNote, PublicKey, SecretKey
from assent.audit.verifier import exact_base64
from support.audit import vectors as audit_vectors
from support.audit.logs import secret_key

PETER = PublicKey.parse(audit_vectors.NOTE_KEY)
ENOCH = PublicKey.parse(audit_vectors.NOTE_OTHER_KEY)
BOTH = (audit_vectors.NOTE_TEXT + "\n" + audit_vectors.NOTE_LINE + audit_vectors.NOTE_OTHER_LINE).encode()


def test_the_published_note_is_signed_byte_for_byte():
    key = SecretKey.parse(audit_vectors.NOTE_SECRET)
    assert key.public.text == audit_vectors.NOTE_KEY
    assert key.text == audit_vectors.NOTE_SECRET
    assert (
        notes.sign(audit_vectors.NOTE_TEXT, [key])
        == (audit_vectors.NOTE_TEXT + "\n" + audit_vectors.NOTE_LINE).encode()
    )


def test_the_published_note_is_verified_by_each_of_its_keys():
    note = notes.parse(BOTH)
    assert note.text == audit_vectors.NOTE_TEXT
    assert notes.find_keys(note, [PETER, ENOCH, secret_key().public]) == [PETER, ENOCH]


@pytest.mark.parametrize(
    "data",
    [
        audit_vectors.NOTE_TEXT,
        audit_vectors.NOTE_TEXT + "\n",
        audit_vectors.NOTE_TEXT + "\n" + audit_vectors.NOTE_LINE[:-1],
        "\x01" + audit_vectors.NOTE_TEXT + "\n" + audit_vectors.NOTE_LINE,
        audit_vectors.NOTE_TEXT + "\n" + audit_vectors.NOTE_LINE.replace("PeterNeumann", "Peter Neumann"),
        audit_vectors.NOTE_TEXT + "\n" + audit_vectors.NOTE_LINE + "Unexpected line.\n",
        audit_vectors.NOTE_TEXT + "\n" + audit_vectors.NOTE_LINE.replace("x08go", "x08g_"),
        audit_vectors.NOTE_TEXT + "\n" + audit_vectors.NOTE_LINE * 65,
        audit_vectors.NOTE_TEXT + "\n" + "\u2014 PeterNeumann x08g\n",
        "x" * 70_000 + "\n\n" + audit_vectors.NOTE_LINE,
    ],
)
def test_what_is_not_a_note_is_refused(data):
    with pytest.raises(BadNote):
        notes.parse(data.encode())


def test_bytes_that_are_not_text_are_refused():
    with pytest.raises(BadNote, match="UTF-8"):
        notes.parse(b"\xff" + BOTH)


def test_a_wrong_signature_in_a_known_name_spoils_the_note():
    wrong = BOTH.replace(b"ZJku", b"ZJkv")
    with pytest.raises(BadNote, match="PeterNeumann is wrong"):
        notes.parse(wrong).signed_by(PETER)
    assert notes.parse(wrong).signed_by(ENOCH)


def test_base64_has_only_one_spelling():
    assert exact_base64("AA==") == b"\x00"
    assert exact_base64("AB==") is None
    assert exact_base64("AA=") is None
    assert exact_base64("\u00e9") is None


def test_every_part_and_every_changed_byte_of_a_key_is_refused():
    for text, kind in ((audit_vectors.NOTE_KEY, PublicKey), (audit_vectors.NOTE_SECRET, SecretKey)):
        for at in range(len(text)):
            for wrong in (text[:at], text[at + 1 :], text[:at] + chr(ord(text[at]) + 1) + text[at + 1 :]):
                with pytest.raises(BadKey):
                    kind.parse(wrong)


def test_a_timestamped_signature_says_when():
    key = secret_key()
    note = notes.parse(notes.sign("a\n", [key], 1_764_000_000))
    assert note.signed_by(key.public)
    assert note.stamped_by(key.public) == 1_764_000_000
    assert notes.parse(notes.sign("a\n", [key])).stamped_by(key.public) is None


def test_a_changed_time_is_not_believed():
    key = secret_key()
    data = notes.sign("a\n", [key], 1_764_000_000)
    line = data.decode().splitlines()[-1].split(" ")[2]
    blob = bytearray(exact_base64(line))
    blob[11] ^= 1
    forged = data.replace(line.encode(), notes.base64.b64encode(bytes(blob)))
    with pytest.raises(BadNote, match="timestamped"):
        notes.parse(forged).stamped_by(key.public)


def test_a_generated_key_uses_the_randomness_it_is_given():
    key = SecretKey.generate("log.example/a", random.Random(1).randbytes)
    assert SecretKey.parse(key.text) == key
    assert key.seed == random.Random(1).randbytes(32)
    assert key.seed.hex() not in repr(key)
    assert audit_vectors.NOTE_SECRET.rpartition("+")[2] not in repr(SecretKey.parse(audit_vectors.NOTE_SECRET))


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "\u2003x"])
def test_a_name_with_spaces_or_plus_names_no_key(name):
    with pytest.raises(BadKey):
        SecretKey.generate(name, random.Random(1).randbytes)


def test_text_with_control_characters_is_not_signed():
    for text in ("no newline", "a\tb\n", "a\r\n"):
        with pytest.raises(BadNote):
            notes.sign(text, [secret_key()])


def test_ten_thousand_damaged_notes_are_refused_or_unsigned_and_never_crash():
    chance, key = random.Random(3), secret_key()
    data = notes.sign("log\n12\nabc\n", [key], 1_764_000_000)
    for _ in range(10_000):
        damaged = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        if bytes(damaged) == data:
            continue
        try:
            note = notes.parse(bytes(damaged))
            both = note.signed_by(key.public) and note.stamped_by(key.public) is not None
        except BadNote:
            continue
        assert not both
