"""`assent keys`: makes, lists and revokes the keys by which callers are known."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assent.cli.shared.options import config_option, date_of, operator, print_records
from assent.core.principal import KINDS, ROLES, Asks, Kind, Mode, Principal, Role
from assent.core.question import visible
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.core.api_keys import KeyRecord
    from assent.ports import Ports


@click.group()
def keys() -> None:
    """Make, list and revoke the keys by which callers are known.

    Example: assent keys create ci --kind agent --scope 'orders:*'
    """


@keys.command()
@click.argument("name")
@click.option("--kind", type=click.Choice(KINDS), required=True, help="An agent, a human or a service.")
@click.option("--tenant", default="local", show_default=True)
@click.option("--scope", "scopes", multiple=True, help="What it may do, such as orders:*; may be repeated.")
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice(ROLES),
    help="What a person may decide and see; may be repeated.",
)
@click.option("--mode", type=click.Choice(["live", "test"]), default="live", show_default=True)
@click.option(
    "--asks",
    type=click.Choice(["person", "nobody"]),
    help="person: its client shows questions to a person, whose answer counts. nobody: its yes never counts.",
)
@click.option(
    "--expires", metavar="DURATION", help="How long it is good, such as 90d; without it, until it is revoked."
)
@click.option("--same-person", is_flag=True, help="NAME is somebody known already, and this is their own key.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@config_option
def create(
    name: str,
    kind: Kind,
    tenant: str,
    scopes: tuple[str, ...],
    roles: tuple[Role, ...],
    mode: Mode,
    asks: Asks | None,
    expires: str | None,
    same_person: bool,
    form: str,
    config: Path | None,
) -> None:
    """Make a key for NAME. It is shown this once: only its digest is kept.

    Example: assent keys create ci --kind agent --scope 'orders:*' --expires 90d
    """
    from assent.cli.shared.store_access import with_ports
    from assent.core.api_keys import key_entry, key_json, name_fault, word_fault
    from assent.gateway.auth.authenticator import make_key, record_key

    if fault := name_fault(name):
        raise click.UsageError(f"NAME {fault}.")
    for what, words in {"--tenant": [tenant], "--scope": scopes}.items():
        for word in words:
            if fault := word_fault(word):
                raise click.UsageError(f"{what} {fault}.")
    who = Principal(name, kind, tenant, frozenset(scopes), frozenset(roles), mode=mode, asks=asks)
    key = make_key()
    record = record_key(key, who, time.time(), _expiry(expires))
    _with_lasting_store(config)

    async def adding(ports: Ports) -> None:
        if not same_person:
            await _check_nobody_else(ports, config, who)
        await ports.store.add_key(record, key_entry("key.created", record, operator(), time.time()))

    with_ports(config, adding)
    if form == "json":
        click.echo(json.dumps({"key": key, **key_json(record)}, indent=2, ensure_ascii=False))
        return
    click.echo(key)
    scoped = "" if scopes else " It has no scopes, and may call only what needs none."
    idle = " Its roles give an agent nothing: only people decide." if roles and kind == "agent" else ""
    click.echo(f"This is the key of {name}; it is not shown again.{scoped}{idle}", err=True)


async def _check_nobody_else(ports: Ports, config: Path | None, who: Principal) -> None:
    from assent.config.load import find_settings
    from assent.people.accounts import KnownPeople

    if known := await KnownPeople(ports, find_settings(config)).like(who.id, who.tenant, operator()):
        remedy = "Choose another name, or say --same-person if this is their own key: it counts as theirs"
        raise SettingsError(Fault(f"there is {known} already", remedy, "NAME"))


@keys.command("list")
@click.option("--all", "everything", is_flag=True, help="Revoked and expired ones too.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@config_option
def list_(everything: bool, form: str, config: Path | None) -> None:
    """List the keys in the store. Those in the configuration file are not among them.

    Example: assent keys list --all
    """
    from assent.cli.shared.store_access import looking_ports, with_ports
    from assent.core.api_keys import key_json

    async def find_keys(ports: Ports) -> list[KeyRecord]:
        return [one for one in await ports.store.keys(limit=100_000) if everything or one.is_good(time.time())]

    listed = with_ports(config, find_keys, looking_ports)
    rows, names = [_row(one) for one in listed], list(_COLUMNS)
    if sys.stdout.isatty():  # Eleven columns do not fit: the usual ones are shown, and others where a key differs.
        shown = [at for at, name in enumerate(names) if any(row[at] != _USUAL.get(name) for row in rows)]
        rows, names = [tuple(row[at] for at in shown) for row in rows], [names[at] for at in shown]
    print_records(form, [key_json(one) for one in listed], names, rows, "There are no keys in the store.")


@keys.command()
@click.argument("start", metavar="KEY")
@config_option
def revoke(start: str, config: Path | None) -> None:
    """Revoke the key that begins with KEY, or the only one of that name. It cannot be taken back.

    Example: assent keys revoke ci
    """
    from assent.cli.shared.store_access import with_ports
    from assent.core.api_keys import key_entry

    async def revoking(ports: Ports) -> KeyRecord | None:
        record = await _find_key(start, ports)
        if record is None:
            return None
        entry = key_entry("key.revoked", record, operator(), time.time())
        return await ports.store.revoke_key(record.digest, time.time(), entry)

    revoked = with_ports(config, revoking)
    if revoked is None:
        click.echo("No active key in the store has this start or this name.", err=True)
        raise click.exceptions.Exit(1)
    click.echo(f"{revoked.start} ({visible(revoked.principal.id)}) is revoked.")


async def _find_key(start: str, ports: Ports) -> KeyRecord | None:
    """The one key that is meant. A whole key is recognised by the part of it that is kept."""
    good = [one for one in await ports.store.keys(limit=100_000) if not one.revoked]
    named = [one for one in good if one.principal.id == start]
    meant = named or [one for one in good if start and (one.start.startswith(start) or start.startswith(one.start))]
    if len(meant) > 1:
        many = ", ".join(one.start for one in meant[:5])
        raise click.UsageError(f"{len(meant)} keys match: {many}. Write more of the one you mean.")
    return meant[0] if meant else None


def _expiry(expires: str | None) -> float | None:
    from assent.contract.fields import parse_duration

    if expires is None:
        return None
    try:
        return time.time() + float(parse_duration(expires))
    except ValueError as error:
        raise click.UsageError(f"--expires: {error}.") from None


def _with_lasting_store(config: Path | None) -> None:
    from assent.config.load import OUTSIDE, find_settings

    if find_settings(config, unused=OUTSIDE).store.startswith("memory:"):
        raise SettingsError(
            Fault("a memory store loses its keys when the command ends", "Use SQLite or PostgreSQL", "store")
        )


_COLUMNS = ("key", "name", "kind", "tenant", "scopes", "roles", "mode", "created", "revoked", "expires", "asks")
_USUAL = {"tenant": "local", "mode": "live", "revoked": "-", "expires": "-", "asks": "-"}


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
        date_of(record.created_at),
        "-" if record.revoked_at is None else date_of(record.revoked_at),
        "-" if record.expires_at is None else date_of(record.expires_at),
        who.asks or "-",
    )
