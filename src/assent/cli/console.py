"""`assent console`: a link that signs the operator of this machine in to the console."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from assent.cli.shared.options import config_option, console_person
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.ports import Ports


@click.command()
@config_option
def console(config: Path | None) -> None:
    """Print a link that signs you in to the console of the running gateway, once.

    Example: assent console -c assent.yaml
    """
    from assent.cli.shared.store_access import with_ports
    from assent.config.load import find_settings
    from assent.console.start import kept_address, sign_in_url

    settings = find_settings(config)

    async def link(ports: Ports) -> str:
        address = await kept_address(ports.store)
        if address is None or not _answers(address):
            raise SettingsError(
                Fault("no gateway is running on this store", "Start one with `assent serve`, then try again", "store")
            )
        return await sign_in_url(ports.store, address, console_person())

    url = with_ports(config, link)
    click.echo(url)
    click.echo("The link signs you in once, within ten minutes. Anyone who has it can use it.", err=True)
    public = settings.public_url.rstrip("/")
    if "public_url" in settings.model_fields_set and urlsplit(public).netloc != urlsplit(url).netloc:
        click.echo(f"People with an account sign in at {public}/console/", err=True)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=3) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False
