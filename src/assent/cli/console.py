"""`assent console`: a link that signs the operator of this machine in to the console."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from assent.cli.shared.options import console_person, operator, store_option, store_settings
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings
    from assent.ports import Ports

ONCE = "The link signs you in once, within ten minutes. Anyone who has it can use it."


@click.command()
@click.option("--account", metavar="NAME", help="A link with which the holder of this account sets up a passkey.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="With --store: the port. Default: a free one.")
@store_option
def console(account: str | None, port: int, config: Path | None) -> None:
    """Print a link that signs you in, once, to the console of the running gateway or of your wrapped servers.

    With --store, serve the console of a library server's store on this machine until you press Ctrl-C.

    Example: assent console -c assent.yaml
    """
    if "assent.store" in click.get_current_context().meta:
        if account is not None:
            raise click.UsageError("--account belongs to a gateway. The console of a store has no accounts.")
        from assent.cli.console_process import serve_store

        return serve_store(store_settings(config).store, port)
    from assent.cli.shared.store_access import running_gateways, with_ports
    from assent.people.console.start import sign_in_url
    from assent.stores.open import store_command

    settings = store_settings(config)

    async def link(ports: Ports) -> str:
        found = await running_gateways(ports.store)
        if not found and await asyncio.to_thread(_serve_by_engine, config, settings):
            found = await running_gateways(ports.store)
        if not found:
            alone = store_command(settings.store)("console")
            without = f", or look at its records without one: `{alone}`" if alone is not None else ""
            remedy = f"Start one with `assent serve`, then try again{without}"
            raise SettingsError(Fault("no gateway is running on this store", remedy, "store"))
        if account is not None:
            return found[0].rstrip("/") + await _enrolment_path(ports, account)
        return await sign_in_url(ports.store, found[0], console_person())

    url = with_ports(config, link)
    click.echo(url)
    if account is not None:
        click.echo(f"With this link {account} sets up a passkey, once, within a day. Anyone who has it can.", err=True)
        return
    click.echo(ONCE, err=True)
    public = settings.public_url.rstrip("/")
    if "public_url" in settings.model_fields_set and urlsplit(public).netloc != urlsplit(url).netloc:
        click.echo(f"People with an account sign in at {public}/console/", err=True)


def _serve_by_engine(config: Path | None, settings: Settings) -> bool:
    """Have the engine serve the console, where wrapped servers use this configuration."""
    import sys

    from assent.cli.engine import ask_engine
    from assent.config.load import HERE

    if settings.engine == "off" or sys.platform == "win32":
        return False
    own = config is None and not HERE.exists()
    return ask_engine("console", config or (None if own else HERE), start=own) is not None


async def _enrolment_path(ports: Ports, name: str) -> str:
    """The page where the holder of an account sets up a passkey. What they have stays."""
    from assent.core.audit import Entry, principal_values
    from assent.people.accounts import find_account, make_enrolment

    found = await find_account(ports, name)
    if found is None or found.disabled:
        state = "is disabled" if found is not None else "does not exist"
        remedy = "An administrator makes and resets accounts in the console (`assent console`)"
        raise SettingsError(Fault(f"the account {name} {state}", remedy, "--account"))
    values = {**principal_values(operator()), "account": name}
    ports.store.append(Entry("operator", ports.now(), {"action": "account.link"}, values))
    return f"/console/enrol?token={await make_enrolment(ports, found)}"
