"""Reads the keywords of `Assent(...)`, which are written as in `assent.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from mcp.server.auth.provider import AccessToken, principal_components
from pydantic import BaseModel, ValidationError

from assent.config.rules import PolicyEngine, load_engine
from assent.contract.binding import ContractLookup
from assent.contract.fields import parse_duration
from assent.contract.files import contract_paths, load_written
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.core.identity_claims import further_claims, group_names, mode_of
from assent.core.principal import Principal
from assent.errors import ContractError, Fault, SettingsError
from assent.features import load_feature
from assent.ports import Flow, Store, assent_command, no_command
from assent.stores.memory import MemoryStore
from assent.web.http import is_loopback

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


def principal_of_token(token: AccessToken) -> Principal:
    """Return the principal of a token that the SDK verified: an agent, for itself or for its subject."""
    claims = token.claims or {}
    client, issuer, subject = principal_components(token)
    auth_time = claims.get("auth_time")
    return Principal(
        id=_principal_id(issuer, subject, client),
        kind="agent",
        tenant=str(claims.get("tenant", "local")),
        scopes=frozenset(token.scopes),
        acr=str(claims["acr"]) if "acr" in claims else None,
        auth_time=float(auth_time) if isinstance(auth_time, int | float) else None,
        mode=mode_of(claims),
        bearer=True,
        groups=group_names(claims.get("groups")),
        claims=further_claims(claims),
        method="token",
    )


def _principal_id(issuer: str | None, subject: str | None, client: str | None) -> str:
    """Return one id per caller, so that a client acting for itself is not mixed up with a person of the same name."""
    who = ("subject", subject) if subject else ("client", client or "")
    parts = (("issuer", issuer), who) if issuer else (who,)
    return " ".join(f"{kind}={quote(part or '', safe=':/@')}" for kind, part in parts)


def is_local(request: Any) -> bool:
    """Whether a request comes from a loopback address."""
    return is_loopback(str(getattr(getattr(request, "client", None), "host", "")))
