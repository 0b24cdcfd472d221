"""Builds from a configuration what commands need: the store, the contracts, the pins."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from assent.contract.files import contract_paths, load_written
from assent.contract.profiles import profile as named_profile
from assent.contract.reading import read_contract
from assent.core.catalogue import Catalogue, catalogue_of
from assent.core.ids import new_id
from assent.core.pins import RESTORE, Pin, read_pins
from assent.core.principal import Principal
from assent.core.tool import compile_tool
from assent.errors import Fault, SettingsError
from assent.keyring import Keyring
from assent.pipeline.work import Work
from assent.ports import Ports, Store
from assent.settings import Settings
from assent.stores.address import open_store

_NOT_CALLED: Any = None


async def operator_ports(settings: Settings) -> Ports:
    """What a person at the command line needs: the store, and nothing to call."""
    store = await open_store(settings.store)
    return _ports(settings, store, Catalogue())


async def deciding_ports(settings: Settings) -> Ports:
    """What explaining a call needs: the contracts and the store."""
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
        authenticate=_already,
        now=time.time,
        new_id=new_id,
        work=Work(store, time.time),
        derive_key=keyring.derive,
        blind=keyring.blind,
        guards=settings.rules(),
        mode=settings.mode,
        attach=0.0,
        most_pending=settings.approvals.most_pending,
        cooldown=settings.approvals.cooldown,
        limits=settings.limits,
        budgets=settings.budgets,
        retention=settings.defaults.idempotency.retention,
    )


async def _already(principal: Principal) -> Principal:
    return principal


def load_pins(path: Path) -> dict[str, dict[str, Pin]] | None:
    """The pins of the lock file at this place; None where there is none yet."""
    try:
        return read_pins(path.read_bytes().decode("utf-8"), str(path))
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise SettingsError(Fault("not a lock file: it is not UTF-8 text", RESTORE, file=str(path))) from None
    except OSError as error:
        fault = Fault(f"cannot be read: {error.strerror}", "Correct the path, or allow reading it", file=str(path))
        raise SettingsError(fault) from None
