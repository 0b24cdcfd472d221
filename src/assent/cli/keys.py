"""`assent keys`: creates, lists and revokes API keys."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from assent.cli.shared.options import config_option, operator
from assent.cli.shared.output import print_table
from assent.cli.shared.store_access import with_ports
from assent.config.load import find_settings
from assent.core.audit import Entry, principal_values
from assent.core.keys import KeyRecord
from assent.core.principal import KINDS, ROLES, Kind, Mode, Principal, Role
from assent.core.render import visible
from assent.errors import Fault, SettingsError
from assent.gateway.auth.api_keys import make_key, record_key
from assent.ports import Ports

MOST_NAME = 128


@click.group()
def keys() -> None:
    """Create, list and revoke API keys.

    Example: assent keys list -c assent.yaml
    """


@keys.command()
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), required=True, help="The kind of caller.")
@click.option("--tenant", default="local", show_default=True)
@click.option("--scope", "scopes", multiple=True, help="A scope, such as orders:*; may be repeated.")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice(ROLES),
    help="A role in the API and the console; may be repeated.",
)
@click.option("--mode", type=click.Choice(["live", "test"]), default="live", show_default=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@config_option
def create(
    name: str,
    kind: Kind,
    tenant: str,
    scopes: tuple[str, ...],
    roles: tuple[Role, ...],
    mode: Mode,
    form: str,
    config: Path | None,
) -> None:
    """Create a key for NAME. It is shown only now: the store keeps its digest.

    Example: assent keys create ci --kind agent --scope 'orders:*'
    """
    for what, words in {"NAME": [name], "--tenant": [tenant], "--scope": scopes}.items():
        for word in words:
            _check_text(what, word)
    who = Principal(name, kind, tenant, frozenset(scopes), frozenset(roles), mode=mode)
    key = make_key()
    record = record_key(key, who, time.time())
    _check_store_is_durable(config)

    async def adding(ports: Ports) -> None:
        await ports.store.add_key(record, _entry("key.created", record))

    with_ports(config, adding)
    if form == "json":
        click.echo(json.dumps({"key": key, **_as_json(record)}, indent=2, ensure_ascii=False))
        return
    click.echo(key)
    scoped = "" if scopes else " It has no scopes, so it may call only tools that need none."
    click.echo(f"This is the key of {name}. It is not shown again.{scoped}", err=True)


@keys.command("list")
@click.option("--all", "everything", is_flag=True, help="Include revoked keys.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@config_option
def list_(everything: bool, form: str, config: Path | None) -> None:
    """List the keys in the store. Keys in the configuration file are not listed.

    Example: assent keys list --all
    """

    async def found(ports: Ports) -> list[KeyRecord]:
        return [one for one in await ports.store.keys(limit=100_000) if everything or not one.revoked]

    listed = with_ports(config, found)
    if form == "json":
        click.echo(json.dumps([_as_json(one) for one in listed], indent=2, ensure_ascii=False))
    elif not listed:
        click.echo("The store has no keys.", err=True)
    else:
        _print_table(listed)


@keys.command()
@click.argument("start", metavar="KEY")
@config_option
def revoke(start: str, config: Path | None) -> None:
    """Revoke the key that starts with KEY, or the only key of that name. This cannot be undone.

    Example: assent keys revoke assent_3fa1
    """

    async def revoking(ports: Ports) -> KeyRecord | None:
        record = await _chosen(start, ports)
        if record is None:
            return None
        return await ports.store.revoke_key(record.digest, time.time(), _entry("key.revoked", record))

    revoked = with_ports(config, revoking)
    if revoked is None:
        click.echo("No active key in the store has this start or this name.", err=True)
        raise click.exceptions.Exit(1)
    click.echo(f"{revoked.start} ({visible(revoked.principal.id)}) is revoked.")


async def _chosen(start: str, ports: Ports) -> KeyRecord | None:
    """The only matching key. A whole key is recognised by the part that is stored."""
    good = [one for one in await ports.store.keys(limit=100_000) if not one.revoked]
    named = [one for one in good if one.principal.id == start]
    matching = named or [one for one in good if start and (one.start.startswith(start) or start.startswith(one.start))]
    if len(matching) > 1:
        many = ", ".join(one.start for one in matching[:5])
        raise click.UsageError(f"{len(matching)} keys match: {many}. Write more characters of the key.")
    return matching[0] if matching else None


def _check_store_is_durable(config: Path | None) -> None:
    if find_settings(config).store.startswith("memory:"):
        raise SettingsError(Fault("a memory store loses its keys when this command ends", "Configure a store", "store"))


def _check_text(what: str, word: str) -> None:
    if not word.isprintable() or not 1 <= len(word) <= MOST_NAME or word != word.strip():
        raise click.UsageError(f"{what} must be 1 to {MOST_NAME} printable characters.")


def _entry(event: str, record: KeyRecord) -> Entry:
    """The audit entry: who created or revoked which key, and what it allows."""
    who = record.principal
    whose = {"name": who.id, "for_kind": who.kind, "for_tenant": who.tenant, "for_mode": who.mode}
    granted = {"scopes": sorted(who.scopes), "roles": sorted(who.roles)}
    values = {**principal_values(operator()), **whose, **granted}
    return Entry("operator", time.time(), {"event": event, "key": record.start}, values)


def _as_json(record: KeyRecord) -> dict[str, Any]:
    who = record.principal
    return {
        "start": record.start,
        "name": who.id,
        "kind": who.kind,
        "tenant": who.tenant,
        "scopes": sorted(who.scopes),
        "roles": sorted(who.roles),
        "mode": who.mode,
        "created_at": record.created_at,
        "revoked_at": record.revoked_at,
    }


def _print_table(listed: list[KeyRecord]) -> None:
    rows = [_row(record) for record in listed]
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    print_table(("key", "name", "kind", "tenant", "scopes", "roles", "mode", "created", "revoked"), rows)


def _row(record: KeyRecord) -> tuple[str, ...]:
    who = record.principal
    return (
        record.start,
        visible(who.id),
        who.kind,
        visible(who.tenant),
        " ".join(sorted(who.scopes)) or "-",
        " ".join(sorted(who.roles)) or "-",
        who.mode,
        _date(record.created_at),
        "-" if record.revoked_at is None else _date(record.revoked_at),
    )


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
