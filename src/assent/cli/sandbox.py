"""`assent sandbox`: says what this machine can confine, and what a server needs in its box."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assent.cli.shared.options import config_option
from assent.core.question import visible
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.upstreams.sandbox.usage import Usage


@click.group()
def sandbox() -> None:
    """Confine servers to what they are granted: see what this machine can do, and what a server needs.

    Example: assent sandbox check
    """


@sandbox.command()
def check() -> None:
    """List what a box needs, and whether this machine has it. Exits with 1 if something is missing.

    Example: assent sandbox check
    """
    from assent.upstreams.sandbox.support import findings

    found = findings()
    for one in found:
        click.echo(
            f"{'missing' if one.missing else 'ok     '}  {one.what}" + (f": {one.missing}" if one.missing else "")
        )
        if one.remedy and one.missing:
            click.echo(f"         Fix: {one.remedy}")
    if any(one.missing for one in found):
        click.echo("`sandbox: enforce` does not start a server here; `observe` says so and goes on.", err=True)
        raise click.exceptions.Exit(1)


@sandbox.command()
@click.argument("upstream")
@config_option
def learn(upstream: str, config: Path | None) -> None:
    """Print the settings that fit what an observed server used.

    Run it with `sandbox: observe` for a while first, and use every tool that you need. Read what it prints before
    you use it: a server that misbehaved was observed, too.

    Example: assent sandbox learn files
    """
    from assent.cli.shared.store_access import with_ports
    from assent.upstreams.sandbox.link import stored_usage
    from assent.upstreams.sandbox.usage import profile_lines

    usage: Usage | None = with_ports(config, lambda ports: stored_usage(ports.store, upstream))
    if usage is None:
        remedy = f"Write `sandbox: observe` under upstreams.{visible(upstream)}, use the server, and try again"
        raise SettingsError(Fault(f"nothing was observed of {visible(upstream)}", remedy))
    for line in profile_lines(upstream, usage, _variables(upstream, config)):
        click.echo(line)


def _variables(name: str, config: Path | None) -> list[str]:
    """The variables of this environment that the server's code names, beside those that every server gets."""
    from assent.config.load import find_settings
    from assent.upstreams.sandbox.bubblewrap import ALWAYS
    from assent.upstreams.sandbox.grants import CannotConfine
    from assent.upstreams.sandbox.programs import find_program
    from assent.upstreams.sandbox.usage import variables_in

    upstream = find_settings(config).upstreams.get(name)
    if upstream is None or upstream.command is None:
        return []
    try:
        program = find_program(upstream.command, {**os.environ, **upstream.env}, upstream.cwd)
    except CannotConfine:
        return []
    return variables_in(program.reads, os.environ.keys() - upstream.env.keys() - set(ALWAYS))
