"""Options, prompts and tables that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assent.contract.profiles import GENERAL, profile_names
from assent.errors import Fault, SettingsError
from assent.people.local_operator import console_person as console_person
from assent.people.local_operator import operator as operator

if TYPE_CHECKING:
    from rich.console import Console

    from assent.config.model import Settings

Command = TypeVar("Command", bound=Callable[..., Any])


FILE = click.Path(path_type=Path, dir_okay=False)
EXISTING_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


def config_option(command: Command) -> Command:
    """Adds `-c FILE`, the configuration to use."""
    said = "The configuration file. Default: ./assent.yaml, then the user's own."
    return click.option("-c", "--config", type=FILE, help=said)(command)


def own_config_option(command: Command) -> Command:
    """Adds `-c FILE` for commands that clients start, in whatever folder."""
    said = "The configuration file. Default: the user's own, independent of the current folder."
    return click.option("-c", "--config", type=FILE, help=said)(command)


def store_option(command: Command) -> Command:
    """Adds `-c FILE` and `--store URL`: the records of a gateway, or of a library server without a configuration."""
    return config_option(
        click.option(
            "--store",
            metavar="URL",
            expose_value=False,
            callback=_keep_store,
            help="The store of a library server, instead of a configuration: sqlite:///shop.db, postgresql://…",
        )(command)
    )


def _keep_store(context: click.Context, _option: click.Parameter, url: str | None) -> None:
    if url is not None:
        context.meta["assent.store"] = url


def store_settings(config: Path | None) -> Settings:
    """The settings that name the store: of `--store`, or of the configuration."""
    from assent.config.load import OUTSIDE, find_settings
    from assent.config.model import SecretsSettings, Settings
    from assent.stores.open import check_url

    url = click.get_current_context().meta.get("assent.store")
    if url is None:
        return find_settings(config, unused=OUTSIDE)
    if config is not None:
        raise click.UsageError("-c and --store name two stores. Give one of them.")
    check_url(url)
    return Settings(store=url, secrets=SecretsSettings(directory=""))


def to_be_asked(yes: bool, remedy: str = "In a script, add --yes.") -> bool:
    """Whether to ask for confirmation before an irreversible step; without a terminal, --yes is required."""
    if not yes and not sys.stdin.isatty():
        raise click.UsageError(f"There is no terminal for the confirmation, so nothing was done. {remedy}")
    return not yes


def print_records(
    form: str, found: Sequence[object], names: Sequence[str], rows: Sequence[Sequence[str]], none: str
) -> None:
    """Prints records as JSON, or their rows: as a table at a terminal, else with tabs. `none` is said for none."""
    if form == "json":
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif not rows:
        click.echo(none, err=True)
    elif sys.stdout.isatty():
        print_table(names, rows)
    else:
        for row in rows:
            click.echo("\t".join(row))


def date_of(at: float) -> str:
    """A moment in UTC, to the minute."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def print_table(names: Sequence[str], rows: Sequence[Sequence[str]], console: Console | None = None) -> None:
    """Prints a table. The first column is never wrapped, because the next command needs it; others may wrap."""
    from rich.console import Console
    from rich.table import Column, Table

    whole = max([len(names[0]), *(len(row[0]) for row in rows)])
    first = Column(names[0], no_wrap=True, min_width=whole)
    table = Table(first, *(Column(name, overflow="fold") for name in names[1:]), box=None)
    for row in rows:
        table.add_row(*row)
    (console or Console()).print(table)


def require_posix(command: str) -> None:
    """Stop at once on Windows: processes are ended by group, signals and file locks are those of POSIX."""
    if sys.platform == "win32":
        message = f"{command} does not run on Windows: it needs the process groups, signals and file locks of POSIX"
        raise SettingsError(Fault(message, "Run Assent in WSL, Linux or macOS. Nothing was changed"))


def module_of_clone(name: str, folder: str, what: str, command: str) -> Any:
    """A module that only a clone of the source has, in this folder of it; stops where there is none."""
    home = Path(__file__).parents[4] / folder
    if not (home / name.partition(".")[0]).is_dir():
        fault = Fault(f"{what} is not part of the installed package", f"Run `{command}` in a clone of the source")
        raise SettingsError(fault)
    sys.path.insert(0, str(home))
    return import_module(name)


COMMAND = "assent.command"
"""The key of the command after `--` in the context of a click command."""


class TargetCommand(click.Command):
    """A command whose TARGET may also be `-- COMMAND [ARG...]`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[COMMAND] = tuple(args[at + 1 :])
            if not ctx.meta[COMMAND]:
                raise click.UsageError("There is no command after `--`.", ctx)
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND [ARG...]]"]


def target_options(command: Command) -> Command:
    """Adds TARGET and the options for reading it."""
    return click.argument("target", required=False)(reading_options(command))


def reading_options(command: Command) -> Command:
    """Adds the options for reading a target."""
    for decorate in reversed(
        (
            click.option("--profile", type=click.Choice(profile_names()), default="spec", show_default=True,
                         metavar=f"[{'|'.join(GENERAL)}|...]",
                         help="The profile for contracts and rules; a configuration may set its own."),
            click.option("--contracts", multiple=True, metavar="PATTERN", help="Contract files for the definitions."),
            click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header for a URL."),
        )
    ):  # fmt: skip
        command = decorate(command)
    return command
