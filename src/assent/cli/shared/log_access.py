"""Opens the audit log for commands and parses entry filters."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assent.audit.leaf import KINDS
from assent.contract.tiers import Tier
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.audit.log_reader import Progress, Selection
    from assent.audit.signed_log import AuditLogSigner
    from assent.config.model import Settings

LONG = 20_000
Command = TypeVar("Command", bound=Callable[..., Any])


def with_ledger(
    config: Path | None, work: Callable[[AuditLogSigner, Settings], Awaitable[Any]], *, signed: bool = False
) -> Any:
    """Runs work on the audit log of the named store; `signed` work needs the keys of the log too."""
    import asyncio

    from assent.audit.bundle import BadBundle
    from assent.audit.export import StaleCursor
    from assent.audit.leaf import BadEntry
    from assent.audit.signed_log import AuditLogError
    from assent.cli.shared.options import store_settings
    from assent.config.anchors import log_signer_of
    from assent.config.model import SecretsSettings
    from assent.stores.inspect import open_existing

    settings = store_settings(config)
    if settings.store.startswith("memory:"):
        raise click.UsageError("The configured store is in the gateway's memory, so there is no log to read.")
    if signed and not settings.secrets.directory:
        settings = settings.model_copy(update={"secrets": SecretsSettings(directory=str(_keys_beside(settings.store)))})

    async def run() -> Any:
        store = await open_existing(settings.store)
        try:
            return await work(log_signer_of(settings, store), settings)
        finally:
            await store.close()

    try:
        return asyncio.run(run())
    except (AuditLogError, BadEntry, BadBundle, StaleCursor) as error:
        click.echo(str(error), err=True)
        raise click.exceptions.Exit(1) from None


def _keys_beside(url: str) -> Path:
    """The folder of the log's keys that a configuration in the folder of a SQLite file has by default."""
    from assent.stores.open import is_postgres, sqlite_path, store_place

    folder = None if is_postgres(url) else sqlite_path(url).absolute().parent / ".assent"
    if folder is None or not (folder / "log.key").exists():
        message = f"the keys that sign the log of {store_place(url)} are not beside it"
        raise SettingsError(Fault(message, "Name the configuration with which `assent audit anchor` signs: -c FILE"))
    return folder


@contextmanager
def progress_bar(total: int, label: str, *, hidden: bool = False) -> Iterator[Progress]:
    """A progress bar on the terminal, for long work whose output goes elsewhere."""
    if hidden or total < LONG or not sys.stderr.isatty():
        yield lambda done: None
        return
    with click.progressbar(length=total, label=label, file=sys.stderr) as bar:
        yield lambda done: bar.update(max(0, min(done, total) - bar.pos))


_CLOSED = {"tier": click.Choice([tier.value for tier in Tier]), "kind": click.Choice(sorted(KINDS))}


def selecting(command: Command) -> Command:
    """Adds the filter options `--principal`, `--tool` and so on."""
    names = (
        ("principal", "The caller; `*` matches any text."),
        ("tool", "The tool; `*` matches any text."),
        ("tier", "The tier of the tool: read, write, …"),
        ("outcome", "The outcome: a state or a code; `*` matches any text."),
        ("kind", "The kind of entry: intent, outcome, denial, …"),
        ("since", "From this time on: 2026-01-31, 2026-01-31T12:00:00Z, or an age: 15m, 2h, 7d."),
        ("until", "Before this time; written like --since."),
    )
    command = click.option("--open-world", is_flag=True, help="Only calls that reach external systems.")(command)
    for name, text in reversed(names):
        command = click.option(f"--{name}", help=text, type=_CLOSED.get(name), metavar="TEXT")(command)
    return command


def selection(since: str | None, until: str | None, *, open_world: bool, **wanted: str | None) -> Selection:
    from assent.audit.log_reader import Selection

    times = {"since": since and moment(since), "until": until and moment(until)}
    return Selection(open_world=open_world or None, **times, **wanted)  # type: ignore[arg-type]


def moment(text: str) -> int:
    """A time or an age as milliseconds since 1970."""
    from assent.contract.fields import parse_duration

    try:
        found = datetime.fromisoformat(text)
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
    except ValueError:
        pass
    try:
        return int((time.time() - parse_duration(text)) * 1000)
    except ValueError:
        raise click.UsageError(f"{text!r} is not a time: write 2026-01-31, or an age such as 15m, 2h or 7d.") from None
