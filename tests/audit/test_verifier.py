"""Does the one file, mailed to a stranger, say what is wrong and where?"""

import ast
import json
import re
import shutil
import subprocess
import sys
import zipfile
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest

from assent.audit import bundle, checkpoints, notes, verifier
from assent.audit.bundle import BadBundle, DirectorySink, LogMetadata, ZipSink
from assent.audit.leaf import seal
from assent.audit.signed_log import verify_store
from support.audit.log_parts import redaction
from support.audit.logs import ORIGIN, START, Scene, call_entry, make_scene, secret_key
from support.audit.memory import MemoryEntries, MemorySink

SUBJECTS = "proof|receipt|bundle|entries|entry|tile|checkpoint|key|leaf|values|value|redaction|signature"
FORMAT_PAGE = Path(__file__).parents[2] / "docs" / "audit-format.md"


async def write(scene, sink, **options):
    return await bundle.write_bundle(sink, await scene.metadata(), scene.entries, **options)


def run(path, *arguments):
    """The verifier as a stranger runs it: its own copy, an isolated Python, no package of ours in reach."""
    script = path.parent / "verifier.py"
    shutil.copy(verifier.__file__, script)
    command = [sys.executable, "-I", str(script), str(path), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
async def scene():
    return await make_scene(300, rotations=(120,), erasures=(130,))


async def test_a_directory_and_an_archive_verify_with_the_file_alone(tmp_path, scene):
    assert await write(scene, DirectorySink(tmp_path / "log")) == 300
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as archive:
        await write(scene, ZipSink(archive))
    (tmp_path / "keys").write_text(f"{scene.trusted[0]}\n")
    (tmp_path / "kept").write_bytes(scene.anchored[1])
    for name in ("log", "log.zip"):
        done = run(tmp_path / name, "--key", tmp_path / "keys", "--checkpoint", tmp_path / "kept")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "entries: 300, checkpoints: 12, erased values: 1; nothing is wrong\n"


async def test_what_is_wrong_is_named_with_its_place(tmp_path, scene):
    await write(scene, DirectorySink(tmp_path / "log"))
    path = tmp_path / "log" / "tile" / "0" / "000"
    path.write_bytes(path.read_bytes()[::-1])
    done = run(tmp_path / "log", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["faults"] == [
        {"code": "tile.wrong", "place": "tile/0/000", "detail": "it is not what entries 0 to 255 give"}
    ]
    assert "WRONG  tile/0/000: " in run(tmp_path / "log").stdout


async def test_without_keys_from_elsewhere_the_verifier_says_what_that_means(tmp_path, scene):
    await write(scene, DirectorySink(tmp_path / "log"))
    done = run(tmp_path / "log")
    assert done.returncode == 0
    assert "note   the keys are those of the bundle itself" in done.stdout
    assert scene.trusted[1] in done.stdout


async def test_a_directory_of_kept_checkpoints_is_held_against_the_bundle(tmp_path, scene):
    await write(scene, DirectorySink(tmp_path / "log"))
    anchor = tmp_path / "anchor"
    anchor.mkdir()
    for number, note in enumerate(scene.anchored):
        (anchor / f"{number}.checkpoint").write_bytes(note)
    assert run(tmp_path / "log", "--checkpoint", anchor).returncode == 0
    await scene.grow(5)
    (anchor / "later.checkpoint").write_bytes((await scene.sign()).note)
    done = run(tmp_path / "log", "--checkpoint", anchor)
    assert done.returncode == 1
    assert "it covers 305 entries; here are 300" in done.stdout


@pytest.mark.parametrize("make", ["nothing", "text", "key"])
async def test_what_cannot_be_read_at_all_is_exit_code_2(tmp_path, scene, make):
    await write(scene, DirectorySink(tmp_path / "log"))
    (tmp_path / "text").write_text("no archive, no key\n")
    arguments = {
        "nothing": [tmp_path / "absent"],
        "text": [tmp_path / "text"],
        "key": [tmp_path / "log", "--key", tmp_path / "text"],
    }[make]
    done = run(*arguments)
    assert done.returncode == 2
    assert "could not be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_file_imports_the_standard_library_and_cryptography_only():
    tree = ast.parse(Path(verifier.__file__).read_text("utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in names} <= {*sys.stdlib_module_names, "cryptography"}


async def test_many_faults_are_counted_not_poured_out(scene):
    files = await scene.bundle()
    files["values/000"] = files["values/000"][:4]
    rows = [(leaf, None) for leaf, _ in scene.entries.rows]
    files |= {"values/000": bundle.pack_values([blob for _, blob in rows[:256]])}
    report = verifier.verify(files)
    text = verifier.render(report)
    assert len(text.splitlines()) <= verifier.SHOWN + 4
    assert "x value.missing" in text


async def test_a_bundle_without_values_is_verified_and_says_so(scene):
    sink = MemorySink()
    await write(scene, sink, values=False)
    report = verifier.verify(sink, [], scene.trusted)
    assert report.ok
    assert report.remarks == ["the bundle has no values, so no commitment was checked"]


async def test_a_clock_that_jumps_is_remarked_with_its_entry_and_not_a_fault():
    scene = await Scene().open()
    times = [START, START + 10, START - 3_600_000, START + 20]
    await scene.append(*(call_entry(number, scene.chance, at) for number, at in enumerate(times)))
    await scene.sign(later=-9000)
    files = await scene.bundle()
    expected = [
        "the clock went back by 3600010 ms at entry 2",
        "checkpoint was signed before its last entry says it was written (one of 2)",
    ]
    report = verifier.verify(files, [], scene.trusted)
    assert (report.faults, report.remarks) == ([], expected)


async def test_a_hostile_entry_of_64_kib_is_verified_like_any_other():
    scene = await Scene().open()
    values = {"arguments": {"text": '\u202e\x00"}' * 16_000}}
    await scene.append(seal("intent", START, {"tool": "t"}, values, scene.chance.randbytes))
    await scene.sign()
    files = await scene.bundle()
    assert verifier.verify(files, [], scene.trusted).ok


async def test_kept_checkpoints_may_carry_signatures_of_witnesses(scene):
    files = await scene.bundle()
    stranger = secret_key(77, "witness.example/w")
    head, _ = checkpoints.parse(scene.anchored[-1])
    line = checkpoints.notes.sign(head.text, [stranger], 1).split(b"\n\n")[1]
    witnessed = scene.anchored[-1] + line
    assert verifier.verify(files, [("w", witnessed)], scene.trusted).ok
    files["anchors/directory"] = witnessed
    assert not verifier.verify(files, [], scene.trusted).ok


async def test_an_erasure_that_did_not_happen_and_one_of_nothing_are_named():
    scene = await Scene().open()
    await scene.grow(10)
    index = next(at for at, (_, blob) in enumerate(scene.entries.rows) if blob)
    await scene.append(redaction(index, ["principal"], START + 100, {}, scene.chance.randbytes))
    await scene.append(redaction(50, ["principal"], START + 110, {}, scene.chance.randbytes))
    await scene.sign()
    files = await scene.bundle()
    expected = {("redaction.ineffective", f"entry {index} principal"), ("redaction.baseless", "entry 11")}
    assert {(fault.code, fault.place) for fault in verifier.verify(files).faults} == expected


async def inspected(scene, **options):
    return await verify_store(await scene.metadata(), scene.entries, scene.tiles, **options)


async def test_a_log_is_inspected_where_it_is_kept(scene):
    assert (await inspected(scene, trusted=scene.trusted[:1])).faults == []


async def test_a_store_that_was_rolled_back_altered_or_cut_is_found_out(scene):
    whole = list(scene.entries.rows)
    del scene.entries.rows[290:]
    codes = {fault.code for fault in (await inspected(scene)).faults}
    assert codes == {"checkpoint.beyond"}
    scene.entries.rows = [*whole[:77], whole[78], *whole[78:]]
    found = {(fault.code, fault.place) for fault in (await inspected(scene)).faults}
    assert ("entry.altered", "entry 77") in found
    assert ("checkpoint.inconsistent", "checkpoint") in found


async def test_entries_that_wait_for_their_checkpoint_are_remarked(scene):
    await scene.grow(3)
    report = await inspected(scene)
    assert (report.faults, report.remarks) == ([], ["entries 300 to 302 are not signed yet"])


class Holed(MemoryEntries):
    async def leaves(self, start, stop):
        return [leaf for leaf, _ in self.rows[start:stop]][5:]


async def test_a_store_that_lost_entries_in_the_middle_is_torn(scene):
    scene.entries.__class__ = Holed
    codes = {fault.code for fault in (await inspected(scene)).faults}
    assert "entries.torn" in codes


async def test_a_bundle_is_only_written_of_what_was_signed(tmp_path, scene):
    with pytest.raises(BadBundle, match="nothing is signed"):
        await bundle.write_bundle(MemorySink(), LogMetadata(ORIGIN, [], [], {}), scene.entries)
    scene.entries.rows[3] = scene.entries.rows[4]
    with pytest.raises(BadBundle, match="not those that were signed"):
        await write(scene, MemorySink())
    (tmp_path / "file").write_text("")
    with pytest.raises(BadBundle, match="not empty"):
        DirectorySink(tmp_path)


async def test_equal_logs_give_equal_archives_that_read_back(tmp_path, scene):
    for name in ("one.zip", "two.zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            await write(scene, ZipSink(archive))
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    files = verifier.open_bundle(tmp_path / "one.zip")
    assert dict(files) == await scene.bundle()
    with zipfile.ZipFile(tmp_path / "one.zip", "a") as archive, pytest.warns(UserWarning):
        archive.writestr("keys", "")
    with pytest.raises(ValueError, match="two files of one name"):
        verifier.open_bundle(tmp_path / "one.zip")


async def test_progress_is_told(scene):
    told = []
    await write(scene, MemorySink(), progress=lambda done, total: told.append((done, total)))
    assert told == [(256, 300), (300, 300)]


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"[]",
        b'{"entries":1}',
        b'{"entries":1, "format":"assent-audit-bundle/1","origin":"o","values":true}',
        b'{"entries":-1,"format":"assent-audit-bundle/1","origin":"o","values":true}',
        b'{"entries":true,"format":"assent-audit-bundle/1","origin":"o","values":true}',
        b'{"entries":1,"format":"assent-audit-bundle/2","origin":"o","values":true}',
        b'{"entries":1,"format":"assent-audit-bundle/1","origin":7,"values":true}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_files_that_are_no_bundle_are_refused(data):
    files = {} if data is None else {"bundle.json": data}
    assert [fault.code for fault in verifier.verify(files).faults] == ["bundle.malformed"]


async def test_a_bundle_that_claims_a_trillion_entries_is_answered_at_once(scene):
    files = await scene.bundle()
    files["bundle.json"] = files["bundle.json"].replace(b":300,", b":1000000000000,")
    assert "entries.missing" in {fault.code for fault in verifier.verify(files).faults}


def test_every_code_is_explained_and_every_explained_code_exists():
    explained = set(re.findall(rf"`((?:{SUBJECTS})\.[a-z]+)`", FORMAT_PAGE.read_text("utf-8")))
    text = Path(verifier.__file__).read_text("utf-8").replace('f"{what}.', '"entries.')
    assert set(re.findall(rf'"((?:{SUBJECTS})\.[a-z]+)"', text)) <= explained
    used = set(re.findall(r'"([a-z]+\.[a-z]+)"', Path(verifier.__file__).read_text("utf-8")))
    assert explained - used == {"entries.missing", "entries.torn", "values.missing", "values.torn"}


def proof_codes(proof, leaf, trusted):
    return [fault.code for fault in verifier.verify_proof(proof, leaf, trusted).faults]


def cut_short(proof):
    head, _, note = proof.partition(b"\n\n")
    return head.rpartition(b"\n")[0] + b"\n\n" + note


PROOFS = {
    "another index": (lambda proof: proof.replace(b"index 7\n", b"index 6\n"), "proof.wrong"),
    "an index beyond the log": (lambda proof: proof.replace(b"index 7\n", b"index 99999\n"), "proof.wrong"),
    "a hash less": (cut_short, "proof.wrong"),
    "a hash more": (lambda proof: proof.replace(b"\n\n", b"\n%b\n\n" % b64encode(bytes(32)), 1), "proof.wrong"),
    "half a hash": (lambda proof: proof.replace(b"\n\n", b"\nAAAA\n\n", 1), "proof.malformed"),
    "no index": (lambda proof: proof.replace(b"index 7\n", b""), "proof.malformed"),
    "an index with a zero": (lambda proof: proof.replace(b"index 7\n", b"index 07\n"), "proof.malformed"),
    "another format": (lambda proof: proof.replace(b"@v1", b"@v2"), "proof.malformed"),
    "no checkpoint": (lambda proof: proof.partition(b"\n\n")[0], "proof.malformed"),
    "another size": (lambda proof: proof.replace(b"\n300\n", b"\n299\n"), "checkpoint.unsigned"),
    "nothing": (lambda proof: b"", "proof.malformed"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "code"), PROOFS.values(), ids=PROOFS.keys())
async def test_a_proof_that_was_altered_is_refused(scene, change, code):
    proof = change((await scene.log.prove_inclusion(7)).encode())
    leaf = scene.entries.rows[7][0]
    assert code in {fault.code for fault in verifier.verify_proof(proof, leaf, scene.trusted).faults}


async def test_a_proof_is_of_its_leaf_and_of_a_key_that_is_trusted(scene):
    stranger = [secret_key(9).public.text, secret_key(0, "elsewhere").public.text]
    for index in (0, 7, 255, 256, 299):
        proof, leaf = (await scene.log.prove_inclusion(index)).encode(), scene.entries.rows[index][0]
        assert proof_codes(proof, leaf, scene.trusted) == []
        assert proof_codes(proof, leaf + b" ", scene.trusted) == ["proof.wrong"]
        assert proof_codes(proof, leaf, stranger) == ["checkpoint.unsigned"]


async def test_a_proof_of_the_only_entry_proves_no_second_one():
    scene = await make_scene(1)
    proof, leaf = (await scene.log.prove_inclusion(0)).encode(), scene.entries.rows[0][0]
    assert verifier.verify_proof(proof, leaf, scene.trusted).ok
    moved = verifier.verify_proof(proof.replace(b"index 0\n", b"index 1\n"), leaf, scene.trusted)
    assert [(one.code, one.place) for one in moved.faults] == [("proof.wrong", "entry 1")]


async def test_a_key_that_is_trusted_for_another_log_does_not_vouch_for_this_one(scene):
    proof, leaf = await scene.log.prove_inclusion(7), scene.entries.rows[7][0]
    other = secret_key(5, "elsewhere")
    signed = replace(proof, checkpoint=notes.sign(scene.log.latest.text, [other], START // 1000)).encode()
    assert proof_codes(signed, leaf, [other.public.text]) == ["checkpoint.unsigned"]


async def test_a_stranger_checks_the_proof_of_one_entry_with_the_one_file(tmp_path, scene):
    proof = await scene.log.prove_inclusion(7)
    (tmp_path / "one.tlog-proof").write_bytes(proof.encode())
    assert "could not be read" in run(tmp_path / "one.tlog-proof", "--key", tmp_path / "keys").stderr
    (tmp_path / "one.leaf").write_bytes(scene.entries.rows[7][0])
    (tmp_path / "keys").write_text("\n".join(scene.trusted))
    done = run(tmp_path / "one.tlog-proof", "--key", tmp_path / "keys")
    assert (done.returncode, "nothing is wrong" in done.stdout) == (0, True)
    assert "--key" in run(tmp_path / "one.tlog-proof").stderr
    (tmp_path / "one.leaf").write_bytes(scene.entries.rows[8][0])
    assert run(tmp_path / "one.tlog-proof", "--key", tmp_path / "keys").returncode == 1
