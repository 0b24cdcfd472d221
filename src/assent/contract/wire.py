"""Tool definitions on the wire: how ours are written, and how foreign ones are read."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assent.contract.contradictions import HOST_LEVERS
from assent.contract.durations import format_duration
from assent.contract.model import Contract
from assent.contract.profiles import WIRE_NAMES, Profile

CONTRACT_KEY = "dev.assent/contract"
VERSION = 1

# What hosts assume where a hint is absent.
SPECIFIED_DEFAULTS = {"read_only": False, "destructive": True, "idempotent": False, "open_world": True}
# The value of each hint that lowers a host's guard is the opposite of its default.
_LAX = {name: not value for name, value in SPECIFIED_DEFAULTS.items()}
_FOREIGN_NAMES = {
    "readOnly": "read_only",
    "destructive": "destructive",
    "idempotent": "idempotent",
    "openWorld": "open_world",
}


def annotations_of(
    contract: Contract, profile: Profile, *, historic_names: bool = False, claims: Claims | None = None
) -> dict[str, Any]:
    """The `annotations` object of a tool: its title where the profile puts it, and the hints that are sent.

    `claims` are given where the contract is only inferred: then no hint is laxer than the upstream's own.
    """
    names = profile.historic if historic_names and profile.historic else WIRE_NAMES
    hints = profile.hints(contract) if claims is None else _no_laxer(profile.hints(contract), contract, claims)
    said: dict[str, Any] = {"title": contract.title} if profile.title in ("both", "annotations") else {}
    said.update({names[name]: hints[name] for name in profile.order if hints[name] is not None})
    if contract.confirmation.by == "host":
        said["cursor/requiresConfirmation"] = True
    return said


def _no_laxer(hints: Mapping[str, bool | None], contract: Contract, claims: Claims) -> dict[str, bool | None]:
    """The hints, with what the upstream itself claims in place of every laxer guess; a stated override stays."""

    def said(name: str, hint: bool | None) -> bool | None:
        stated = getattr(contract.hints, name) is not None
        lowers = hint is _LAX[name] and claims.effective(name) is not hint
        return getattr(claims, name) if lowers and not stated else hint

    return {name: said(name, hint) for name, hint in hints.items()}


def meta_of(contract: Contract, profile: Profile) -> dict[str, Any]:
    """The `_meta` object of a tool: the profile's own keys, the contract's extras, and its public projection."""
    said: dict[str, Any] = {}
    for key, source in profile.meta.items():
        value = _projected(contract, source)
        if value not in (None, "", [], {}):
            said[key] = value
    said.update(
        {key: copy.deepcopy(value) for key, value in contract.meta.items() if not (key in said or key in profile.omit)}
    )
    if contract.confirmation.by == "host":
        said["anthropic/requiresUserInteraction"] = True
    said[CONTRACT_KEY] = projection(contract)
    return said


def definition(
    contract: Contract, profile: Profile, /, *, historic_names: bool = False, claims: Claims | None = None, **parts: Any
) -> dict[str, Any]:
    """A whole tool definition; `parts` are name, description, schemas and whatever else the upstream had."""
    said = {"name": parts.get("name", contract.name)}
    if profile.title in ("both", "tool"):
        said["title"] = contract.title
    if contract.description is not None:
        parts["description"] = contract.description
    if "description" in parts:
        said["description"] = parts["description"]
    said.update({key: value for key, value in parts.items() if key not in ("name", "description", "_meta")})
    said["annotations"] = annotations_of(contract, profile, historic_names=historic_names, claims=claims)
    # A lever the upstream pulled is let go: whether the host asks is the contract's to say, or two would ask.
    given = parts.get("_meta")
    own = {key: value for key, value in given.items() if key not in HOST_LEVERS} if isinstance(given, Mapping) else {}
    said["_meta"] = {**own, **meta_of(contract, profile)}
    return said


def projection(contract: Contract) -> dict[str, Any]:
    """What anyone may know of a contract: no guards, thresholds, approvers or policy."""
    c = contract
    public: dict[str, Any] = {
        "version": VERSION,
        "digest": c.digest,
        "tier": c.side_effect.value,
        "risk": c.risk.value,
        "risk_number": c.risk.number,
        "autonomous": c.autonomous,
        "confirmation": c.confirmation.by,
        "step_up": steps_up(c),
        "dry_run": {"mode": c.dry_run.mode, "argument": c.dry_run.argument}
        if c.dry_run.mode != "none"
        else {"mode": "none"},
        "idempotency": _idempotency(c),
        "permissions": list(c.permissions),
        "side_effects": list(c.side_effects),
        "failure_modes": {
            code: {"class": mode.outcome, "status": mode.status} for code, mode in c.failure_modes.items()
        },
        "audit_event": c.audit_event,
        "secrets": bool(c.secrets),
    }
    optional = {
        "category": c.category,
        "category_label": c.category_label,
        "activity": c.activity,
        "estimate": c.estimate.tool if c.estimate else None,
    }
    return public | {key: value for key, value in optional.items() if value is not None}


def steps_up(contract: Contract) -> str:
    """`no`, `always`, or `conditional` where it depends on the arguments."""
    if contract.step_up is None:
        return "no"
    return "always" if contract.step_up.when == "always" else "conditional"


def _idempotency(contract: Contract) -> dict[str, Any]:
    said: dict[str, Any] = {"recovery": contract.idempotency.recovery, "key": contract.idempotency.key}
    if contract.idempotency.argument:
        said["argument"] = contract.idempotency.argument
    if contract.idempotency.retention:
        said["retention"] = format_duration(contract.idempotency.retention)
    if contract.natural:
        said["natural"] = list(contract.natural.by)
    return said


def _projected(contract: Contract, source: Any) -> Any:
    """One value of a profile's `meta` table."""
    if isinstance(source, Mapping):
        said: str = source["tier"].get(contract.side_effect.value, contract.side_effect.value)
        return said
    match source:
        case "scope":
            return " ".join(contract.permissions)
        case "permissions" | "produces" | "side_effects":
            return list(getattr(contract, source))
        case "failure_modes":
            return list(contract.failure_modes)
        case "confirms":
            return contract.confirmation.by
        case "steps_up":
            return steps_up(contract)
        case "risk":
            return contract.risk.value
    return getattr(contract, source)


@dataclass(frozen=True, slots=True)
class Claims:
    """What a foreign definition claims by its annotations, with the names it used for them."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    foreign: tuple[str, ...] = ()

    def effective(self, name: str) -> bool:
        """The hint as a host that follows the specification takes it."""
        said: bool | None = getattr(self, name)
        return SPECIFIED_DEFAULTS[name] if said is None else said


def read_claims(definition: Mapping[str, Any]) -> Claims:
    """Read a definition's hints tolerantly: standard names first, the foreign ones as what they mean."""
    said = definition.get("annotations")
    if not isinstance(said, Mapping):
        return Claims()
    found: dict[str, bool | None] = {}
    foreign = tuple(name for name in _FOREIGN_NAMES if isinstance(said.get(name), bool))
    for name in foreign:
        found[_FOREIGN_NAMES[name]] = said[name]
    for name, wire in WIRE_NAMES.items():
        if isinstance(said.get(wire), bool):
            found[name] = said[wire]
    return Claims(**found, foreign=foreign)


def dropped_hints(annotations: Mapping[str, Any], contract: Contract, profile: Profile) -> list[str]:
    """The hints an author wrote on a tool that mean something else than what its contract puts on the wire.

    An absent hint means what the specification says it means. Of a tool that reads only, `destructiveHint` and
    `idempotentHint` have no meaning.
    """
    written = read_claims({"annotations": annotations})
    derived = read_claims({"annotations": {WIRE_NAMES[name]: said for name, said in profile.hints(contract).items()}})
    reads = written.effective("read_only") and derived.effective("read_only")
    compared = ("read_only", "open_world") if reads else tuple(WIRE_NAMES)
    return [
        f"{WIRE_NAMES[name]} is {_word(said)} in its annotations and {_word(derived.effective(name))} by its contract"
        for name in compared
        if (said := getattr(written, name)) is not None and said != derived.effective(name)
    ]


def _word(value: bool) -> str:
    return "true" if value else "false"
