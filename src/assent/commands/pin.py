"""`assent pin`: do upstream tools still say what they said when somebody accepted it?"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from assent.commands.options import config_option
from assent.commands.targets import TargetCommand, chosen
from assent.core.pins import Change, Pin, compare, pins_of, pins_text, read_pins
from assent.edges.listing import listed_at, listed_by
from assent.errors import Fault, SettingsError
from assent.settings import UpstreamSettings, find_settings

LOCK = "assent.lock"
Listed = dict[str, list[dict[str, Any]]]


@click.command(cls=TargetCommand)
@click.argument("target", required=False)
@click.option("--check", is_flag=True, help="Compare with the lock file; the default.")
@click.option("--write", is_flag=True, help="Accept the definitions as they are now.")
@click.option("--tool", "only", multiple=True, metavar="NAME", help="Accept only this tool; may be repeated.")
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
    listed, place = _listed(ctx, target, headers, config)
    place = lock or place
    pins = _pins(place) if place.exists() else {}
    if not place.exists() and not write:
        raise SettingsError(Fault("there is no lock file", "Write it with `assent pin --write`", file=str(place)))
    changes = {name: compare(pins.get(name, {}), found) for name, found in listed.items()}
    _print(changes)
    if write:
        accepted = {**pins, **{name: _accepted(pins.get(name, {}), found, only) for name, found in listed.items()}}
        _replace(place, pins_text(accepted))
        click.echo(f"{place}: {sum(map(len, accepted.values()))} definitions accepted", err=True)
        return
    ctx.exit(1 if any(changes.values()) else 0)


def _accepted(pins: dict[str, Pin], found: list[dict[str, Any]], only: tuple[str, ...]) -> dict[str, Pin]:
    now = pins_of(found)
    if not only:
        return now
    missing = [name for name in only if name not in now and name not in pins]
    if missing:
        raise SettingsError([Fault("no tool has this name", "Correct it", name) for name in missing])
    kept = {name: one for name, one in pins.items() if name not in only}
    return kept | {name: now[name] for name in only if name in now}


def _listed(
    ctx: click.Context, target: str | None, headers: tuple[str, ...], config: Path | None
) -> tuple[Listed, Path]:
    if target is not None or ctx.meta.get("assent.command"):
        read = chosen(ctx, target, "spec", (), headers).read()
        found = [dict(subject.definition) for subject in read.target.subjects]
        return {"": found}, Path(LOCK)
    settings = find_settings(config)
    if not settings.upstreams:
        raise SettingsError(Fault("there are no upstreams", "Name some, or a TARGET", "upstreams"))
    listed = {name: asyncio.run(_of_upstream(name, one)) for name, one in settings.upstreams.items()}
    return listed, Path(settings.pins or LOCK)


async def _of_upstream(name: str, upstream: UpstreamSettings) -> list[dict[str, Any]]:
    if upstream.url is not None:
        return await listed_at(upstream.url, upstream.headers)
    if upstream.command is not None:
        errors = sys.__stderr__ or sys.stderr
        return await listed_by(upstream.command, errors=errors, env=upstream.env, cwd=upstream.cwd)
    # An API description is a file of the operator's own; whoever keeps it keeps its history.
    click.echo(f"{name}: an API description is not pinned", err=True)
    return []


def _pins(path: Path) -> dict[str, dict[str, Pin]]:
    try:
        return read_pins(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(Fault(f"cannot be read: {error}", "Correct the path", file=str(path))) from None


def _replace(place: Path, text: str) -> None:
    """Write it in one step: a running gateway watches the file and must not read half of it."""
    draft = place.with_name(f".{place.name}.new")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(place)
    except OSError as error:
        fault = Fault(f"cannot be written: {error.strerror}", "Choose another --lock", file=str(place))
        raise SettingsError(fault) from None


def _print(changes: dict[str, list[Change]]) -> None:
    for upstream, found in changes.items():
        for change in found:
            head = f"{upstream}: " if upstream else ""
            click.echo(f"{head}{change}")
