"""Reads the keywords of `Assent(...)`, which are written as in `assent.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from assent.config.rules import PolicyEngine, load_engine
from assent.contract.binding import ContractLookup
from assent.contract.files import contract_paths, load_written
from assent.contract.model import Contract
from assent.contract.parts import parse_duration
from assent.contract.reader import read_contract
from assent.errors import ContractError, Fault, SettingsError
from assent.features import load_feature
from assent.ports import Flow, Store, assent_command, no_command
from assent.stores.memory import MemoryStore

Q = TypeVar("Q", bound=BaseModel)
ContractSource = str | Path | Iterable[str | Path] | Mapping[str, Contract | Mapping[str, Any]]
"""Files, folders and patterns, or contracts by name."""


def contract_lookup(contracts: ContractSource) -> ContractLookup:
    if isinstance(contracts, Mapping):
        read = {name: one if isinstance(one, Contract) else read_contract(name, one) for name, one in contracts.items()}
        return ContractLookup(read)
    return ContractLookup.of(load_written(contract_paths(contracts)))


def policy_engine(policies: str | Path | Iterable[str | Path]) -> PolicyEngine | None:
    """The policies of files, folders and patterns; None if there are none."""
    patterns = [policies] if isinstance(policies, str | Path) else list(policies)
    return load_engine(patterns) if patterns else None


def read_setting(model: type[Q], given: Q | Mapping[str, Any], where: str) -> Q:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first: Any = error.errors()[0]
        place = ".".join(map(str, (where, *first["loc"])))
        raise SettingsError(Fault(first["msg"], "Write it as in assent.yaml", place)) from None


def command_of(store: Store) -> Callable[[str], str | None]:
    """The commands for a store that the author opened: its address is not known here, a configuration may name it."""
    return no_command if isinstance(store, MemoryStore) else assent_command


def check_choice(name: str, given: Any, known: tuple[str | None, ...]) -> None:
    if given not in known:
        choices = ", ".join(one for one in known if one is not None)
        raise ContractError(Fault(f"{given!r} is not known", f"Use one of {choices}", name))


def seconds(retention: str | int) -> int:
    try:
        seconds: int = parse_duration(retention)
    except ValueError as error:
        raise SettingsError(Fault(str(error), "Write it as in assent.yaml", "retention")) from None
    return seconds


def flow_control(mode: str) -> Flow | None:
    """Flow control of this server's own calls; None if it is off."""
    check_choice("flow", mode, ("off", "observe", "ask", "refuse"))
    if mode == "off":
        return None
    made: Flow = load_feature("flow").FlowControl(mode)
    return made
