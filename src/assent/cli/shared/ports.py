"""Builds the pipeline's ports for commands: the store, the contracts, the guards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assent.config.keyring import Keyring
from assent.config.policies import policies_of, port_settings
from assent.contract.files import contract_paths, is_pattern, load_written
from assent.contract.profiles import profile as named_profile
from assent.contract.reader import read_contract
from assent.core.catalogue import Catalogue, catalogue_of
from assent.core.tool import compile_tool
from assent.pipeline.ports_factory import make_ports
from assent.ports import Ports, Store
from assent.stores.open import open_store

if TYPE_CHECKING:
    from assent.config.model import Settings


async def operator_ports(settings: Settings) -> Ports:
    """Ports with the store and an empty catalogue."""
    store = await open_store(settings.store)
    return _ports(settings, store, Catalogue())


async def deciding_ports(settings: Settings) -> Ports:
    """Ports with the store and the catalogue of all contracts, for explaining a call."""
    return _ports(settings, await open_store(settings.store), contract_catalogue(settings))


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
    keyring, policies = Keyring(Path(settings.secrets.directory)), policies_of(settings)
    return make_ports(
        store,
        lambda: catalogue,
        derive_key=keyring.derive,
        keyed_hash=keyring.keyed_hash,
        attach=0.0,
        **port_settings(settings, policies),
    )
