"""`assent engine`: the process that wrapped servers, hooks and the console of one user share."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from assent.cli.shared.options import require_posix

_CONFIG = click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The engine of the servers that were wrapped with this file. Default: that of the user's own configuration.",
)


@click.group()
def engine() -> None:
    """Show or end the engine that `wrap`, hooks and the console of one user share.

    It is started when it is needed, and ends by itself after an hour without use. `engine: off` in the
    configuration switches it off.

    Example: assent engine status
    """


@engine.command()
@_CONFIG
def status(config: Path | None) -> None:
    """Show whether the engine runs, and which servers it runs.

    Exits with 1 if it does not run.

    Example: assent engine status
    """
    found = ask_engine("status", config)
    if found is None:
        click.echo(f"The engine does not run. It starts with the first wrapped server.{_unknown(config)}", err=True)
        raise click.exceptions.Exit(1)
    for line in status_lines(found):
        click.echo(line)


@engine.command()
@_CONFIG
def stop(config: Path | None) -> None:
    """End the engine, and with it every server that it runs. Clients see that their servers have ended.

    Example: assent engine stop
    """
    found = ask_engine("stop", config)
    if found is None:
        click.echo(f"The engine does not run.{_unknown(config)}", err=True)
        return
    from assent.core.question import counted

    servers = f", and {counted(found['servers'], 'server')} with it" if found["servers"] else ""
    click.echo(f"The engine ends{servers}.", err=True)


def _unknown(config: Path | None) -> str:
    return f" There is no file {config}." if config is not None and not config.exists() else ""


def ask_engine(kind: str, config: Path | None, *, start: bool = False) -> dict[str, Any] | None:
    """The engine's answer; None if it does not run. Raises SettingsError with what is wrong."""
    require_posix("assent engine")
    from assent.config.folders import NoHome
    from assent.errors import Fault, SettingsError
    from assent.gateway.engine.client import EngineRefused, ask
    from assent.gateway.engine.find_or_start import Unavailable, Unsafe

    try:
        return ask(kind, config=None if config is None else str(config), start=start)
    except NoHome as error:
        raise SettingsError(Fault(str(error))) from None
    except (EngineRefused, Unavailable, Unsafe, TimeoutError) as error:
        raise SettingsError(Fault(str(error), "Look at it with `assent doctor`")) from None


def status_lines(found: dict[str, Any]) -> list[str]:
    """What the engine says of itself, for a person."""
    from assent.core.question import counted, visible

    servers, doors = found["servers"], found["doors"] / 1e6
    more = f"; `assent wrap` takes {doors:.0f} MB more" if doors else ""
    wrapped = f"{counted(len(servers), 'wrapped server')}{more}" if servers else "no client uses a wrapped server now"
    lines = [
        f"The engine {found['version']} runs (process {found['process']}, {_age(found['since'])},"
        f" {found['memory'] / 1e6:.0f} MB): {wrapped}"
    ]
    lines += [
        f"  {visible(one['name'])}  process {one['process']}, {_age(one['since'])}, {counted(one['calls'], 'call')},"
        f" in {visible(one['folder'])}"
        for one in servers
    ]
    return lines + ([f"  console: {found['console']}/console/"] if found["console"] else [])


def _age(since: float) -> str:
    return f"for {timedelta(seconds=round(max(0.0, time.time() - since)))}"
