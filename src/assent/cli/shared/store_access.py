"""Runs the work of a command on the configured store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assent.cli.shared.ports import operator_ports
from assent.config.load import OUTSIDE, find_settings
from assent.core.outcome import Refusal
from assent.ports import Ports

if TYPE_CHECKING:
    from assent.config.model import Settings


def with_ports(
    config: Path | None,
    work: Callable[[Ports], Awaitable[Any]],
    open_ports: Callable[[Settings], Awaitable[Ports]] | None = None,
) -> Any:
    """Runs work on the configured store, by default as its operator; a refusal is printed and exits with 1."""
    settings = find_settings(config, unused=OUTSIDE)

    async def run() -> Any:
        ports = await (open_ports or operator_ports)(settings)
        try:
            return await work(ports)
        finally:
            await ports.store.close()

    try:
        return asyncio.run(run())
    except Refusal as refusal:
        problem = refusal.problem()
        click.echo(f"{problem['detail']} {problem['remedy']}", err=True)
        raise click.exceptions.Exit(1) from None
