"""`assent audit tail|show|export`: prints entries of the audit log."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assent.audit.bundle import BadBundle, DirectorySink, Sink, ZipSink, write_bundle
from assent.audit.export import export, json_line, timestamp
from assent.audit.feed import Feed
from assent.audit.leaf_reader import check, unpack
from assent.audit.log_reader import CHUNK, EntryView, PrincipalIndex, Selection, StoredEntries, read_row
from assent.audit.ocsf import shape_for
from assent.audit.signed_log import AuditLogSigner
from assent.cli.shared.log_access import progress_bar, selection, with_ledger
from assent.contract.files import contract_paths, load_written
from assent.core.action_template import ActionTemplate, BadTemplate
from assent.core.question import visible
from assent.core.recorded_tools import KIND as RECORDED_TOOLS
from assent.core.recorded_tools import recorded_catalogue
from assent.ports import RawLogRow, Store

if TYPE_CHECKING:
    from assent.config.model import Settings

POLL = 0.5
LOOK_BACK = 50_000
PIECE = 1000
Show = Callable[[RawLogRow], str | None]


def tail(lines: int, follow: bool, as_feed: bool, form: str, config: Path | None, **wanted: Any) -> None:
    chosen = selection(**wanted)

    async def tailing(log_signer: AuditLogSigner, settings: Settings) -> None:
        show = _entries_as(form, chosen)
        if as_feed:
            show = _feed_of({**await _stored_templates(log_signer.store), **_templates(settings)}, chosen)
        position = await _print_last(log_signer, lines, show)
        while follow:
            await asyncio.sleep(POLL)
            while rows := await log_signer.store.sealed(after=position):
                position = rows[-1].index
                for line in filter(None, map(show, rows)):
                    click.echo(line)

    try:
        with_ledger(config, tailing)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


async def _print_last(log_signer: AuditLogSigner, lines: int, show: Show) -> int:
    """Prints the last lines and returns the index of the last entry read."""
    end = await log_signer.store.length()
    last, shown = max(-1, end - LOOK_BACK - 1), list[str]()
    while rows := await log_signer.store.sealed(after=last, limit=CHUNK):
        last = rows[-1].index
        shown = [*shown, *filter(None, map(show, rows))][-lines:]
    for line in shown:
        click.echo(line)
    return last


def _entries_as(form: str, chosen: Selection) -> Show:
    callers = PrincipalIndex()

    def show(sealed: RawLogRow) -> str | None:
        row = callers.read_entry(sealed.index, sealed.leaf, sealed.vals)
        if not chosen.takes(row):
            return None
        return readable(json_line(row)) if form == "json" else _text(row)

    return show


def readable(value: Mapping[str, Any], indent: int | None = None) -> str:
    """JSON with readable letters, in which invisible and control characters are escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return "".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)


def _text(row: EntryView) -> str:
    who = row.who or ("[erased]" if row.erased else "-")
    tool, tier = row.fact("tool") or "-", row.fact("tier") or "-"
    parts = (row.index, timestamp(row.leaf.at), row.leaf.kind, tool, tier, _outcome_of(row))
    return "\t".join([*map(str, parts), visible(str(who))])


def _outcome_of(row: EntryView) -> str:
    """The outcome of a call, or the event of another entry with its count."""
    value = row.fact("state") or row.fact("code") or row.fact("verdict") or row.fact("action")
    if would := row.fact("would"):
        return f"{value or 'observed'}; {stopped_by(would)}"
    kind, _, event = str(row.fact("event") or "").rpartition(".")
    if value or kind != row.leaf.kind:
        return str(value or "-")
    return f"{event} ({row.fact('count')})" if row.fact("count") else event


def stopped_by(would: Sequence[str]) -> str:
    """What enforce mode would have done to an observed call."""
    return f"enforce mode would have stopped it: {', '.join(would)}"


def _feed_of(templates: dict[str, ActionTemplate], chosen: Selection) -> Show:
    feed, callers = Feed(templates), PrincipalIndex()

    def show(sealed: RawLogRow) -> str | None:
        line = feed.take(sealed.index, sealed.leaf, sealed.vals)
        if not chosen.takes(callers.read_entry(sealed.index, sealed.leaf, sealed.vals)) or line is None:
            return None
        test = " (test)" if line.mode == "test" else ""
        how = visible(line.outcome) if line.ran else f"not run, {visible(line.outcome)}"
        would = f"; {stopped_by(line.would)}" if line.would else ""
        return f"{timestamp(line.at)}  {line.text}: {how}{would}{test}"

    return show


def _templates(settings: Settings) -> dict[str, ActionTemplate]:
    """The activity template of each contract, by every wire name its tool may have."""
    found: dict[str, ActionTemplate] = {}
    for one in load_written(contract_paths(settings.contracts)):
        template = _template(one.contract.activity or one.contract.title)
        if template is None:
            continue
        for upstream in [one.upstream] if one.upstream else ["", *settings.upstreams]:
            found.setdefault(settings.wire_name(upstream, one.name), template)
    return found


async def _stored_templates(store: Store) -> dict[str, ActionTemplate]:
    """The sentences of the tools that library servers recorded on this store."""
    tools = recorded_catalogue(await store.documents(RECORDED_TOOLS, time.time())).tools.values()
    sentences = {tool.name: tool.contract.activity for tool in tools if tool.contract.activity}
    return {name: found for name, text in sentences.items() if (found := _template(text)) is not None}


def _template(text: str) -> ActionTemplate | None:
    try:
        return ActionTemplate.parse(text)
    except BadTemplate:
        return None


def show(index: int, config: Path | None) -> None:
    async def looking(log_signer: AuditLogSigner, settings: Settings) -> RawLogRow | None:
        found = await log_signer.store.sealed(after=index - 1, limit=1)
        return found[0] if found and found[0].index == index else None

    sealed = with_ledger(config, looking)
    if sealed is None:
        click.echo(f"There is no entry {index}.", err=True)
        raise click.exceptions.Exit(1)
    values, salts = unpack(sealed.vals)
    click.echo(readable(json_line(read_row(index, sealed.leaf, sealed.vals)), indent=2))
    if wrong := check(sealed.leaf, values, salts):
        click.echo(f"These values differ from the recorded ones: {', '.join(wrong)}.", err=True)
        raise click.exceptions.Exit(1)


def export_(
    form: str, cursor: str | None, output: Path | None, without_values: bool, config: Path | None, **wanted: Any
) -> None:
    if form == "bundle":
        if output is None:
            raise click.UsageError("A bundle needs --output: a new directory or a .zip file.")
        if cursor or any(wanted.values()):
            raise click.UsageError("A bundle holds the whole log: leave out the cursor and the filters.")
        size = with_ledger(config, lambda log_signer, _: _bundle(log_signer, output, values=not without_values))
        click.echo(f"{output}: {size} entries", err=True)
        return
    if output or without_values:
        raise click.UsageError("--output and --without-values are for bundles; other formats go to standard output.")
    chosen = selection(**wanted)
    with_ledger(config, lambda log_signer, _: _lines(log_signer, form, cursor, chosen))


async def _lines(log_signer: AuditLogSigner, form: str, cursor: str | None, chosen: Selection) -> None:
    shape: Callable[[EntryView], Mapping[str, Any]] = json_line
    if form == "ocsf":
        shape = shape_for(log_signer.keys().newest.name)
    done = None
    try:
        with progress_bar(await log_signer.store.length(), "Exporting", hidden=sys.stdout.isatty()) as progress:
            entries, callers = StoredEntries(log_signer.store, progress), PrincipalIndex()
            lines = None
            while lines != []:
                lines, cursor = await export(entries, cursor, selection=chosen, shape=shape, callers=callers)
                _write("".join(f"{line.decode()}\n" for line in lines))
                done = cursor
    finally:  # Print the cursor even after an interrupt, so that the export can continue.
        if done is not None:
            click.echo(f"cursor: {done}", err=True)


def _write(text: str) -> None:
    """Writes in small pieces, because a signal can cut off the rest of a longer write to a pipe."""
    for at in range(0, len(text), PIECE):
        sys.stdout.write(text[at : at + PIECE])
    sys.stdout.flush()


async def _bundle(log_signer: AuditLogSigner, output: Path, *, values: bool) -> int:
    await log_signer.sign()
    evidence, total = await log_signer.evidence(), await log_signer.store.length()
    entries = StoredEntries(log_signer.store)
    with progress_bar(total, "Writing") as advance:

        def progress(done: int, _: int) -> None:
            advance(done)

        with _new_sink(output) as sink:
            return await write_bundle(sink, evidence, entries, values=values, progress=progress)


@contextmanager
def _new_sink(output: Path) -> Iterator[Sink]:
    """A sink for the bundle; an unfinished bundle is deleted."""
    if output.suffix == ".zip":
        try:
            output.touch(0o600, exist_ok=False)  # A bundle holds names and arguments, so only its owner may read it.
        except FileExistsError:
            raise BadBundle(f"{output} already exists; choose a new file") from None
        archive = zipfile.ZipFile(output, "w")
        sink: Sink = ZipSink(archive)
    else:
        archive, sink = None, DirectorySink(output)
    try:
        yield sink
    except BaseException:
        if archive is None:
            shutil.rmtree(output)
        else:
            archive.close()
            output.unlink()
        raise
    if archive is not None:
        archive.close()
