"""`assent audit`: reads, verifies, proves and exports the audit log."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assent.cli.shared.log_access import moment, progress_bar, selecting, with_ledger
from assent.cli.shared.options import EXISTING_FILE, FILE, config_option, operator, store_option, to_be_asked
from assent.core.question import counted, visible

if TYPE_CHECKING:
    from assent.audit.checkpoints import Checkpoint
    from assent.audit.signed_log import AuditLogSigner
    from assent.audit.verifier import LogReport
    from assent.config.model import Settings


@click.group()
def audit() -> None:
    """Read, verify and export the audit log.

    Example: assent audit verify -c assent.yaml
    """


@audit.command()
@click.option("-n", "--lines", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many entries.")
@click.option("--follow", is_flag=True, help="Keep printing new entries. Ctrl-C stops.")
@click.option("--feed", "as_feed", is_flag=True, help="Print one sentence per finished call.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@selecting
@store_option
def tail(**given: Any) -> None:
    """Print the newest entries of the log, oldest first.

    Example: assent audit tail --follow --tool 'orders_*'
    """
    from assent.cli import audit_read

    audit_read.tail(**given)


@audit.command(short_help="Print one entry.")
@click.argument("index", type=click.IntRange(0))
@store_option
def show(index: int, config: Path | None) -> None:
    """Print one entry. Exit code 1: its values differ from the recorded ones.

    Example: assent audit show 42
    """
    from assent.cli import audit_read

    audit_read.show(index, config)


@audit.command("export", short_help="Export entries, or a bundle for an auditor.")
@click.option("--format", "form", type=click.Choice(["jsonl", "ocsf", "bundle"]), default="jsonl", show_default=True)
@click.option("--after", "cursor", metavar="CURSOR", help="Continue where an earlier export stopped.")
@click.option("--output", type=click.Path(path_type=Path), help="Where to write the bundle: a new directory or .zip.")
@click.option("--without-values", is_flag=True, help="A bundle without names and arguments.")
@selecting
@config_option
def export_(**given: Any) -> None:
    """Write entries as JSON lines or OCSF events to standard output, and the cursor for the next export to standard
    error; or write a bundle with everything an auditor needs.

    Example: assent audit export --format bundle --output bundle.zip
    """
    from assent.cli import audit_read

    audit_read.export_(**given)


@audit.command(short_help="Check that nothing in the log was altered.")
@click.argument("bundle", type=click.Path(path_type=Path, exists=True), required=False)
@click.option(
    "--kept",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="A checkpoint file that you kept, or a directory of them; may be repeated.",
)
@click.option("--key", "keys", multiple=True, help="A public key you trust, or a file of them; may be repeated.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@store_option
def verify(bundle: Path | None, kept: tuple[Path, ...], keys: tuple[str, ...], form: str, config: Path | None) -> None:
    """Check every entry against every checkpoint, here and at the anchors. Exit code 1: something is wrong; the output
    says what and where. With BUNDLE, check an exported log instead of the configured store, the .tlog-proof of one
    entry, with its .leaf file beside it, or the .json receipt of an operation.

    Example: assent audit verify bundle.zip --key audit-keys.txt
    """
    from assent.audit.verifier import open_bundle
    from assent.audit.verifier import verify as verify_bundle
    from assent.stores.open import store_place

    held = [(path.name, path.read_bytes()) for one in kept for path in _files(one)]
    trusted = [key for given in keys for key in _keys(given)]

    async def verifying(log_signer: AuditLogSigner, settings: Settings) -> tuple[LogReport, str]:
        with progress_bar(await log_signer.store.length(), "Verifying") as progress:
            report = await log_signer.inspect(progress, held, trusted)
        if report.ok:
            await log_signer.sign()
        return report, store_place(settings.store)

    place = str(bundle)
    if bundle is None:
        report, place = with_ledger(config, verifying, signed=True)
    elif bundle.suffix in (".tlog-proof", ".json"):
        report = _verify_proof_file(bundle, trusted or with_ledger(config, _own_keys, signed=True))
    else:
        try:
            report = verify_bundle(open_bundle(bundle), held, trusted)
        except (ValueError, OSError) as error:
            raise click.UsageError(f"{bundle} is not a bundle: {visible(str(error))}.") from None
    _print(report, place, form)
    if not report.ok:
        raise click.exceptions.Exit(1)


async def _own_keys(log_signer: AuditLogSigner, settings: Settings) -> list[str]:
    return [key.text for key in log_signer.keys().public]


def _verify_proof_file(path: Path, trusted: Sequence[str]) -> LogReport:
    from assent.audit.verifier import verify_proof, verify_receipt

    try:
        if path.suffix == ".json":
            return verify_receipt(path.read_bytes(), trusted)
        return verify_proof(path.read_bytes(), path.with_suffix(".leaf").read_bytes(), trusted)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be verified: {error.strerror}: {error.filename}.") from None


def _files(path: Path) -> list[Path]:
    return sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]


def _keys(given: str) -> list[str]:
    """The keys of a file, or the given key itself."""
    from assent.audit.notes import BadKey, PublicKey

    path = Path(given)
    try:
        found = path.read_text("utf-8").split() if path.is_file() else [given]
        return [PublicKey.parse(key).text for key in found]
    except (BadKey, OSError, UnicodeDecodeError):
        raise click.UsageError(f"--key {given}: write a public key as name+id+base64, one per line.") from None


def _print(report: LogReport, place: str, form: str) -> None:
    if form == "json":
        faults = [{"code": one.code, "place": one.place, "detail": one.detail} for one in report.faults]
        counts = {"entries": report.entries, "checkpoints": report.checkpoints, "erased": report.erased}
        counts["signed"] = report.signed
        head = {"ok": report.ok, "log": place, **counts}
        click.echo(json.dumps({**head, "faults": faults, "remarks": report.remarks}, indent=2))
        return
    for remark in report.remarks:
        click.echo(f"note: {visible(remark)}")
    for fault in report.faults:
        click.echo(f"{fault.code}: {visible(fault.place)}: {visible(fault.detail)}")
    erased = f", values erased: {report.erased}" if report.erased else ""
    signed = f", signed decisions: {report.signed}" if report.signed else ""
    many = len(report.faults)
    result = "no problems found" if report.ok else "1 problem found" if many == 1 else f"{many} problems found"
    entries = f"{report.entries} {'entry' if report.entries == 1 else 'entries'}"
    click.echo(f"{visible(place)}: {entries}, {counted(report.checkpoints, 'checkpoint')}{erased}{signed}: {result}")


@audit.command(short_help="Write a proof that an entry is in the log.")
@click.argument("index", type=click.IntRange(0), required=False)
@click.option("--since", type=EXISTING_FILE, help="A checkpoint you kept.")
@click.option("--output", type=FILE, help="Default: entry-INDEX.tlog-proof.")
@config_option
def prove(index: int | None, since: Path | None, output: Path | None, config: Path | None) -> None:
    """Write a proof that an entry is in the log (C2SP tlog-proof), and the entry's leaf beside it as .leaf. With
    --since, write a proof that the log of that checkpoint is a prefix of the current log (C2SP tlog-witness), to
    `growth.tlog-witness`.

    Example: assent audit prove 42
    """
    if (index is None) == (since is None):
        raise click.UsageError("Give the index of an entry, or --since with a checkpoint.")

    async def proving(log_signer: AuditLogSigner, settings: Settings) -> tuple[bytes, bytes | None]:
        if since is not None:
            return await log_signer.prove_growth(since.read_bytes()), None
        proof, leaf = await log_signer.prove(index or 0)
        return proof.encode(), leaf

    proof, leaf = with_ledger(config, proving)
    path = output or Path("growth.tlog-witness" if since else f"entry-{index}.tlog-proof")
    path.write_bytes(proof)
    if leaf is not None:
        path.with_suffix(".leaf").write_bytes(leaf)
    click.echo(f"{path} {path.with_suffix('.leaf')}" if leaf is not None else f"{path}")


@audit.command(short_help="Write a report for an auditor, as one HTML page.")
@click.option("--since", default="30d", show_default=True, help="From this time on: 2026-01-31, or an age: 2h, 7d.")
@click.option("--until", help="Before this time; written like --since. Default: now.")
@click.option("--output", type=FILE, help="Default: audit-report.html.")
@config_option
def report(since: str, until: str | None, output: Path | None, config: Path | None) -> None:
    """Verify the whole log, and write who approved what, what was refused, which promises were broken, which
    definitions changed and what operators did. Print the page to get a PDF. Exit code 1: the log is not whole; the
    report says so.

    Example: assent audit report --since 90d
    """
    from importlib.metadata import version

    from assent.people.report.report import Findings, read_findings, render_report

    first, last = moment(since), moment(until) if until else int(time.time() * 1000)
    if first >= last:
        raise click.UsageError("--since must be before --until.")

    async def reporting(log_signer: AuditLogSigner, settings: Settings) -> tuple[LogReport, Findings, str]:
        total = await log_signer.store.length()
        with progress_bar(total, "Verifying") as progress:
            checked = await log_signer.inspect(progress)
        with progress_bar(total, "Reading") as progress:
            found = await read_findings(log_signer, first, last, progress)
        return checked, found, log_signer.keys().newest.name

    checked, found, origin = with_ledger(config, reporting)
    path = output or Path("audit-report.html")
    text = render_report(found, checked, origin, int(time.time() * 1000), version("assent"))
    path.write_text(text, "utf-8")
    click.echo(f"{path}: {found.entries} entries; {'the log is whole' if checked.ok else 'the log is NOT whole'}")
    if not checked.ok:
        raise click.exceptions.Exit(1)


@audit.command(short_help="Write the receipt of one operation, with proofs.")
@click.argument("operation")
@click.option("--output", type=FILE, help="Default: standard output.")
@config_option
def receipt(operation: str, output: Path | None, config: Path | None) -> None:
    """Write every entry about one operation (the id of its approval or claim) as JSON, each with the proof that it is
    in the signed log. `assent audit verify FILE.json` and the stand-alone verifier check it.

    Example: assent audit receipt 01a1eec87543e188 --output receipt.json
    """
    from assent.people.report.receipt import make_receipt

    async def making(log_signer: AuditLogSigner, settings: Settings) -> dict[str, Any]:
        return await make_receipt(log_signer, operation)

    text = json.dumps(with_ledger(config, making), indent=1) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, "utf-8")
        click.echo(str(output))


@audit.command(short_help="Sign the log now and send the checkpoint to the anchors.")
@config_option
def anchor(config: Path | None) -> None:
    """Sign the log now, send the checkpoint to the configured anchors, and print it. Keep a copy where this machine
    cannot change it.

    Example: assent audit anchor > checkpoint.txt
    """

    async def anchoring(log_signer: AuditLogSigner, settings: Settings) -> tuple[Checkpoint, dict[str, str], int]:
        signed = await log_signer.sign(always=True)
        assert signed is not None
        return signed, await log_signer.publish(signed.note), len(log_signer.anchors)

    signed, failed, anchors = with_ledger(config, anchoring)
    click.echo(signed.note.decode(), nl=False)
    for name, why in failed.items():
        click.echo(f"The anchor {name} did not get the checkpoint: {why}.", err=True)
    if not anchors:
        click.echo("No anchors are configured (audit.anchors): keep the printed checkpoint yourself.", err=True)
    if failed:
        raise click.exceptions.Exit(1)


@audit.command()
@click.argument("index", type=click.IntRange(0))
@click.argument("fields", metavar="FIELD...", nargs=-1, required=True)
@click.option("--because", required=True, help="The reason; it is recorded and can be erased later.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@config_option
def redact(index: int, fields: tuple[str, ...], because: str, yes: bool, config: Path | None) -> None:
    """Erase values of an entry, such as arguments or principal. Every proof stays valid, and the log records who
    erased what, and why.

    Example: assent audit redact 42 arguments --because "erasure request 17"
    """
    from assent.audit.leaf_reader import unpack
    from assent.audit.log_reader import StoredEntries
    from assent.core.audit import Entry, principal_values

    named = sorted(set(fields))
    if to_be_asked(yes):
        click.confirm(f"Erase {', '.join(named)} of entry {index}? This cannot be undone.", abort=True, err=True)

    stores: list[object] = []

    async def erasing(log_signer: AuditLogSigner, settings: Settings) -> set[str]:
        stores.append(log_signer.store)
        facts = {"action": "redact", "entry": index, "fields": named}
        values = {**principal_values(operator()), "because": because}
        await log_signer.store.erase(index, named, Entry("redaction", time.time(), facts, values))
        await log_signer.sign()
        [left] = await StoredEntries(log_signer.store).values(index, index + 1)
        return set(unpack(left)[0])

    left = with_ledger(config, erasing)
    click.echo(f"entry {index}: {', '.join(named)} erased")
    if getattr(stores[0], "keeps_erased", False):
        why = "Another program reads the database, so the old value stays in its write-ahead log (the file -wal)"
        click.echo(f"{why} until that program has ended and something is written.", err=True)
    if "arguments" in named and "call" in left:
        click.echo("The entry still has `call`, a digest from which short arguments can be guessed.", err=True)


@audit.command()
@click.option("--because", default="", help="The reason; it is recorded and can be erased later.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@config_option
def rotate(because: str, yes: bool, config: Path | None) -> None:
    """Sign with a new key from now on. An entry names the new key, both keys sign that entry, and the old secret is
    deleted; what the old key signed stays valid. Prints the new public key: give it to everyone who verifies.

    Example: assent audit rotate --because "yearly rotation"
    """
    from assent.core.audit import principal_values

    if to_be_asked(yes):
        click.confirm("Sign with a new key from now on?", abort=True, err=True)

    async def rotating(log_signer: AuditLogSigner, settings: Settings) -> tuple[str, dict[str, str]]:
        values = principal_values(operator()) | ({"because": because} if because else {})
        signed = await log_signer.rotate(values)
        return log_signer.keys().newest.text, await log_signer.publish(signed.note)

    key, failed = with_ledger(config, rotating)
    click.echo(key)
    for name, why in failed.items():
        click.echo(f"The anchor {name} did not get the new checkpoint: {why}.", err=True)
