"""`assent pin`: records the definitions of upstream tools as a person accepts them, and finds what differs later."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from assent.cli.shared.options import FILE, TargetCommand, config_option, to_be_asked
from assent.cli.shared.servers import list_tools, settings_naming, settings_to_ask
from assent.core.question import counted, visible
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings
    from assent.core.pins import By, Pin, PinChange, Wanted

_NO_LOCK = "Write it with `assent pin --write`; to accept what a gateway has seen: `assent pin --accept NAME`"
Listed = dict[str, list[dict[str, Any]]]
"""Definitions by upstream; those of a TARGET under the empty name."""
Pins = dict[str, dict[str, "Pin"]]


class Source(NamedTuple):
    """Where definitions come from, where pins of them are kept, and whether asking again starts the servers anew."""

    ask: Callable[[Collection[str] | None], Listed]
    """Lists the tools of these servers, or of all."""
    place: Path
    settings: Settings | None
    restarts: bool


@click.command(cls=TargetCommand)
@click.argument("target", metavar="[TARGET|NAME]", required=False)
@click.option("--check", is_flag=True, help="Compare with the lock file; the default.")
@click.option("--write", is_flag=True, help="Accept the definitions as they are now, once you have seen them.")
@click.option(
    "--accept", is_flag=True, help="Accept the tool NAME as a gateway saw it last; with --all, every tool it has seen."
)
@click.option("--all", "every", is_flag=True, help="With --accept: all tools.")
@click.option("--yes", is_flag=True, help="With --write or --accept: do not ask.")
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
    help="With --write: what may not change, the whole definition or only the name and the effect; else as before.",
)
@click.option("--lock", type=FILE, help="The lock file; else the configuration's.")
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent to a URL.")
@config_option
@click.pass_context
def pin(
    ctx: click.Context,
    target: str | None,
    check: bool,
    write: bool,
    accept: bool,
    every: bool,
    yes: bool,
    only: tuple[str, ...],
    by: By | None,
    lock: Path | None,
    headers: tuple[str, ...],
    config: Path | None,
) -> None:
    """Record or check the digests of whole tool definitions, annotations included.

    Looks at the upstreams of the configuration, at the one that TARGET names, or at TARGET itself (a URL, a file of
    definitions, or a command after `--`). Exit code 0: equal; 1: something changed, is new or is gone.

    Without a lock file, gateways pin definitions when they first see them, and withhold a tool that changed
    materially until you accept it.

    \b
    Examples:
      assent pin --check -c assent.yaml
      assent pin --accept refund
    """
    from assent.checks.lint.attacks import attacks_in
    from assent.cli.shared.targets import names_nothing
    from assent.config.lock_file import load_pins, write_pins
    from assent.core.pins import accepted_pins, check_listed_once, compare, pins_text

    if check + write + accept > 1:
        raise click.UsageError("--check, --write and --accept exclude each other.", ctx)
    if every and not accept:
        raise click.UsageError("--all needs --accept.", ctx)
    if accept:
        if every == (target is not None):
            raise click.UsageError("--accept needs the name of a tool, or --all.", ctx)
        if not (lock or _lock_file(config)):
            from assent.cli.pin_accept import accept as accept_seen

            ctx.exit(accept_seen(target, config, yes=yes))
        write, only, target, yes = True, (target,) if target else (), None, yes or not sys.stdin.isatty()
    for given, option in ((only, "--tool"), (by, "--by"), (yes, "--yes")):
        if given and not write:
            raise click.UsageError(f"{option} needs --write: it says how definitions are accepted.", ctx)
    source = _source(ctx, target, headers, config)
    place = lock or source.place
    known = load_pins(place)
    if known is None and not write:
        raise SettingsError(Fault("there is no lock file", _NO_LOCK, file=str(place)))
    pins, listed = known or {}, source.ask(None)
    asked = set(listed)
    if names_nothing(ctx, target):  # of an upstream that left the configuration all is gone
        listed |= {name: [] for name in pins if name and name not in asked}
    changes = {name: compare(pins.get(name, {}), found, attacks_in) for name, found in listed.items()}
    wanted = _select_tools(only, listed, pins) if only else None
    if write:
        check_listed_once(listed, wanted)
    meant = {name: [one for one in found if _is_selected(wanted, name, one.tool)] for name, found in changes.items()}
    _print(meant, listed)
    if by != "effect":
        changed = {name for name, found in changes.items() if any(one.kind == "changed" for one in found)}
        _tell_restless(source, listed, pins, changed)
    if not write:
        ctx.exit(1 if any(changes.values()) else 0)
    now = {name: accepted_pins(name, pins.get(name, {}), found, wanted, by) for name, found in listed.items()}
    accepted = {name: found for name, found in {**pins, **now}.items() if found or name in asked}
    if known is None or pins_text(accepted) != pins_text(known):
        _tell_withheld(source, place, changes, wanted)
        if to_be_asked(yes) and not click.confirm("Accept these definitions?", err=True):
            click.echo("Nothing was written.", err=True)
            ctx.exit(1)
        write_pins(place, accepted, "--lock")
    left = sum(not _is_selected(wanted, name, one.tool) for name, found in changes.items() for one in found)
    others = f"; {left} changes of other tools are not" if left else ""
    count = sum(map(len, now.values())) if wanted is None else len(wanted)
    click.echo(f"{place}: {counted(count, 'definition')} accepted{others}", err=True)


def _lock_file(config: Path | None) -> Path | None:
    """The lock file of the configuration, if there is one."""
    from assent.config.load import OUTSIDE, find_settings

    place = find_settings(config, unused=OUTSIDE).lock_file
    return place if place is not None and place.exists() else None


def _tell_restless(source: Source, listed: Listed, pins: Pins, changed: set[str]) -> None:
    """Start the changed servers a second time and name those that list other definitions than a moment ago."""
    from assent.checks.lint.attacks import attacks_in
    from assent.core.pins import Pin, compare

    if not source.restarts or not changed:
        return
    for name, again in source.ask(changed).items():
        ways = {tool: one.by for tool, one in pins.get(name, {}).items()}
        before = {str(one.get("name")): one for one in listed.get(name, [])}
        now = {tool: Pin.of(one, ways.get(tool, "definition")) for tool, one in before.items()}
        found = [change.tool for change in compare(now, again, attacks_in)]
        if found:
            tools = visible(", ".join(found[:10])) + (", ..." if len(found) > 10 else "")
            what = f"{name or 'The server'} lists other definitions at every start: {tools}"
            why = "Pinned by their whole definition, these tools are withheld from the next start on"
            fix = f"Pin them by name and effect: `assent pin --write --by effect {name or 'TARGET'}`"
            click.echo(f"{what}. {why}. {fix}", err=True)


def _tell_withheld(source: Source, place: Path, changes: dict[str, list[PinChange]], wanted: Wanted) -> None:
    """Say what a gateway withholds once this is written."""
    settings = source.settings
    if settings is None or settings.lock_file is None or settings.lock_file.resolve() != place.resolve():
        click.echo(f"No configuration here uses {place}: no gateway withholds a tool because of it.", err=True)
        return
    until = "or not as it says there, until you accept it"
    click.echo(f"From now on the gateway withholds every tool that is not in {place}, {until}.", err=True)
    there = ((name, one) for name, found in changes.items() for one in found if one.kind != "gone")
    left = [f"{name}:{one.tool}" for name, one in there if not _is_selected(wanted, name, one.tool)]
    if left:
        click.echo(f"Withheld now: {visible(', '.join(left))}", err=True)


def _select_tools(only: tuple[str, ...], listed: Listed, pins: Pins) -> set[tuple[str, str]]:
    """The tools that were named, by their own name where only one upstream has it, else as `upstream:name`."""
    known = {
        (upstream, name)
        for upstream, found in listed.items()
        for name in {*(str(one.get("name")) for one in found), *pins.get(upstream, {})}
    }
    wanted: set[tuple[str, str]] = set()
    faults: list[Fault] = []
    for given in only:
        # A tool's own name may hold a colon too.
        fitting = {one for one in known if given in (one[1], f"{one[0]}:{one[1]}")}
        if len(fitting) == 1:
            wanted |= fitting
        elif fitting:
            names = " or ".join(sorted(f"{upstream}:{name}" for upstream, name in fitting))
            faults.append(Fault("several upstreams have a tool of this name", f"Write {names}", given))
        else:
            faults.append(Fault("no tool has this name", "Write it as its own upstream does, without a prefix", given))
    if faults:
        raise SettingsError(faults)
    return wanted


def _is_selected(wanted: Wanted, upstream: str, tool: str) -> bool:
    return wanted is None or (upstream, tool) in wanted


def _source(ctx: click.Context, target: str | None, headers: tuple[str, ...], config: Path | None) -> Source:
    from assent.cli.shared.targets import check_tools, names_nothing
    from assent.config.model import LOCK

    settings = settings_naming(target, config) if target is not None else None
    if settings is None and not names_nothing(ctx, target):
        return _target_source(ctx, target, headers)
    settings = settings or settings_to_ask(config)
    if not settings.upstreams:
        raise SettingsError(Fault("there are no upstreams", "Name some, or a TARGET", "upstreams"))
    named = {name: one for name, one in settings.upstreams.items() if target in (None, name)}
    servers = {name: one for name, one in named.items() if one.openapi is None}
    # An API description is a file of the operator's own; whoever keeps it keeps its history.
    apis: Listed = {name: [] for name in named.keys() - servers.keys()}
    for name in apis:
        click.echo(f"{name}: an API description is not pinned", err=True)

    def ask(only: Collection[str] | None) -> Listed:
        wanted = {name: one for name, one in servers.items() if only is None or name in only}
        found: Listed = {name: list(list_tools(name, one, settings)) for name, one in wanted.items()}
        for name, definitions in found.items():
            check_tools(definitions, name)
        return found | apis if only is None else found

    return Source(ask, settings.lock_file or Path(LOCK), settings, restarts=True)


def _target_source(ctx: click.Context, target: str | None, headers: tuple[str, ...]) -> Source:
    from assent.cli.shared.targets import check_tools, chosen
    from assent.config.load import HERE, find_settings
    from assent.config.model import LOCK

    what = chosen(ctx, target, "spec", (), headers)

    def ask(only: Collection[str] | None) -> Listed:
        read = what.read()
        if read.target.configuration or any(one.partial or one.method for one in read.target.subjects):
            remedy = "Name a configuration with -c, or a URL, a file of definitions or a command"
            raise SettingsError(Fault("it holds no definitions of a server to be pinned", remedy, file=target or ""))
        found = [dict(subject.definition) for subject in read.target.subjects]
        check_tools(found, read.target.name)
        return {"": found}

    is_file = target == "-" or (target is not None and Path(target).is_file())
    if target is not None and not is_file and "://" not in target:
        what.read()  # What names nothing is said before anything about a lock file.
    settings = None
    with suppress(SettingsError):  # a configuration of its own trouble is not what was named here
        settings = find_settings(None, unused=["*"], but=["pins"]) if HERE.exists() else None
    return Source(ask, Path(LOCK), settings, restarts=not is_file)


def _print(changes: dict[str, list[PinChange]], listed: Listed) -> None:
    """What differs, and of what is new or changed everything that looks like an attack."""
    from assent.checks.lint.attacks import attacks_in

    for upstream, found in changes.items():
        head = f"{upstream}: " if upstream else ""
        definitions = {str(one.get("name")): one for one in listed.get(upstream, [])}
        for change in found:
            click.echo(f"{head}{change}")
            attacks = attacks_in(definitions[change.tool]) if change.tool in definitions else []
            if attacks:
                lines = "\n".join(f"  {visible(one)}" for one in attacks)
                click.echo(f"{head}attack  {visible(change.tool)}\n{lines}")
