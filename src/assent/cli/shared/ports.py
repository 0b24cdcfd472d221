"""Builds the pipeline's ports for commands: the store, the contracts, the guards."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from assent.config.keyring import Keyring
from assent.config.model import Settings
from assent.contract.files import contract_paths, load_written
from assent.contract.profiles import profile as named_profile
from assent.contract.reader import read_contract
from assent.core.catalogue import Catalogue, catalogue_of
from assent.core.principal import Principal
from assent.core.tool import compile_tool
from assent.pipeline.effects import EffectRunner
from assent.pipeline.stop_switches import StopSwitches
from assent.ports import Ports, Store
from assent.stores.ids import new_id
from assent.stores.open import open_store

_NOT_CALLED: Any = None


async def operator_ports(settings: Settings) -> Ports:
    """Ports with the store and an empty catalogue."""
    store = await open_store(settings.store)
    return _ports(settings, store, Catalogue())


async def deciding_ports(settings: Settings) -> Ports:
    """Ports with the store and the catalogue of all contracts, for explaining a call."""
    written = load_written(contract_paths(settings.contracts))
    found = {settings.wire_name(one.upstream, one.name): one for one in written}
    profile = named_profile(settings.profile)
    catalogue = catalogue_of(
        compile_tool(read_contract(name, one.fields), profile=profile, upstream=one.upstream, wire_name=one.name)
        for name, one in found.items()
    )
    return _ports(settings, await open_store(settings.store), catalogue)


def _ports(settings: Settings, store: Store, catalogue: Catalogue) -> Ports:
    keyring = Keyring(Path(settings.secrets.directory))
    return Ports(
        catalogue=lambda: catalogue,
        store=store,
        upstream=_NOT_CALLED,
        authenticate=_return_principal,
        now=time.time,
        new_id=new_id,
        work=EffectRunner(store, time.time),
        derive_key=keyring.derive,
        keyed_hash=keyring.keyed_hash,
        guards=settings.rules(),
        mode=settings.mode,
        attach=0.0,
        most_pending=settings.approvals.most_pending,
        cooldown=settings.approvals.cooldown,
        approver_step_up=settings.approver_step_up(),
        limits=settings.limits,
        budgets=settings.budgets,
        retention=settings.defaults.idempotency.retention,
        stops=StopSwitches(store).current,
    )


async def _return_principal(principal: Principal) -> Principal:
    return principal
