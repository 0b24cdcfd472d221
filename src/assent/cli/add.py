"""`assent add`: adds a server to the configuration."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from assent.cli.shared.options import TargetCommand, config_option
from assent.cli.shared.servers import list_tools, read_description
from assent.contract.tiers import Tier
from assent.core.question import counted
from assent.errors import Fault, SettingsError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@click.command(cls=TargetCommand)
@click.argument("name")
@click.argument("source", metavar="[URL|FILE]", required=False)
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent to a URL; may be repeated.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set for a command; may be repeated.")
@click.option("--base-url", metavar="URL", help="Where calls go, for an OpenAPI document.")
@click.option("--offline", is_flag=True, help="Add it without connecting to it first.")
@config_option
@click.pass_context
def add(
    ctx: click.Context,
    name: str,
    source: str | None,
    headers: tuple[str, ...],
    variables: tuple[str, ...],
    base_url: str | None,
    offline: bool,
    config: Path | None,
) -> None:
    """Add a server to the configuration as the upstream NAME, and list what its tools do.

    \b
    Examples:
      assent add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
      assent add linear https://mcp.example.com/mcp
      assent add orders orders.json --base-url https://api.example.com
    """
    from assent.cli.shared.upstream_entries import add_upstreams

    if not _NAME.fullmatch(name):
        raise click.UsageError("NAME has 1 to 40 letters, digits, `_` or `-`.")
    place = _place(config)
    entry = _entry(ctx.meta.get("assent.command"), source, headers, variables, base_url, place)
    listed = None if offline else _connect(name, entry, place)
    add_upstreams(place, {name: entry})
    click.echo(f"{name} is added to {place}.", err=True)
    if listed is not None:
        click.echo(_summary(listed), err=True)
    for step in _next_steps(name, entry, place, f" -c {shlex.quote(str(config))}" if config is not None else ""):
        click.echo(step, err=True)


def _next_steps(name: str, entry: dict[str, Any], place: Path, chosen: str) -> Iterator[str]:
    from assent.cli.shared.upstream_entries import lock_file_beside

    if entry.get("auth") == "oauth":
        yield f"It needs a sign-in: assent login {name}{chosen}"
    if (lock := lock_file_beside(place)) is not None:
        yield f"{lock} exists, so its tools are withheld until you accept them: assent pin --write{chosen}"
    yield f"Next: assent serve{chosen} starts the gateway; one that already runs uses it within seconds."


def _entry(
    command: tuple[str, ...] | None,
    source: str | None,
    headers: tuple[str, ...],
    variables: tuple[str, ...],
    base_url: str | None,
    place: Path,
) -> dict[str, Any]:
    if (command is None) == (source is None):
        raise click.UsageError("Give a URL, an OpenAPI document, or a command after `--`.")
    if source is not None:
        more = {"headers": dict(_pairs(headers, ":"))} if headers else {}
        if base_url is None and re.match(r"https?://", source):
            return {"url": source, **more}
        return {"openapi": _document(source, base_url, place), "base_url": base_url, **more}
    assert command is not None
    return {"command": list(command), **({"env": dict(_pairs(variables, "="))} if variables else {})}


def _document(source: str, base_url: str | None, place: Path) -> str:
    """An OpenAPI document as the configuration names it: an address, or a path from its folder."""
    from assent.cli.shared.servers import api_of

    path = Path(source)
    if "://" in source and base_url is not None:
        return source
    if "://" in source or not path.is_file():
        raise click.UsageError(f"{source} is neither a file nor an address that begins with http:// or https://.")
    if api_of(path) is None:
        raise click.UsageError(f"{source} is not an OpenAPI document. A program is added with `-- COMMAND`.")
    if base_url is None:
        raise click.UsageError("An OpenAPI document needs --base-url: it never decides itself where calls go.")
    return os.path.relpath(path.resolve(), place.resolve().parent) if not path.is_absolute() else str(path)


def _pairs(texts: tuple[str, ...], separator: str) -> list[tuple[str, str]]:
    pairs = [text.partition(separator) for text in texts]
    for name, found, _ in pairs:
        if not name or not found:
            raise click.UsageError(f"{name!r} is not NAME{separator}VALUE.")
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _connect(name: str, entry: dict[str, Any], place: Path) -> list[dict[str, Any]] | None:
    """List the server's tools. A server that answers 401 gets `auth: oauth`, an older one `transport: sse`."""
    from assent.checks.probe.list_tools import NotListedError
    from assent.config.model import UpstreamSettings

    if "openapi" in entry:
        source = entry["openapi"]
        found = read_description(source if "://" in source else str(place.resolve().parent / source))
        return [dict(tool.definition) for tool in found.tools.values()]
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
    from assent.config.load import HERE, find_file, user_file

    return find_file(config) if config is not None or HERE.exists() else user_file()


def _summary(tools: list[dict[str, Any]]) -> str:
    from assent.contract.infer import classify

    tiers = Counter(classify(tool).tier for tool in tools)
    parts = [f"{tiers[tier]} {tier}" for tier in Tier if tiers[tier]]
    return f"It has {counted(len(tools), 'tool')}: {', '.join(parts)}." if parts else "It has no tools."
