"""`assent store`: is the store there, is its schema current, and does what it holds fit together?"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click

from assent.cli.shared.options import config_option
from assent.config.load import find_settings
from assent.ports import Store
from assent.stores.inspect import in_doubt, schema_of
from assent.stores.open import open_store

PAGE = 1000


@click.group()
def store() -> None:
    """Bring the store's schema up to date, and check what it holds."""


@store.command(short_help="Take the steps to this version's schema.")
@config_option
def migrate(config: Path | None) -> None:
    """Take the steps to this version's schema; with none to take, change nothing."""
    url = find_settings(config).store

    async def migrating() -> tuple[int, int]:
        before, _ = await schema_of(url)
        await (await open_store(url)).close()
        after, _ = await schema_of(url)
        return before, after

    before, after = asyncio.run(migrating())
    click.echo(f"schema {after}: nothing to do" if before == after else f"schema {before} -> {after}")


@store.command(short_help="Look whether something needs doing; change nothing.")
@config_option
def check(config: Path | None) -> None:
    """Look, and change nothing: schema, log without gaps, claims in doubt. Ends with 1 if something needs doing."""
    url = find_settings(config).store

    async def checking() -> list[str]:
        version, newest = await schema_of(url)
        if version != newest:
            return [f"schema {version}, and {newest} is current: assent store migrate"]
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
    click.echo("The store is current; its log has no gap; nothing is in doubt.")


async def _findings(opened: Store) -> list[str]:
    now, found, after = time.time(), list[str](), -1
    while page := await opened.entries(after=after, limit=PAGE):
        places = [one.index for one in page]
        if places != list(range(after + 1, after + 1 + len(places))):
            found.append(f"the log has a gap after entry {after}: somebody has altered the table")
        after = places[-1]
    if doubts := await in_doubt(opened, now):
        found.append(doubts)
    return found
