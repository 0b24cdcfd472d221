"""`assent store`: migrates and checks the store."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assent.cli.shared.options import config_option

if TYPE_CHECKING:
    from assent.ports import Store


PAGE = 1000


@click.group()
def store() -> None:
    """Migrate and check the store.

    Example: assent store check -c assent.yaml
    """


@store.command(short_help="Migrate the schema to this version.")
@config_option
def migrate(config: Path | None) -> None:
    """Migrate the store's schema to this version. A current schema is not changed.

    Example: assent store migrate -c assent.yaml
    """
    import asyncio

    from assent.config.load import OUTSIDE, find_settings
    from assent.stores.inspect import schema_of
    from assent.stores.open import open_store

    url = find_settings(config, unused=OUTSIDE).store

    async def migrating() -> tuple[int, int]:
        before, _ = await schema_of(url)
        await (await open_store(url)).close()
        after, _ = await schema_of(url)
        return before, after

    before, after = asyncio.run(migrating())
    click.echo(f"schema {after}: nothing to do" if before == after else f"schema {before} -> {after}")


@store.command(short_help="Check the store without changing it.")
@config_option
def check(config: Path | None) -> None:
    """Check the schema, the log and the claims without changing anything. Exit code 1: something needs attention.

    Example: assent store check -c assent.yaml
    """
    import asyncio

    from assent.config.load import OUTSIDE, find_settings
    from assent.stores.inspect import schema_of
    from assent.stores.open import open_store

    url = find_settings(config, unused=OUTSIDE).store

    async def checking() -> list[str]:
        version, newest = await schema_of(url)
        if version != newest:
            return [f"the schema is {version} and {newest} is current: run assent store migrate"]
        opened = await open_store(url)
        try:
            return await _findings(opened)
        finally:
            await opened.close()

    found = asyncio.run(checking())
    for finding in found:
        click.echo(finding)
    if found:
        raise click.exceptions.Exit(1)
    click.echo("The schema is current, the log has no gap, and no claim is in doubt.")


async def _findings(opened: Store) -> list[str]:
    from assent.stores.inspect import in_doubt

    now, found, after = time.time(), list[str](), -1
    while page := await opened.entries(after=after, limit=PAGE):
        places = [one.index for one in page]
        if places != list(range(after + 1, after + 1 + len(places))):
            found.append(f"the log has a gap after entry {after}: the table was altered")
        after = places[-1]
    if doubts := await in_doubt(opened, now):
        found.append(doubts)
    return found
