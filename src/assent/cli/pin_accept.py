"""`assent pin --accept`: accepts definitions that gateways have seen and keep in the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assent.cli.shared.options import operator
from assent.cli.shared.store_access import with_ports
from assent.core.question import counted, visible
from assent.errors import Fault, SettingsError, StoreError

if TYPE_CHECKING:
    from assent.core.first_sight import SeenServer
    from assent.ports import Ports

Chosen = list[tuple["SeenServer", list[str]]]
"""Servers, each with the names of the tools to accept."""


def accept(name: str | None, config: Path | None, *, yes: bool) -> int:
    """Show what changed and accept one tool, or all; returns the exit code."""

    async def work(ports: Ports) -> int:
        from assent.core.pins import pin_digest
        from assent.gateway.first_sight import accept_seen, seen_servers

        chosen = _chosen(await seen_servers(ports.store), name)
        for server, tools in chosen:
            for tool in tools:
                _show(server, tool)
        count = counted(sum(len(tools) for _, tools in chosen), "definition")
        if not yes and sys.stdin.isatty() and not click.confirm(f"Accept {count}?", err=True):
            click.echo("Nothing was accepted.", err=True)
            return 1
        for server, tools in chosen:
            now = {tool: server.tools[tool].listed or server.tools[tool].pin.definition for tool in tools}
            digests = {tool: pin_digest(one) for tool, one in now.items()}
            try:
                await accept_seen(ports.store, server.id, digests, operator(), "")
            except StoreError as error:
                raise click.ClickException(f"{server.upstream}: {error}") from None
        click.echo(f"{count} accepted. A running gateway uses this within 30 seconds.", err=True)
        return 0

    found: int = with_ports(config, work)
    return found


def _chosen(servers: list[SeenServer], name: str | None) -> Chosen:
    """All tools that nobody has accepted as they are; or the one that the name means."""
    if name is None:
        found = [
            (one, [t for t, tool in one.tools.items() if tool.listed is not None or not tool.accepted_by])
            for one in servers
        ]
        if not any(tools for _, tools in found):
            raise SettingsError(Fault("there is nothing to accept", "Every definition that was seen is accepted"))
        return [(one, tools) for one, tools in found if tools]
    fitting = [
        (one, tool)
        for one in servers
        for tool in one.tools
        if name in (tool, f"{one.upstream}:{tool}", f"{one.upstream}_{tool}")
    ]
    changed = [(one, tool) for one, tool in fitting if one.tools[tool].listed is not None]
    meant = changed or fitting
    if not meant:
        remedy = "`assent pin --accept --all` shows what was seen. A tool is seen when a gateway first lists it"
        raise SettingsError(Fault("no gateway with this store has seen a tool of this name", remedy, name))
    if len({one.upstream for one, _ in meant}) > 1:
        names = " or ".join(sorted(f"{one.upstream}:{tool}" for one, tool in meant))
        raise SettingsError(Fault("several upstreams have a tool of this name", f"Write {names}", name))
    return [(one, [tool]) for one, tool in meant]


def _show(server: SeenServer, tool: str) -> None:
    """Print what differs from what was first seen or accepted, and everything that looks like an attack."""
    from assent.checks.lint.attacks import attacks_in
    from assent.core.material_changes import material_changes
    from assent.core.pins import PinChange, differences

    one = server.tools[tool]
    now = one.pin.definition if one.listed is None else one.listed
    if one.listed is None:
        click.echo(f"{server.upstream}: seen    {visible(tool)}")
    else:
        click.echo(f"{server.upstream}: {PinChange(tool, 'changed', tuple(differences(one.pin.definition, now)))}")
        for line in material_changes(one.pin.definition, now):
            click.echo(f"  material: {line}")
    for attack in attacks_in(now):
        click.echo(f"{server.upstream}: attack  {visible(tool)}\n  {visible(attack)}")
