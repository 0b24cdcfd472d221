"""Can a person read the log, prove it, erase from it, and find out that somebody altered it?"""

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
import time
from base64 import b64decode, urlsafe_b64encode
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from assent.audit import verifier
from assent.audit.checkpoints import parse
from assent.audit.log_directory import KeyFile
from assent.audit.merkle import verify_consistency
from assent.audit.verifier import verify_proof
from assent.cli import cli
from assent.core.audit import Entry
from assent.core.outcome import Answer
from assent.errors import SettingsError
from assent.stores import SqliteStore
from assent.testing.world import AGENT, World

CANARY = "canary-argument"
SECRET = "canary-one-time-secret"
CONTRACTS = {
    "orders.place": {
        "title": "Place an order",
        "description": "Places an order.",
        "side_effect": "write",
        "activity": "Ordered {item} for {to.name}",
        "secrets": ["/token"],
    },
    "orders.list": {"title": "List orders", "description": "Lists orders.", "side_effect": "read"},
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A store in which three orders were placed, one list was read, and one unknown tool was asked for."""

    async def fill() -> None:
        store = SqliteStore(tmp_path / "assent.db")
        world = World(CONTRACTS, {"orders.place": lambda arguments: {"ok": True, "token": SECRET}}, store=store)
        for number in range(3):
            arguments = {"item": f"{CANARY} {number}", "to": {"name": "Ann"}}
            assert isinstance(await world.call("orders.place", arguments, key=f"key-{number}"), Answer)
        await world.call("orders.list", {}, by=AGENT)
        await world.call("orders.burn", {}, by=AGENT)
        await store.close()

    asyncio.run(fill())
    contracts = tmp_path / "contracts.yaml"
    contracts.write_text(json.dumps({"tools": CONTRACTS}))
    path = tmp_path / "assent.yaml"
    anchors = "audit: {anchors: [{directory: elsewhere}]}"
    path.write_text(f"store: sqlite:///assent.db\ncontracts: [contracts.yaml]\n{anchors}\n")
    return path


def run(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["audit", *arguments, "-c", str(config)], standalone_mode=False)


def sql(config: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(config.parent / "assent.db")) as connection, connection:
        return connection.execute(statement, values).fetchall()


def verified(config: Path) -> str:
    result = run(config, "verify")
    assert result.return_value is None and not result.exception, result.output
    return result.output


def found_wrong(config: Path, *arguments: str) -> str:
    result = run(config, "verify", *arguments)
    assert result.return_value == 1 or getattr(result.exception, "exit_code", 0) == 1, result.output
    return result.output


def stranger(bundle: Path) -> subprocess.CompletedProcess[str]:
    """The one file in an isolated Python, as an auditor runs it."""
    script = bundle.parent / "verifier.py"
    shutil.copy(verifier.__file__, script)
    return subprocess.run([sys.executable, "-I", str(script), str(bundle)], capture_output=True, text=True, timeout=60)


def test_a_log_that_nobody_touched_verifies_and_says_how_long_it_is(config: Path) -> None:
    assert "8 entries" in verified(config)
    assert "no problems found" in verified(config)


def test_the_store_is_named_by_the_command_and_in_its_answer(config: Path) -> None:
    url, place = f"sqlite:///{config.parent}/assent.db", str(config.parent / "assent.db")

    def verify(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["audit", "verify", "--store", url, *arguments])

    before = verify()
    assert isinstance(before.exception, SettingsError) and not list(config.parent.glob(".assent"))
    assert "are not beside it" in str(before.exception) and "-c FILE" in str(before.exception)
    assert f"{place}: 8 entries" in verified(config)
    assert f"{place}: 8 entries, 2 checkpoints: no problems found" in verify().output
    assert json.loads(verify("--format", "json").output)["log"] == place
    sql(config, "DELETE FROM audit_entries WHERE idx = (SELECT max(idx) FROM audit_entries)")
    assert verify().exit_code == 1


@pytest.mark.parametrize("signed", [True, False], ids=["all of it signed", "with entries since"])
def test_a_flipped_byte_in_a_leaf_is_found_and_named(config: Path, signed: bool) -> None:
    verified(config)
    if not signed:
        append_notes(config, 3)
    leaf = bytearray(sql(config, "SELECT leaf FROM audit_entries WHERE idx = 2")[0][0])  # type: ignore[call-overload]
    place = leaf.index(b"orders.place") + 3
    leaf[place] ^= 1
    sql(config, "UPDATE audit_entries SET leaf = ? WHERE idx = 2", bytes(leaf))
    said = found_wrong(config)
    assert "checkpoint.inconsistent" in said
    assert "entry.altered: entry 2" in said


def append_notes(config: Path, count: int) -> None:
    async def note() -> None:
        store = SqliteStore(config.parent / "assent.db")
        world = World(CONTRACTS, store=store)
        for _ in range(count):
            await world.call("orders.list", {})
        await store.close()

    asyncio.run(note())


def test_an_altered_value_is_found_and_named(config: Path) -> None:
    verified(config)
    vals = sql(config, "SELECT vals FROM audit_entries WHERE idx = 0")[0][0]
    assert isinstance(vals, bytes)
    sql(config, "UPDATE audit_entries SET vals = ? WHERE idx = 0", vals.replace(b"Ann", b"Eve"))
    assert "value.wrong: entry 0 arguments" in found_wrong(config)
    shown = run(config, "show", "0")
    assert "These values differ from the recorded ones: arguments." in shown.output


def test_entries_cut_off_or_taken_out_are_missed(config: Path) -> None:
    verified(config)
    sql(config, "DELETE FROM audit_entries WHERE idx = 7")
    assert "checkpoint.beyond" in found_wrong(config)
    sql(config, "DELETE FROM audit_entries WHERE idx = 3")
    assert "entries are missing" in found_wrong(config)


def test_a_log_rolled_back_with_its_checkpoints_is_betrayed_by_the_anchor(config: Path) -> None:
    assert not run(config, "anchor").exception
    sql(config, "DELETE FROM audit_entries WHERE idx >= 6")
    shutil.rmtree(config.parent / ".assent" / "log")
    said = found_wrong(config)
    assert "anchors/directory" in said and "checkpoint.beyond" in said


def test_a_checkpoint_kept_by_hand_counts_too(config: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.checkpoint"
    kept.write_text(run(config, "anchor").stdout)
    assert not run(config, "verify", "--kept", str(kept)).exception
    shutil.rmtree(tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / ".assent" / "log")
    sql(config, "DELETE FROM audit_entries WHERE idx >= 6")
    assert "kept kept.checkpoint" in found_wrong(config, "--kept", str(kept))


def test_what_is_erased_is_nowhere_and_every_proof_holds(config: Path, tmp_path: Path) -> None:
    verified(config)
    before = tmp_path / "before.tlog-proof"
    assert not run(config, "prove", "0", "--output", str(before)).exception
    erased = run(config, "redact", "0", "arguments", "principal", "--because", "a wish", "--yes")
    assert "arguments, principal erased" in erased.output
    said = verified(config)
    assert "values erased: 2" in said
    shown = json.loads(run(config, "show", "0").output)
    assert shown["erased"] == ["arguments", "principal"]
    data = b"".join(path.read_bytes() for path in tmp_path.glob("assent.db*"))
    assert f"{CANARY} 0".encode() not in data
    assert f"{CANARY} 1".encode() in data
    keys = KeyFile(tmp_path / ".assent" / "log.key").load()
    leaf = sql(config, "SELECT leaf FROM audit_entries WHERE idx = 0")[0][0]
    assert isinstance(leaf, bytes)
    assert verify_proof(before.read_bytes(), leaf, [key.text for key in keys.public]).ok
    last = json.loads(run(config, "tail", "-n", "1", "--format", "json").output)
    assert (last["kind"], last["entry"], last["fields"]) == ("redaction", 0, ["arguments", "principal"])
    assert last["values"]["because"] == "a wish"


@pytest.mark.parametrize("command", [("redact", "0", "arguments", "--because", "x"), ("rotate",)])
def test_without_a_terminal_what_cannot_be_taken_back_needs_a_yes(config: Path, command: tuple[str, ...]) -> None:
    before = run(config, "export").stdout
    ended = run(config, *command)
    sentence = "There is no terminal for the confirmation, so nothing was done. In a script, add --yes."
    assert (ended.output, str(ended.exception)) == ("", sentence)
    assert run(config, "export").stdout == before


def test_what_is_not_there_cannot_be_erased(config: Path) -> None:
    result = run(config, "redact", "0", "nonsense", "--because", "x", "--yes")
    assert "there is no value to erase for nonsense" in str(result.exception)
    assert "8 entries" in verified(config)


def test_a_value_erased_behind_our_back_is_missed(config: Path) -> None:
    verified(config)
    sql(config, "UPDATE audit_entries SET vals = NULL WHERE idx = 0")
    assert "value.missing: entry 0 arguments" in found_wrong(config)


def test_facts_and_one_time_secrets(config: Path, tmp_path: Path) -> None:
    """Leaves name nobody; a secret shown once is in no table, no checkpoint, no bundle."""
    run(config, "export", "--format", "bundle", "--output", str(tmp_path / "bundle"))
    leaves = b"".join(row[0] for row in sql(config, "SELECT leaf FROM audit_entries"))  # type: ignore[misc]
    assert CANARY.encode() not in leaves and b"agent" not in leaves
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("name", ["bundle", "bundle.zip"])
def test_a_stranger_verifies_a_bundle_and_agrees_with_us(config: Path, tmp_path: Path, name: str) -> None:
    run(config, "redact", "2", "arguments", "--because", "a wish", "--yes")
    bundle = tmp_path / name
    assert not run(config, "export", "--format", "bundle", "--output", str(bundle)).exception
    ours = CliRunner().invoke(cli, ["audit", "verify", str(bundle)], standalone_mode=False)
    assert not ours.exception and "9 entries" in ours.output, ours.output
    theirs = stranger(bundle)
    assert theirs.returncode == 0, theirs.stdout + theirs.stderr


def test_a_bundle_with_a_flipped_byte_is_refused_by_both(config: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    run(config, "export", "--format", "bundle", "--output", str(bundle))
    path = bundle / "tile" / "entries" / "000.p" / "8"
    path.write_bytes(path.read_bytes().replace(b"orders.list", b"orders.lisp"))
    ours = CliRunner().invoke(cli, ["audit", "verify", str(bundle)], standalone_mode=False)
    assert "entry.altered" in ours.output
    theirs = stranger(bundle)
    assert theirs.returncode == 1 and "entry.altered" in theirs.stdout


def assertion(key: ec.EllipticCurvePrivateKey, challenge: bytes) -> dict[str, str]:
    """What a browser hands over when a person signs with a passkey (WebAuthn)."""
    said = {"type": "webauthn.get", "challenge": base64url(challenge), "origin": "https://assent.example"}
    client, about = json.dumps(said).encode(), sha256(b"assent.example").digest() + bytes([5, 0, 0, 0, 1])
    signature = key.sign(about + sha256(client).digest(), ec.ECDSA(SHA256()))
    parts = {"authenticator_data": about, "client_data": client, "signature": signature}
    return {name: base64url(data) for name, data in parts.items()}


def base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def record_signed_decision(config: Path, **changes: str) -> None:
    """Records a passkey and a decision that it signed; `changes` replace parts of the signature."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = base64url(key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    owner = {"person": "ann", "credential": "one", "public_key": public}
    shown = {"binding": "b", "text": sha256(b"Delete it?").hexdigest()}
    challenge = verifier.decision_digest("a1", shown["binding"], shown["text"], "approved")
    signed = {"format": verifier.SIGNED, "domain": "assent.example", **shown, **assertion(key, challenge)}
    signed |= {"credential": "one", "public_key": public, **changes}
    values = {"person": "ann", "shown": "Delete it?", "signed": signed}

    async def note() -> None:
        store = SqliteStore(config.parent / "assent.db")
        store.append(Entry("authentication", time.time(), {"event": "passkey.added"}, owner))
        store.append(Entry("decision", time.time(), {"approval": "a1", "verdict": "approved"}, values))
        await store.close()

    asyncio.run(note())


def test_the_passkey_signature_of_an_approval_is_checked_in_the_store_and_in_a_bundle(
    config: Path, tmp_path: Path
) -> None:
    record_signed_decision(config)
    assert "signed decisions: 1: no problems found" in verified(config)
    record_signed_decision(config, signature=base64url(b"not what the passkey wrote"))
    wrong = "signature.wrong: entry 11: the passkey did not sign this decision"
    assert wrong in found_wrong(config)
    record_signed_decision(config, text=sha256(b"List it?").hexdigest())
    assert "signature.wrong: entry 13: the text that was shown is not the one that was signed" in found_wrong(config)
    bundle = tmp_path / "bundle"
    assert not run(config, "export", "--format", "bundle", "--output", str(bundle)).exception
    assert wrong in found_wrong(config, str(bundle))


def test_the_tail_is_filtered_and_hides_nothing_invisible(config: Path) -> None:
    kinds = [line.split("\t")[2] for line in run(config, "tail").output.splitlines()]
    assert kinds == ["intent", "outcome"] * 3 + ["read", "denial"]
    assert len(run(config, "tail", "-n", "2").output.splitlines()) == 2
    assert len(run(config, "tail", "--tool", "orders.p*", "--kind", "intent").output.splitlines()) == 3
    assert len(run(config, "tail", "--outcome", "succeeded").output.splitlines()) == 3
    assert len(run(config, "tail", "--tier", "read").output.splitlines()) == 1
    assert run(config, "tail", "--principal", "nobody").output == ""
    assert run(config, "tail", "--since", "2099-01-01").output == ""
    assert "is not a time" in str(run(config, "tail", "--since", "tomorrow").exception)


def test_the_feed_says_in_sentences_what_was_done(config: Path) -> None:
    lines = [line.split("  ", 1)[1] for line in run(config, "tail", "--feed").output.splitlines()]
    assert lines[0] == f"Ordered \u201c{CANARY} 0\u201d for Ann: succeeded"
    assert lines[3] == "List orders: read"


def test_an_export_goes_on_where_it_stopped(config: Path) -> None:
    first = run(config, "export")
    assert len(first.stdout.splitlines()) == 8
    cursor = first.stderr.strip().removeprefix("cursor: ")
    append_notes(config, 2)
    more = run(config, "export", "--format", "ocsf", "--after", cursor)
    assert [json.loads(line)["metadata"]["sequence"] for line in more.stdout.splitlines()] == [8, 9]
    assert "is not a cursor" in run(config, "export", "--after", "x").stderr


def test_a_proof_names_its_entry_and_none_is_given_for_one_that_is_not_there(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.tlog-proof"
    assert not run(config, "prove", "3", "--output", str(path)).exception
    assert b"\nindex 3\n" in path.read_bytes()
    assert path.with_suffix(".leaf").read_bytes() == sql(config, "SELECT leaf FROM audit_entries WHERE idx = 3")[0][0]
    assert "There is no entry 99" in run(config, "prove", "99").output


def test_an_anchor_that_is_none_is_refused_with_the_remedy(config: Path) -> None:
    config.write_text("store: sqlite:///assent.db\naudit: {anchors: [{ftp: somewhere}]}\n")
    assert "audit.anchors.0" in str(run(config, "anchor").exception)


def test_an_anchor_that_did_not_get_the_checkpoint_is_named_and_the_others_got_it(config: Path) -> None:
    (config.parent / "taken").write_text("a file where a directory should be")
    config.write_text("store: sqlite:///assent.db\naudit: {anchors: [{directory: taken}, {directory: elsewhere}]}\n")
    result = run(config, "anchor")
    assert result.return_value == 1
    assert "The anchor directory did not get the checkpoint" in result.stderr and "taken" in result.stderr
    assert [path.read_text() for path in (config.parent / "elsewhere").iterdir()] == [result.stdout]


def key_file(config: Path) -> list[str]:
    return (config.parent / ".assent" / "log.key").read_text().splitlines()


def test_a_rotation_is_an_entry_and_what_either_key_signed_verifies(config: Path, tmp_path: Path) -> None:
    verified(config)
    before = run(config, "anchor").output
    rotated = run(config, "rotate", "--yes", "--because", "a laptop was lost")
    [new] = [line for line in rotated.output.splitlines() if "+" in line]
    retired, secret = key_file(config)
    assert not retired.startswith("PRIVATE+KEY") and secret.startswith("PRIVATE+KEY")
    assert "no problems found" in verified(config)
    entry = json.loads(run(config, "tail", "-n", "1", "--format", "json").output)
    assert entry["kind"] == "key"
    assert (entry["key"], entry["previous"], entry["values"]["because"]) == (new, retired, "a laptop was lost")

    kept = tmp_path / "kept"
    kept.write_text(before)
    run(config, "rotate", "--yes")
    run(config, "export", "--format", "bundle", "--output", str(tmp_path / "bundle"))
    assert len(key_file(config)) == 3
    for key in key_file(config)[:2]:
        assert run(config, "verify", "--kept", str(kept), "--key", key).exception is None
    auditor = stranger(tmp_path / "bundle")
    assert auditor.returncode == 0, auditor.stdout
    assert "nothing is wrong" in auditor.stdout


def test_a_rotation_that_stopped_before_its_entry_accuses_nobody_and_is_taken_up_again(config: Path) -> None:
    verified(config)
    path = config.parent / ".assent" / "log.key"
    waiting = KeyFile(path).add(lambda count: bytes(count)).newest.text
    assert "no problems found" in verified(config)
    assert run(config, "rotate", "--yes").output.strip() == waiting
    assert "no problems found" in verified(config)


def test_a_key_that_somebody_slipped_into_the_log_signs_nothing(config: Path) -> None:
    verified(config)
    forged = KeyFile(config.parent / "forged.key").create("localhost/assent/forged", lambda count: b"f" * count)
    facts = {"key": forged.newest.text, "previous": "nobody"}

    async def slip_in() -> None:
        store = SqliteStore(config.parent / "assent.db")
        store.append(Entry("key", 1_800_000_000.0, facts))
        await store.close()

    asyncio.run(slip_in())
    result = run(config, "anchor")
    assert result.return_value == 1
    assert "does not follow" in result.output


def test_what_is_shown_cannot_move_hide_or_turn_what_stands_round_it(config: Path) -> None:
    hostile = "a\x1b[2J\x9b2K\u202eevil\u2066\u200b\x7f\u2028ü"

    async def fill() -> int:
        store = SqliteStore(config.parent / "assent.db")
        store.append(Entry("operator", 1_764_000_000.0, {}, {"principal": hostile, "note": {hostile: hostile}}))
        await store.flush()
        length = await store.length()
        await store.close()
        return length

    index = asyncio.run(fill()) - 1
    for words in (("show", str(index)), ("tail", "-n", "1", "--format", "json"), ("tail", "-n", "1")):
        said = run(config, *words).output
        assert said.replace("\n", "").replace("\t", "").isprintable(), words
        assert "ü" in said
        if "tail" not in words or "json" in words:
            assert json.loads(said)["values"]["note"] == {hostile: hostile}


def test_a_file_that_is_no_bundle_is_said_to_be_none(config: Path) -> None:
    result = run(config, "verify", str(config))
    assert isinstance(result.exception, click.UsageError)
    assert "is not a bundle" in str(result.exception)


def test_a_bundle_that_cannot_be_finished_is_not_left_lying(config: Path) -> None:
    run(config, "anchor")
    sql(config, "UPDATE audit_entries SET leaf = x'00' WHERE idx = 2")
    for name in ("bundle.zip", "bundle"):
        said = run(config, "export", "--format", "bundle", "--output", str(config.parent / name)).output
        assert "not those that were signed" in said
        assert not (config.parent / name).exists()


def test_an_archive_that_is_there_is_not_replaced(config: Path) -> None:
    taken = config.parent / "bundle.zip"
    taken.write_text("mine")
    assert "already exists" in run(config, "export", "--format", "bundle", "--output", str(taken)).output
    assert taken.read_text() == "mine"


def test_the_feed_and_the_tail_can_be_asked_about_one_caller(config: Path) -> None:
    said = run(config, "tail", "--feed", "--principal", AGENT.id).output
    assert said.count("Ordered") == 3
    assert run(config, "tail", "--feed", "--principal", "somebody").output == ""
    ended = run(config, "tail", "--principal", AGENT.id, "--outcome", "succeeded").output.splitlines()
    assert [line.split("\t")[2::4] for line in ended] == [["outcome", AGENT.id]] * 3


def test_an_export_ends_before_the_time_named(config: Path) -> None:
    at = json.loads(run(config, "tail", "-n", "1", "--format", "json").output)["time"]
    assert run(config, "export", "--until", at).stdout == ""
    assert len(run(config, "export", "--since", at, "--until", "9999-01-01").stdout.splitlines()) == 8
    assert "is not a time" in str(run(config, "export", "--until", "soon").exception)


def test_a_proof_that_was_written_is_verified_and_its_leaf_is_needed(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.tlog-proof"
    run(config, "prove", "3", "--output", str(path))
    assert not run(config, "verify", str(path)).exception
    assert not run(config, "verify", str(path), "--key", str(public_keys(config))).exception
    path.with_suffix(".leaf").write_bytes(b"{}")
    assert "proof.wrong: entry 3" in found_wrong(config, str(path))
    path.with_suffix(".leaf").unlink()
    assert "No such file" in str(run(config, "verify", str(path)).exception)


def public_keys(config: Path) -> Path:
    path = config.parent / "public.keys"
    path.write_text("".join(f"{key.text}\n" for key in KeyFile(config.parent / ".assent" / "log.key").load().public))
    return path


def test_growth_since_a_checkpoint_is_proved_as_a_witness_takes_it(config: Path, tmp_path: Path) -> None:
    kept, path = tmp_path / "kept", tmp_path / "growth"
    kept.write_text(run(config, "anchor").stdout)
    append_notes(config, 3)
    assert not run(config, "prove", "--since", str(kept), "--output", str(path)).exception
    head, _, note = path.read_bytes().partition(b"\n\n")
    first, *hashes = head.split(b"\n")
    old, new = parse(kept.read_bytes())[0], parse(note)[0]
    assert (first, new.size) == (b"old %d" % old.size, old.size + 3)
    verify_consistency(old.size, new.size, old.root, new.root, [b64decode(one) for one in hashes])
    kept.write_text("nothing of the kind")
    assert "This checkpoint cannot be used for a proof" in run(config, "prove", "--since", str(kept)).output
    assert "Give the index of an entry" in str(run(config, "prove").exception)


def test_a_key_that_is_none_is_refused_before_anything_is_read(config: Path) -> None:
    result = run(config, "verify", "--key", "nonsense")
    assert "--key nonsense: write a public key as name+id+base64" in str(result.exception)


def test_a_directory_of_kept_checkpoints_counts_too(config: Path, tmp_path: Path) -> None:
    run(config, "anchor")
    sql(config, "DELETE FROM audit_entries WHERE idx >= 6")
    shutil.copytree(tmp_path / "elsewhere", tmp_path / "mine")
    said = found_wrong(config, "--kept", str(tmp_path / "mine"))
    assert "checkpoint.beyond: kept 0000" in said


def test_erasing_arguments_says_what_still_speaks_of_them(config: Path) -> None:
    assert "short arguments can be guessed" in run(config, "redact", "0", "arguments", "--because", "x", "--yes").stderr
    assert run(config, "redact", "2", "arguments", "call", "--because", "x", "--yes").stderr == ""


def test_a_log_that_was_rolled_back_says_how_to_go_on_and_goes_on(config: Path) -> None:
    run(config, "anchor")
    sql(config, "DELETE FROM audit_entries WHERE idx >= 6")
    said = run(config, "anchor").output
    assert "8 entries were signed, and 6 are here. Restore the entries. If they are lost, move" in said
    (config.parent / ".assent" / "log").rename(config.parent / "evidence")
    assert "\n6\n" in run(config, "anchor").output
    assert "checkpoint.beyond: anchors/directory" in found_wrong(config)


def test_the_tail_finds_what_ended_with_a_code_and_says_what_happened_without_a_call(config: Path) -> None:
    ended = run(config, "tail", "--outcome", "discover.*").output.splitlines()
    assert [line.split("\t")[2] for line in ended] == ["denial"]

    async def note() -> None:
        store = SqliteStore(config.parent / "assent.db")
        store.append(Entry("authentication", 1_800_000_000.0, {"event": "authentication.failed", "count": 20}))
        store.append(Entry("configuration", 1_800_000_000.0, {"event": "configuration.started"}))
        await store.close()

    asyncio.run(note())
    last = run(config, "tail", "-n", "2").output.splitlines()
    assert [line.split("\t")[5] for line in last] == ["failed (20)", "started"]


def test_a_kind_or_a_tier_that_there_is_not_is_refused_instead_of_finding_nothing(config: Path) -> None:
    for option, word in (("--kind", "intents"), ("--tier", "writes")):
        refused = run(config, "tail", option, word).exception
        assert isinstance(refused, click.BadParameter)
        assert f"{word!r} is not one of" in str(refused)


def test_a_reader_that_keeps_the_old_value_in_the_log_of_the_database_is_named(
    config: Path,
) -> None:
    path = next(config.parent.glob("*.db"))
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM audit_entries").fetchall()
        beside = run(config, "redact", "0", "arguments", "--because", "x", "--yes")
    assert "Another program reads the database" in beside.stderr, beside.output
    alone = run(config, "redact", "0", "principal", "--because", "x", "--yes")
    assert "Another program" not in alone.stderr


async def test_once_the_reader_is_gone_a_running_store_removes_the_old_value_without_another_write(
    config: Path,
) -> None:
    path = next(config.parent.glob("*.db"))
    store = SqliteStore(path, busy=0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM audit_entries").fetchall()
        await store.erase(0, ["arguments"], Entry("redaction", time.time(), {"entry": 0}))
        assert store.keeps_erased
    async with asyncio.timeout(30):
        while store.keeps_erased:  # noqa: ASYNC110 - the store's own thread does it
            await asyncio.sleep(0.05)
    assert not Path(f"{path}-wal").read_bytes()
    await store.close()
