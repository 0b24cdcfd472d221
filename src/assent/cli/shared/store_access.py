"""Opens the configured store for commands: its ports, and the gateways that run on it."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import create_connection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from assent.cli.shared.options import store_settings
from assent.config.rules import policies_of, rules_of
from assent.contract.files import contract_paths, is_pattern, load_written
from assent.contract.profiles import profile as named_profile
from assent.contract.reader import read_contract
from assent.core.catalogue import Catalogue, catalogue_of
from assent.core.outcome import Refusal
from assent.core.problems import text_of_problem
from assent.core.secret_keys import Keyring
from assent.core.tool import compile_tool
from assent.errors import AssentError
from assent.pipeline.ports_factory import make_ports
from assent.ports import Ports, Store
from assent.stores.inspect import schema_of
from assent.stores.open import open_store, store_place

if TYPE_CHECKING:
    from assent.config.model import Settings
    from assent.ports import Store


async def operator_ports(settings: Settings) -> Ports:
    """Ports with the store and an empty catalogue."""
    return _ports(settings, await open_store(settings.store), Catalogue())


async def looking_ports(settings: Settings) -> Ports:
    """The same for a command that only looks: a store that does not exist yet is not made, and that is said."""
    if not settings.store.startswith("memory:") and not await _exists(settings):
        click.echo(f"There is no store at {store_place(settings.store)} yet.", err=True)
    return _ports(settings, await _open_if_there(settings), Catalogue())


async def deciding_ports(settings: Settings) -> Ports:
    """Ports with the store, which is not made, and the catalogue of all contracts, for explaining a call."""
    return _ports(settings, await _open_if_there(settings), contract_catalogue(settings))


async def _exists(settings: Settings) -> bool:
    return (await schema_of(settings.store))[0] > 0


async def _open_if_there(settings: Settings) -> Store:
    return await open_store(settings.store if await _exists(settings) else "memory://")


def contract_catalogue(settings: Settings) -> Catalogue:
    """The tools of all contracts, as far as the contracts describe them."""
    written = load_written(contract_paths(settings.contracts))
    found = {settings.wire_name(one.upstream, one.name): one for one in written if not is_pattern(one.name)}
    profile = named_profile(settings.profile)
    return catalogue_of(
        compile_tool(read_contract(name, one.fields), profile=profile, upstream=one.upstream, wire_name=one.name)
        for name, one in found.items()
    )


def _ports(settings: Settings, store: Store, catalogue: Catalogue) -> Ports:
    directory, policies = settings.secrets.directory, policies_of(settings)
    keyring = Keyring(Path(directory) if directory else None)  # `--store` names no directory, and makes none
    return make_ports(
        store,
        lambda: catalogue,
        derive_key=keyring.derive,
        keyed_hash=keyring.keyed_hash,
        attach=0.0,
        rules=rules_of(settings, policies),
    )


def with_ports(
    config: Path | None,
    work: Callable[[Ports], Awaitable[Any]],
    open_ports: Callable[[Settings], Awaitable[Ports]] | None = None,
) -> Any:
    """Runs work on the configured store, by default as its operator; a refusal is printed and exits with 1."""
    settings = store_settings(config)

    async def run() -> Any:
        ports = await (open_ports or operator_ports)(settings)
        try:
            return await work(ports)
        finally:
            await ports.store.close()

    try:
        return asyncio.run(run())
    except Refusal as refusal:
        click.echo(text_of_problem(refusal.problem()), err=True)
        raise click.exceptions.Exit(1) from None


def own_gateways(config: Path | None) -> list[str]:
    """The endpoints that really are gateways of the user's, of the configuration or of their own file: what answers on
    its store, or where it is served if nothing listens there; and those that `assent init` made.
    """
    from assent.cli.client_files.gateways import gateway_commands
    from assent.config.load import OUTSIDE, find_settings, user_file, user_settings

    found = list(gateway_commands())
    for read in (partial(find_settings, config), user_settings):
        with suppress(AssentError, OSError):  # `assent doctor` says what is wrong.
            if read is user_settings and not user_file().exists():
                continue
            settings = read(unused=OUTSIDE)
            served = [settings.public_url] if settings.upstreams and _is_silent(settings.public_url) else []
            found += [f"{one.rstrip('/')}/mcp" for one in (*running_on(settings), *served)]
    return found


def _is_silent(url: str) -> bool:
    """Whether nothing listens at an address."""
    place = urlsplit(url)
    try:
        with create_connection((place.hostname or "", place.port or {"http": 80}.get(place.scheme, 443)), 3):
            return False
    except OSError:
        return True


def running_on(settings: Settings) -> list[str]:
    """The addresses of the gateways on the configured store; none if the store fails, whose own check says why."""
    with suppress(AssentError, OSError):
        return asyncio.run(_gateways_of(settings))
    return []


async def _gateways_of(settings: Settings) -> list[str]:
    """The same, in a loop. The store is neither created nor migrated."""
    if len(set(await schema_of(settings.store))) > 1:
        return []
    store = await open_store(settings.store)
    try:
        return await running_gateways(store, settings.public_url)
    finally:
        await store.close()


async def running_gateways(store: Store, *more: str) -> list[str]:
    """The addresses at which a gateway on this store answers, the newest first; `more` are tried too."""
    from assent.people.console.start import kept_addresses, kept_mark

    if not (mark := await kept_mark(store)):
        return []
    addresses = list(dict.fromkeys([*await kept_addresses(store), *(one.rstrip("/") for one in more)]))
    found = await asyncio.gather(*(asyncio.to_thread(answers, address, mark) for address in addresses))
    return [address for address, answered in zip(addresses, found, strict=True) if answered]


def answers(address: str, mark: str | None = None) -> bool:
    """Whether something answers like a gateway at an address; with a mark, only one on the store of that mark."""
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/healthz", timeout=3) as response:
            return response.status == 200 and mark in (None, response.headers.get("assent-store"))
    except (urllib.error.URLError, OSError, ValueError):
        return False
