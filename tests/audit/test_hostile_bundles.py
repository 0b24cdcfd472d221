"""Does the verifier name what is wrong with bundles made to confuse, stop or exhaust it?"""

import base64
import os
import zipfile

import pytest

from assent.audit import bundle, checkpoints, notes, verifier
from assent.audit.bundle import head_bytes
from support.audit.adversary import lay_out, make_victim, sign_again
from support.audit.logs import ORIGIN, START

AT = b'{"at":1764000000500,'
LEAVES = {
    "a time of 5000 digits": b'{"at":' + b"9" * 5000 + b',"commitments":{},"facts":{},"kind":"operator","v":1}',
    "a time before 1970": b'{"at":-5,"commitments":{},"facts":{},"kind":"operator","v":1}',
    "no facts": AT + b'"commitments":{},"facts":{GARBAGE',
    "no beginning": b'XXXXXX1764000000000,"commitments":{},"facts":{},"kind":"operator","v":1}',
    "another version": AT + b'"commitments":{"a":"xx"},"facts":{},"kind":"operator","v":2}',
    "a field that is none": AT + b'"commitments":{"a\\u001b":"x"},"facts":{},"kind":"operator","v":1}',
    "spaces": AT + b'"commitments":{},"facts":{"entry":0,"fields":["tenant"]}, "kind":"redaction","v":1}',
    "a fact twice": AT + b'"commitments":{},"facts":{"entry":9,"entry":0,"fields":["a"]},"kind":"redaction","v":1}',
    "an outcome with a fact twice": AT + b'"commitments":{},"facts":{"claim":"c1","state":"failed","state":"succeeded"}'
    + b',"kind":"outcome","v":1}',
    "facts in another order": AT + b'"commitments":{},"facts":{"claim":"c1","tool":"t","tier":"read"}'
    + b',"kind":"outcome","v":1}',
    "a fact before the claim": AT + b'"commitments":{},"facts":{"tool":"t","claim":"c1"},"kind":"outcome","v":1}',
    "two claims": AT + b'"commitments":{},"facts":{"claim":"c1","claim":"c2"},"kind":"outcome","v":1}',
    "a free text": AT + b'"commitments":{},"facts":{"entry":0,"fields":["a"],"x":"a b"},"kind":"redaction","v":1}',
    "deep lists": AT + b'"commitments":{},"facts":{"entry":0,"fields":['
    + b"[" * 900 + b"]" * 900 + b']},"kind":"redaction","v":1}',
    "a deep key": AT + b'"commitments":{},"facts":{"key":' + b"[" * 900 + b"]" * 900 + b'},"kind":"key","v":1}',
}  # fmt: skip
HEADS = {
    "more than a number can say": b"1152921504606846976",
    "far more": b"1" + b"0" * 30,
    "more digits than are read": b"1" + b"0" * 5000,
    "less than nothing": b"-1",
    "not a number": b"NaN",
}


@pytest.fixture
async def victim():
    return await make_victim(40, rotations=(12,), erasures=(20,))


def faults_of(files, kept=(), trusted=()):
    return {(fault.code, fault.place) for fault in verifier.verify(files, kept, trusted).faults}


def signed_with(victim, leaf, blob=None):
    rows = [*victim.rows, (leaf, blob)]
    return sign_again(victim, rows, lay_out(victim, rows), victim.secrets)


@pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES.keys())
@pytest.mark.parametrize("values", [True, False], ids=["with values", "without values"])
async def test_a_signed_leaf_that_is_no_entry_is_named(victim, leaf, values):
    files = signed_with(victim, leaf)
    if not values:
        files = {name: data for name, data in files.items() if not name.startswith("values/")}
        files["bundle.json"] = head_bytes(victim.size + 1, ORIGIN, False)
    assert faults_of(files, (), victim.trusted) == {("leaf.malformed", f"entry {victim.size}")}


async def test_a_value_cannot_stand_for_two_commitments(victim):
    salt, digest = bytes(16), base64.b64encode(bytes(32))
    name = b'x":"' + digest + b'","y'
    record = salt + bytes([len(name)]) + name + b"1"
    again = base64.b64encode(verifier.sha256(verifier.COMMITMENT + record).digest())
    leaf = AT + b'"commitments":{"x":"%b","y":"%b"},"facts":{},"kind":"operator","v":1}' % (digest, again)
    said = faults_of(signed_with(victim, leaf, len(record).to_bytes(4, "big") + record), (), victim.trusted)
    assert {("value.missing", f"entry {victim.size} {field}") for field in "xy"} <= said


@pytest.mark.parametrize("size", HEADS.values(), ids=HEADS.keys())
async def test_a_bundle_of_an_impossible_size_is_no_bundle(victim, size):
    head = b'{"entries":%b,"format":"assent-audit-bundle/1","origin":"audit.example/acme","values":true}' % size
    assert faults_of({**victim.files, "bundle.json": head}) == {("bundle.malformed", "bundle.json")}


async def test_an_origin_that_is_no_text_is_no_bundle(victim):
    head = b'{"entries":41,"format":"assent-audit-bundle/1","origin":"\\ud800","values":true}'
    assert faults_of({**victim.files, "bundle.json": head}) == {("bundle.malformed", "bundle.json")}


async def test_a_size_in_other_digits_is_no_checkpoint(victim):
    root = base64.b64encode(checkpoints.parse(victim.newest)[0].root).decode()
    note = notes.sign(f"{ORIGIN}\n4\u0661\n{root}\n", [victim.secrets[-1]], START // 1000)
    assert faults_of(victim.files, [("mine", note)]) == {("checkpoint.malformed", "kept mine")}


async def test_a_note_longer_than_notes_are_is_refused(victim):
    strange = base64.b64encode(bytes(3000)).decode()
    note = victim.newest + "".join(f"\u2014 witness{at} {strange}\n" for at in range(20)).encode()
    assert faults_of(victim.files, [("mine", note)]) == {("checkpoint.malformed", "kept mine")}


def archive(path, files, **more):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in {**files, **more}.items():
            made.writestr(name, data)
    return path


def ends_with_2(path, capsys):
    assert verifier.main([str(path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def encrypt(path):
    """Says of the first file that it is encrypted, in its own head and in the directory."""
    data = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + flags] |= 1
    path.write_bytes(data)


def compress_oddly(path):
    data = bytearray(path.read_bytes())
    for mark, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(mark) + method] = 97
    path.write_bytes(data)


@pytest.mark.parametrize("harm", [encrypt, compress_oddly])
async def test_an_archive_that_cannot_be_unpacked_is_said_to_be_none(victim, tmp_path, capsys, harm):
    path = archive(tmp_path / "b.zip", {"bundle.json": b"{}" * 50, **victim.files})
    harm(path)
    assert "cannot be unpacked" in ends_with_2(path, capsys)


async def test_a_file_of_any_other_kind_is_said_to_be_none(tmp_path, capsys):
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 and so on")
    ends_with_2(tmp_path / "b.zip", capsys)


@pytest.mark.parametrize("packed", [True, False])
async def test_a_file_too_large_for_a_bundle_is_not_read(victim, tmp_path, capsys, monkeypatch, packed):
    monkeypatch.setattr(verifier, "FILE_LIMIT", 100_000)
    files = {**victim.files, "keys": bytes(100_001)}
    if packed:
        path = archive(tmp_path / "b.zip", files)
    else:
        path = tmp_path
        sink = bundle.DirectorySink(path)
        for name, data in files.items():
            sink.put(name, data)
    assert "more than 100000 bytes" in ends_with_2(path, capsys)


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
async def test_a_link_or_a_pipe_in_a_bundle_is_not_followed(victim, tmp_path, capsys, make):
    sink = bundle.DirectorySink(tmp_path)
    for name, data in victim.files.items():
        sink.put(name, data)
    (tmp_path / "keys").unlink()
    make(tmp_path / "keys")
    assert "is not a regular file" in ends_with_2(tmp_path, capsys)


async def test_names_in_a_bundle_cannot_write_the_verdict(victim, tmp_path, capsys):
    forged = "tile/\x1b[2J\nentries: 41, checkpoints: 9, erased values: 0; nothing is wrong\u202e\x9b2K"
    path = archive(tmp_path / "b.zip", victim.files, **{forged: b""})
    assert verifier.main([str(path)]) == 1
    said = capsys.readouterr().out
    assert said.replace("\n", "").isprintable() and said.isascii()
    assert next(line for line in said.splitlines() if line.startswith("entries:")).endswith("1 thing is wrong")


async def test_many_keys_and_many_checkpoints_are_not_multiplied(victim):
    """Each checkpoint is held against the keys it names, not against all."""
    calls = 0

    class Counted(verifier.Key):
        def key_id(self, kind):
            nonlocal calls
            calls += 1
            return super().key_id(kind)

    chain = [(at, Counted(ORIGIN, at.to_bytes(32, "big"), f"key {at}")) for at in range(300)]
    found = [verifier.parse_checkpoint(f"checkpoints #{at}", victim.newest) for at in range(300)]
    walk = verifier.LogWalk(victim.size, True, [], verifier.LogReport())
    verifier.check_checkpoints(found, walk, chain, ORIGIN, walk.report)
    assert calls < 10 * 300


@pytest.mark.parametrize("how", ["torn", "missing"])
async def test_entries_that_cannot_be_read_do_not_make_signatures_wrong(victim, how):
    path = f"tile/entries/000.p/{victim.size}"
    files = {name: data for name, data in victim.files.items() if name != path}
    if how == "torn":
        files[path] = victim.files[path][:-1]
    assert faults_of(files, (), victim.trusted) == {(f"entries.{how}", path)}
    files["keys"] = victim.files["keys"].split(b"\n")[0] + b"\n"
    assert ("checkpoint.unsigned", "checkpoint") in faults_of(files, (), victim.trusted)


@pytest.mark.parametrize("size", [0, 1, 16, 17])
async def test_a_value_too_short_to_be_one_is_torn(victim, size):
    leaf = AT + b'"commitments":{},"facts":{},"kind":"operator","v":1}'
    files = signed_with(victim, leaf, size.to_bytes(4, "big") + bytes(size))
    assert faults_of(files, (), victim.trusted) == {("value.torn", f"entry {victim.size}")}


async def test_names_that_begin_with_a_dot_are_those_of_the_bundle_and_none_is_there_twice(victim, tmp_path, capsys):
    dotted = {f"./{name}": data for name, data in victim.files.items()}
    files = verifier.open_bundle(archive(tmp_path / "b.zip", dotted))
    assert sorted(files) == sorted(victim.files) and verifier.verify(files).ok
    name, data = next(iter(victim.files.items()))
    assert "two files of one name" in ends_with_2(archive(tmp_path / "c.zip", {**dotted, name: data}), capsys)
