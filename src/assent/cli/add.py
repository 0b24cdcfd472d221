"""`assent add`: adds a server to the configuration."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import click

from assent.cli.shared.options import config_option
from assent.cli.shared.servers import list_tools
from assent.cli.shared.target_options import TargetCommand
from assent.contract.tiers import Tier
from assent.core.render import counted
from assent.errors import Fault, SettingsError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@click.command(cls=TargetCommand)
@click.argument("name")
@click.argument("url", required=False)
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent to a URL; may be repeated.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set for a command; may be repeated.")
@click.option("--offline", is_flag=True, help="Add it without connecting to it first.")
@config_option
@click.pass_context
def add(
    ctx: click.Context,
    name: str,
    url: str | None,
    headers: tuple[str, ...],
    variables: tuple[str, ...],
    offline: bool,
    config: Path | None,
) -> None:
    """Add a server to the configuration as the upstream NAME, and list what its tools do.

    \b
    Examples:
      assent add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
      assent add linear https://mcp.example.com/mcp
    """
    from assent.cli.shared.upstream_entries import add_upstreams

    if not _NAME.fullmatch(name):
        raise click.UsageError("NAME has 1 to 40 letters, digits, `_` or `-`.")
    entry = _entry(ctx.meta.get("assent.command"), url, headers, variables)
    listed = None if offline else _connect(name, entry)
    place = add_upstreams(_place(config), {name: entry})
    click.echo(f"{name} is added to {place}.", err=True)
    if entry.get("auth") == "oauth":
        click.echo(f"It needs a sign-in. Next: assent login {name}", err=True)
    elif listed is not None:
        click.echo(_summary(listed), err=True)
        click.echo("Next: assent pin --write (accept the definitions), then assent serve.", err=True)


def _entry(
    command: tuple[str, ...] | None, url: str | None, headers: tuple[str, ...], variables: tuple[str, ...]
) -> dict[str, Any]:
    if (command is None) == (url is None):
        raise click.UsageError("Give a URL, or a command after `--`.")
    if url is not None:
        return {"url": url, **({"headers": dict(_pairs(headers, ":"))} if headers else {})}
    assert command is not None
    return {"command": list(command), **({"env": dict(_pairs(variables, "="))} if variables else {})}


def _pairs(texts: tuple[str, ...], separator: str) -> list[tuple[str, str]]:
    pairs = [text.partition(separator) for text in texts]
    for name, found, _ in pairs:
        if not name or not found:
            raise click.UsageError(f"{name!r} is not NAME{separator}VALUE.")
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _connect(name: str, entry: dict[str, Any]) -> list[dict[str, Any]] | None:
    """List the server's tools. A server that answers 401 gets `auth: oauth`, an older one `transport: sse`."""
    from assent.config.model import UpstreamSettings
    from assent.probe.list_tools import NotListedError

    try:
        listed = list_tools(name, UpstreamSettings(**entry))
        if listed.speaks_sse:
            entry["transport"] = "sse"
        return listed
    except NotListedError as error:
        if "url" in entry and "headers" not in entry and "401" in str(error):
            entry["auth"] = "oauth"
            return None
        raise SettingsError(Fault(str(error), "Nothing was added. Correct it, or add --offline")) from None


def _place(config: Path | None) -> Path:
    from assent.config.load import find_file, user_file

    try:
        return find_file(config)
    except SettingsError:
        return user_file()


def _summary(tools: list[dict[str, Any]]) -> str:
    from assent.infer import classify

    tiers = Counter(classify(tool).tier for tool in tools)
    parts = [f"{tiers[tier]} {tier}" for tier in Tier if tiers[tier]]
    return f"It has {counted(len(tools), 'tool')}: {', '.join(parts)}." if parts else "It has no tools."
