"""`assent pin`: do upstream tools still say what they said when somebody accepted it?"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from assent.bootstrap import load_pins
from assent.commands.options import config_option, written_to
from assent.commands.targets import TargetCommand, check_tools, chosen, names_nothing
from assent.core.pins import Change, Pin, compare, pins_of, pins_text
from assent.core.render import visible
from assent.edges.listing import NotListedError, listed_at, listed_by
from assent.errors import Fault, SettingsError
from assent.settings import UpstreamSettings, find_settings

LOCK = "assent.lock"
Listed = dict[str, list[dict[str, Any]]]


@click.command(cls=TargetCommand)
@click.argument("target", required=False)
@click.option("--check", is_flag=True, help="Compare with the lock file; the default.")
@click.option("--write", is_flag=True, help="Accept the definitions as they are now.")
@click.option(
    "--tool",
    "only",
    multiple=True,
    metavar="[UPSTREAM:]NAME",
    help="With --write: accept only this tool; may be repeated.",
)
@click.option(
    "--lock", type=click.Path(path_type=Path, dir_okay=False), help="The lock file; else the configuration's."
)
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent to a URL.")
@config_option
@click.pass_context
def pin(
    ctx: click.Context,
    target: str | None,
    check: bool,
    write: bool,
    only: tuple[str, ...],
    lock: Path | None,
    headers: tuple[str, ...],
    config: Path | None,
) -> None:
    """Record or check the digests of whole tool definitions, annotations included.

    Looks at the upstreams of the configuration, or at TARGET (a URL, a file of definitions, or a command after `--`).
    Exit code 0: equal; 1: something changed, is new or is gone.
    """
    if check and write:
        raise click.UsageError("--check and --write exclude each other.", ctx)
    if only and not write:
        raise click.UsageError("--tool says what is accepted: it goes with --write.", ctx)
    listed, place = _listed(ctx, target, headers, config)
    place = lock or place
    known = load_pins(place)
    if known is None and not write:
        raise SettingsError(Fault("there is no lock file", "Write it with `assent pin --write`", file=str(place)))
    pins = known or {}
    asked = set(listed)
    if names_nothing(ctx, target):  # of an upstream that left the configuration all is gone
        listed |= {name: [] for name in pins if name and name not in asked}
    changes = {name: compare(pins.get(name, {}), found) for name, found in listed.items()}
    if write:
        wanted = _wanted(only, listed, pins) if only else None
        _check_single(listed, wanted)
        _print({name: [one for one in found if _meant(wanted, name, one.tool)] for name, found in changes.items()})
        now = {name: _accepted(name, pins.get(name, {}), found, wanted) for name, found in listed.items()}
        accepted = {name: found for name, found in {**pins, **now}.items() if found or name in asked}
        written_to(place, pins_text(accepted), "--lock")
        left = sum(not _meant(wanted, name, one.tool) for name, found in changes.items() for one in found)
        others = f"; {left} changes of other tools are not" if left else ""
        click.echo(f"{place}: {_count(wanted, now)} accepted{others}", err=True)
        return
    _print(changes)
    ctx.exit(1 if any(changes.values()) else 0)


Wanted = set[tuple[str, str]] | None
"""The tools to accept, each with its upstream; None: all of them."""


def _check_single(listed: Listed, wanted: Wanted) -> None:
    """Refuse to accept one of two definitions of the same name: nobody knows which of them will be called."""
    twice = [
        (upstream, name)
        for upstream, found in listed.items()
        for name, number in Counter(str(one.get("name")) for one in found).items()
        if number > 1 and _meant(wanted, upstream, name)
    ]
    if twice:
        remedy = "Have its server list it once; what is listed twice cannot be accepted"
        heads = [f"{upstream}:{name}" if upstream else name for upstream, name in twice]
        raise SettingsError([Fault("it is listed twice", remedy, visible(head)) for head in heads])


def _wanted(only: tuple[str, ...], listed: Listed, pins: dict[str, dict[str, Pin]]) -> set[tuple[str, str]]:
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


def _meant(wanted: Wanted, upstream: str, tool: str) -> bool:
    return wanted is None or (upstream, tool) in wanted


def _count(wanted: Wanted, accepted: dict[str, dict[str, Pin]]) -> str:
    number = sum(map(len, accepted.values())) if wanted is None else len(wanted)
    return f"{number} definition" + ("" if number == 1 else "s")


def _accepted(upstream: str, pins: dict[str, Pin], found: list[dict[str, Any]], wanted: Wanted) -> dict[str, Pin]:
    now = pins_of(found)
    if wanted is None:
        return now
    kept = {name: one for name, one in pins.items() if (upstream, name) not in wanted}
    return kept | {name: one for name, one in now.items() if (upstream, name) in wanted}


def _listed(
    ctx: click.Context, target: str | None, headers: tuple[str, ...], config: Path | None
) -> tuple[Listed, Path]:
    if not names_nothing(ctx, target):
        read = chosen(ctx, target, "spec", (), headers).read()
        if read.target.configuration or any(one.partial or one.method for one in read.target.subjects):
            remedy = "Name a configuration with -c, or a URL, a file of definitions or a command"
            raise SettingsError(Fault("it holds no definitions of a server to be pinned", remedy, file=target or ""))
        found = [dict(subject.definition) for subject in read.target.subjects]
        check_tools(found, read.target.name)
        return {"": found}, Path(LOCK)
    settings = find_settings(config)
    if not settings.upstreams:
        raise SettingsError(Fault("there are no upstreams", "Name some, or a TARGET", "upstreams"))
    listed = {name: _of_upstream(name, one) for name, one in settings.upstreams.items()}
    for name, found in listed.items():
        check_tools(found, name)
    return listed, Path(settings.pins or LOCK)


def _of_upstream(name: str, upstream: UpstreamSettings) -> list[dict[str, Any]]:
    try:
        return asyncio.run(_definitions(name, upstream))
    except NotListedError as error:
        raise NotListedError(f"{name}: {error}") from None


async def _definitions(name: str, upstream: UpstreamSettings) -> list[dict[str, Any]]:
    if upstream.url is not None:
        return await listed_at(upstream.url, upstream.headers)
    if upstream.command is not None:
        errors = sys.__stderr__ or sys.stderr
        return await listed_by(upstream.command, errors=errors, env=upstream.env, cwd=upstream.cwd)
    # An API description is a file of the operator's own; whoever keeps it keeps its history.
    click.echo(f"{name}: an API description is not pinned", err=True)
    return []


def _print(changes: dict[str, list[Change]]) -> None:
    for upstream, found in changes.items():
        for change in found:
            head = f"{upstream}: " if upstream else ""
            click.echo(f"{head}{change}")
