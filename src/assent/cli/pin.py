"""`assent pin`: records the tool definitions that a person accepts, and finds later changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from assent.cli.shared.options import config_option, to_be_asked, written_to
from assent.cli.shared.servers import list_tools, settings_naming
from assent.cli.shared.targets import TargetCommand, check_tools, chosen, names_nothing
from assent.config.load import find_settings
from assent.config.model import LOCK, Settings
from assent.config.pins import load_pins
from assent.core.pins import By, Pin, PinChange, compare, pins_text
from assent.core.render import counted, visible
from assent.errors import Fault, SettingsError
from assent.lint.attacks import attacks_in

Listed = dict[str, list[dict[str, Any]]]
"""Definitions by upstream; those of a TARGET under the empty name."""
Pins = dict[str, dict[str, Pin]]
Wanted = set[tuple[str, str]] | None
"""The tools to accept, each with its upstream; None means all."""


class Source(NamedTuple):
    """Where definitions come from, the lock file, and whether listing again starts the servers again."""

    ask: Callable[[], Listed]
    place: Path
    settings: Settings | None
    restarts: bool


@click.command(cls=TargetCommand)
@click.argument("target", required=False)
@click.option("--check", is_flag=True, help="Compare with the lock file. This is the default.")
@click.option("--write", is_flag=True, help="Accept the current definitions.")
@click.option("--yes", is_flag=True, help="With --write: do not ask for confirmation.")
@click.option(
    "--tool",
    "only",
    multiple=True,
    metavar="[UPSTREAM:]NAME",
    help="With --write: accept only this tool; may be repeated.",
)
@click.option(
    "--by",
    type=click.Choice(["definition", "effect"]),
    help="With --write: pin the whole definition, or only name and effect. Default: as pinned before.",
)
@click.option(
    "--lock", type=click.Path(path_type=Path, dir_okay=False), help="The lock file. Default: the configuration's."
)
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header to send to a URL.")
@config_option
@click.pass_context
def pin(
    ctx: click.Context,
    target: str | None,
    check: bool,
    write: bool,
    yes: bool,
    only: tuple[str, ...],
    by: By | None,
    lock: Path | None,
    headers: tuple[str, ...],
    config: Path | None,
) -> None:
    """Record or check the digests of tool definitions, including annotations.

    Reads the upstreams of the configuration, the one that TARGET names, or TARGET itself (a URL, a file of
    definitions, or a command after `--`). Exit code 0: no difference; 1: a tool changed, is new or is gone.

    Example: assent pin --write -c assent.yaml
    """
    if check and write:
        raise click.UsageError("--check and --write exclude each other.", ctx)
    for given, option in ((only, "--tool"), (by, "--by"), (yes, "--yes")):
        if given and not write:
            raise click.UsageError(f"{option} needs --write.", ctx)
    source = _source(ctx, target, headers, config)
    place = lock or source.place
    known = load_pins(place)
    if known is None and not write:
        raise SettingsError(Fault("there is no lock file", "Create it with `assent pin --write`", file=str(place)))
    pins, listed = known or {}, source.ask()
    asked_upstreams = set(listed)
    if names_nothing(ctx, target):  # All tools of a removed upstream are gone.
        listed |= {name: [] for name in pins if name and name not in asked_upstreams}
    changes = {name: compare(pins.get(name, {}), found, attacks_in) for name, found in listed.items()}
    wanted = _wanted(only, listed, pins) if only else None
    if write:
        _check_single(listed, wanted)
    shown_changes = {
        name: [one for one in found if _is_wanted(wanted, name, one.tool)] for name, found in changes.items()
    }
    _print(shown_changes, listed)
    if not write:
        if any(changes.values()):
            _warn_unstable(source, listed, pins)
        ctx.exit(1 if any(changes.values()) else 0)
    now = {name: _accepted(name, pins.get(name, {}), found, wanted, by) for name, found in listed.items()}
    accepted = {name: found for name, found in {**pins, **now}.items() if found or name in asked_upstreams}
    _warn_unstable(source, listed, accepted)
    if known is None or pins_text(accepted) != pins_text(known):
        _warn_withheld(source, place, changes, wanted)
        if to_be_asked(yes) and not click.confirm("Accept these definitions?", err=True):
            click.echo("Nothing was written.", err=True)
            ctx.exit(1)
        written_to(place, pins_text(accepted), "--lock")
    left = sum(not _is_wanted(wanted, name, one.tool) for name, found in changes.items() for one in found)
    others = f"; {left} changes of other tools are not" if left else ""
    click.echo(f"{place}: {_count(wanted, now)} accepted{others}", err=True)


def _warn_unstable(source: Source, listed: Listed, pins: Pins) -> None:
    """Starts the servers a second time and names those that list different definitions."""
    if not source.restarts:
        return
    for name, again in source.ask().items():
        ways = {tool: one.by for tool, one in pins.get(name, {}).items()}
        before = {str(one.get("name")): one for one in listed.get(name, [])}
        now = {tool: Pin.of(one, ways.get(tool, "definition")) for tool, one in before.items()}
        found = [change.tool for change in compare(now, again, attacks_in)]
        if found:
            tools = visible(", ".join(found[:10])) + (", ..." if len(found) > 10 else "")
            click.echo(
                f"{name or 'The server'} lists other definitions at every start: {tools}. If the whole definition is"
                " pinned, the gateway withholds these tools after the next start. Pin them by name and effect:"
                f" `assent pin --write --by effect {name or 'TARGET'}`",
                err=True,
            )


def _warn_withheld(source: Source, place: Path, changes: dict[str, list[PinChange]], wanted: Wanted) -> None:
    """Tells what a gateway withholds once the lock file is written."""
    settings = source.settings
    if settings is None or settings.pins is None or Path(settings.pins).resolve() != place.resolve():
        click.echo(f"No configuration here uses {place}, so no gateway withholds a tool because of it.", err=True)
        return
    click.echo(
        f"From now on the gateway withholds every tool that is not in {place} or differs from it, until you accept it.",
        err=True,
    )
    left = [
        f"{name}:{one.tool}"
        for name, found in changes.items()
        for one in found
        if one.kind != "gone" and not _is_wanted(wanted, name, one.tool)
    ]
    if left:
        click.echo(f"Withheld now: {visible(', '.join(left))}", err=True)


def _check_single(listed: Listed, wanted: Wanted) -> None:
    """Refuses to accept one of two definitions with the same name, because it is unknown which one is called."""
    twice = [
        (upstream, name)
        for upstream, found in listed.items()
        for name, number in Counter(str(one.get("name")) for one in found).items()
        if number > 1 and _is_wanted(wanted, upstream, name)
    ]
    if twice:
        remedy = "Make its server list it once; a tool that is listed twice cannot be accepted"
        heads = [f"{upstream}:{name}" if upstream else name for upstream, name in twice]
        raise SettingsError([Fault("it is listed twice", remedy, visible(head)) for head in heads])


def _wanted(only: tuple[str, ...], listed: Listed, pins: Pins) -> set[tuple[str, str]]:
    """The named tools: by their own name if only one upstream has it, otherwise as `upstream:name`."""
    known = {
        (upstream, name)
        for upstream, found in listed.items()
        for name in {*(str(one.get("name")) for one in found), *pins.get(upstream, {})}
    }
    wanted: set[tuple[str, str]] = set()
    faults: list[Fault] = []
    for given in only:
        # A tool's own name may contain a colon.
        fitting = {one for one in known if given in (one[1], f"{one[0]}:{one[1]}")}
        if len(fitting) == 1:
            wanted |= fitting
        elif fitting:
            names = " or ".join(sorted(f"{upstream}:{name}" for upstream, name in fitting))
            faults.append(Fault("several upstreams have a tool with this name", f"Write {names}", given))
        else:
            faults.append(Fault("no tool has this name", "Write the upstream's own name, without a prefix", given))
    if faults:
        raise SettingsError(faults)
    return wanted


def _is_wanted(wanted: Wanted, upstream: str, tool: str) -> bool:
    return wanted is None or (upstream, tool) in wanted


def _count(wanted: Wanted, accepted: Pins) -> str:
    return counted(sum(map(len, accepted.values())) if wanted is None else len(wanted), "definition")


def _accepted(
    upstream: str, pins: dict[str, Pin], found: list[dict[str, Any]], wanted: Wanted, by: By | None
) -> dict[str, Pin]:
    """The pins after writing: a tool keeps its kind of pin, a new one gets that of its upstream's other tools."""
    usual: By = "effect" if any(one.by == "effect" for one in pins.values()) else "definition"
    named = {str(one.get("name")): one for one in found}
    now = {name: Pin.of(one, by or (pins[name].by if name in pins else usual)) for name, one in named.items()}
    if wanted is None:
        return now
    kept = {name: one for name, one in pins.items() if (upstream, name) not in wanted}
    return kept | {name: one for name, one in now.items() if (upstream, name) in wanted}


def _source(ctx: click.Context, target: str | None, headers: tuple[str, ...], config: Path | None) -> Source:
    settings = settings_naming(target, config) if target is not None else None
    if settings is None and not names_nothing(ctx, target):
        return _target_source(ctx, target, headers)
    settings = settings or find_settings(config)
    if not settings.upstreams:
        raise SettingsError(Fault("no upstreams are configured", "Add some, or name a TARGET", "upstreams"))
    named = {name: one for name, one in settings.upstreams.items() if target in (None, name)}
    servers = {name: one for name, one in named.items() if one.openapi is None}
    # An OpenAPI document is chosen by the operator and versioned elsewhere.
    apis: Listed = {name: [] for name in named.keys() - servers.keys()}
    for name in apis:
        click.echo(f"{name}: OpenAPI documents are not pinned", err=True)

    def ask() -> Listed:
        found: Listed = {name: list(list_tools(name, one)) for name, one in servers.items()}
        for name, definitions in found.items():
            check_tools(definitions, name)
        return found | apis

    return Source(ask, Path(settings.pins or LOCK), settings, restarts=True)


def _target_source(ctx: click.Context, target: str | None, headers: tuple[str, ...]) -> Source:
    what = chosen(ctx, target, "spec", (), headers)

    def ask() -> Listed:
        read = what.read()
        if read.target.configuration or any(one.partial or one.method for one in read.target.subjects):
            remedy = "Name a configuration with -c, or a URL, a file of definitions or a command"
            raise SettingsError(Fault("it contains no server definitions to pin", remedy, file=target or ""))
        found = [dict(subject.definition) for subject in read.target.subjects]
        check_tools(found, read.target.name)
        return {"": found}

    is_file = target == "-" or (target is not None and Path(target).is_file())
    beside = Path("assent.yaml")
    settings = None
    with suppress(SettingsError):  # Errors of an unrelated configuration do not matter here.
        settings = find_settings(beside) if beside.exists() else None
    return Source(ask, Path(LOCK), settings, restarts=not is_file)


def _print(changes: dict[str, list[PinChange]], listed: Listed) -> None:
    """Prints the differences, and the suspicious texts of new or changed tools."""
    for upstream, found in changes.items():
        head = f"{upstream}: " if upstream else ""
        definitions = {str(one.get("name")): one for one in listed.get(upstream, [])}
        for change in found:
            click.echo(f"{head}{change}")
            attacks = attacks_in(definitions[change.tool]) if change.tool in definitions else []
            if attacks:
                lines = "\n".join(f"  {visible(one)}" for one in attacks)
                click.echo(f"{head}attack  {visible(change.tool)}\n{lines}")
