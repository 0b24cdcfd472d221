"""Tool definitions on the wire: writes those with a contract, and reads those of upstreams."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assent.contract.contradictions import HOST_LEVERS
from assent.contract.durations import format_duration
from assent.contract.expressions import Condition
from assent.contract.model import Contract
from assent.contract.profiles import WIRE_NAMES, Profile
from assent.contract.tiers import Tier

CONTRACT_KEY = "dev.assent/contract"
VERSION = 1

# What hosts assume if a hint is absent.
SPECIFIED_DEFAULTS = {"read_only": False, "destructive": True, "idempotent": False, "open_world": True}
# The lax value of each hint is the opposite of its default.
_LAX = {name: not value for name, value in SPECIFIED_DEFAULTS.items()}
_ALWAYS_POSSIBLE = (
    *("authentication_required", "permission_denied", "policy_violation", "invalid_input", "rate_limit_exceeded"),
    *("budget_exceeded", "confirmation_required", "confirmation_declined"),
    *("unavailable", "failed", "undeclared_failure", "invalid_output"),
)
_FOREIGN_NAMES = {
    "readOnly": "read_only",
    "destructive": "destructive",
    "idempotent": "idempotent",
    "openWorld": "open_world",
}


def annotations_of(
    contract: Contract, profile: Profile, *, historic_names: bool = False, claims: Claims | None = None
) -> dict[str, Any]:
    """The `annotations` object of a tool: its title if the profile puts it there, and the hints that are sent.

    `claims` are given if the contract is only inferred: then no hint is laxer than the upstream's own.
    """
    names = profile.historic if historic_names and profile.historic else WIRE_NAMES
    hints = profile.hints(contract) if claims is None else _no_laxer(profile.hints(contract), contract, claims)
    fields: dict[str, Any] = {"title": contract.title} if profile.title in ("both", "annotations") else {}
    fields.update({names[name]: hints[name] for name in profile.order if hints[name] is not None})
    if contract.confirmation.by == "host" and not profile.plain_annotations:
        fields["cursor/requiresConfirmation"] = True
    return fields


def _no_laxer(hints: Mapping[str, bool | None], contract: Contract, claims: Claims) -> dict[str, bool | None]:
    """Replace every hint that is laxer than the upstream's own; explicit overrides stay."""

    def strictest(name: str, hint: bool | None) -> bool | None:
        stated = getattr(contract.hints, name) is not None
        lowers = hint is _LAX[name] and claims.effective(name) is not hint
        return getattr(claims, name) if lowers and not stated else hint

    return {name: strictest(name, hint) for name, hint in hints.items()}


def meta_of(contract: Contract, profile: Profile) -> dict[str, Any]:
    """The `_meta` object of a tool: the profile's keys, the contract's own, and its public projection."""
    fields: dict[str, Any] = {}
    for key, source in profile.meta.items():
        value = _meta_value(contract, source)
        if value not in (None, "", [], {}):
            fields[key] = value
    fields.update(
        {
            key: copy.deepcopy(value)
            for key, value in contract.meta.items()
            if not (key in fields or key in profile.omit)
        }
    )
    if contract.confirmation.by == "host":
        fields["anthropic/requiresUserInteraction"] = True
    if profile.publishes_contract:
        fields[CONTRACT_KEY] = projection(contract)
    return fields


def definition(
    contract: Contract, profile: Profile, /, *, historic_names: bool = False, claims: Claims | None = None, **parts: Any
) -> dict[str, Any]:
    """A whole tool definition; `parts` are the name, description, schemas and other members of the upstream's
    definition.
    """
    fields = {"name": parts.get("name", contract.name)}
    if profile.title in ("both", "tool"):
        fields["title"] = contract.title
    if contract.description is not None:
        parts["description"] = contract.description
    if "description" in parts:
        fields["description"] = parts["description"]
    fields.update({key: value for key, value in parts.items() if key not in ("name", "description", "_meta")})
    fields["annotations"] = annotations_of(contract, profile, historic_names=historic_names, claims=claims)
    # Drop the upstream's host levers: the contract decides whether the host asks, or both would ask.
    given = parts.get("_meta")
    own = {key: value for key, value in given.items() if key not in HOST_LEVERS} if isinstance(given, Mapping) else {}
    meta = {**own, **meta_of(contract, profile)}
    return {**fields, "_meta": meta} if meta else fields


def projection(contract: Contract) -> dict[str, Any]:
    """The public part of a contract: no guards, thresholds, approvers or policy."""
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
        "secrets": bool(c.secrets) or c.is_secret_whole,
    }
    optional = {
        "category": c.category,
        "category_label": c.category_label,
        "activity": c.activity,
        "estimate": c.estimate.tool if c.estimate else None,
    }
    return public | {key: value for key, value in optional.items() if value is not None}


def steps_up(contract: Contract) -> str:
    """`no`, `always`, or `conditional` if it depends on the arguments."""
    if contract.step_up is None:
        return "no"
    return "always" if contract.step_up.when == "always" else "conditional"


def _step_up_arguments(contract: Contract) -> list[str]:
    """The arguments that decide whether a step-up is needed; the threshold itself is not public."""
    if contract.step_up is None or contract.step_up.when == "always":
        return []
    return sorted(Condition(contract.step_up.when).names)


def runtime_failures(contract: Contract) -> list[str]:
    """The failures that Assent itself can answer for a tool, besides those that its contract declares.

    A guard can ask, deny or limit any tool, so those failures are possible for every tool.
    """
    c = contract
    possible = dict.fromkeys(_ALWAYS_POSSIBLE, True) | {
        "step_up_required": c.step_up is not None,
        "dry_run_required": c.dry_run.mode == "required",
        "dry_run_failed": c.dry_run.mode != "none",
        "estimate_failed": c.estimate is not None,
        "idempotency_key_required": c.idempotency.key == "required",
        "secret_already_delivered": bool(c.secrets),
        **dict.fromkeys(("idempotency_conflict", "in_progress", "in_doubt", "expired"), c.side_effect is not Tier.READ),
    }
    return [name for name, is_possible in possible.items() if is_possible and name not in c.failure_modes]


def _idempotency(contract: Contract) -> dict[str, Any]:
    fields: dict[str, Any] = {"recovery": contract.idempotency.recovery, "key": contract.idempotency.key}
    if contract.idempotency.argument:
        fields["argument"] = contract.idempotency.argument
    if contract.idempotency.retention:
        fields["retention"] = format_duration(contract.idempotency.retention)
    if contract.natural:
        fields["natural"] = list(contract.natural.by)
    return fields


def _meta_value(contract: Contract, source: Any) -> Any:
    """One value of a profile's `meta` table."""
    if isinstance(source, Mapping):
        value: str = source["tier"].get(contract.side_effect.value, contract.side_effect.value)
        return value
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
        case "step_up_arguments":
            return _step_up_arguments(contract)
        case "runtime_failures":
            return runtime_failures(contract)
        case "risk":
            return contract.risk.value
    return getattr(contract, source)


@dataclass(frozen=True, slots=True)
class Claims:
    """The annotations of an upstream's definition, with the non-standard names that it used."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    foreign: tuple[str, ...] = ()

    def effective(self, name: str) -> bool:
        """The hint as a host that follows the specification reads it."""
        hint: bool | None = getattr(self, name)
        return SPECIFIED_DEFAULTS[name] if hint is None else hint


def read_claims(definition: Mapping[str, Any]) -> Claims:
    """Read a definition's hints tolerantly: standard names first, then known non-standard names."""
    annotations = definition.get("annotations")
    if not isinstance(annotations, Mapping):
        return Claims()
    found: dict[str, bool | None] = {}
    foreign = tuple(name for name in _FOREIGN_NAMES if isinstance(annotations.get(name), bool))
    for name in foreign:
        found[_FOREIGN_NAMES[name]] = annotations[name]
    for name, wire in WIRE_NAMES.items():
        if isinstance(annotations.get(wire), bool):
            found[name] = annotations[wire]
    return Claims(**found, foreign=foreign)


def dropped_hints(annotations: Mapping[str, Any], contract: Contract, profile: Profile) -> list[str]:
    """The hints on a tool that differ from what its contract puts on the wire.

    An absent hint has the specified default. For a read-only tool, `destructiveHint` and `idempotentHint` have no
    meaning.
    """
    written = read_claims({"annotations": annotations})
    derived = read_claims({"annotations": {WIRE_NAMES[name]: hint for name, hint in profile.hints(contract).items()}})
    reads = written.effective("read_only") and derived.effective("read_only")
    compared = ("read_only", "open_world") if reads else tuple(WIRE_NAMES)
    return [
        f"{WIRE_NAMES[name]} is {_show(hint)} in its annotations and {_show(derived.effective(name))} by its contract"
        for name in compared
        if (hint := getattr(written, name)) is not None and hint != derived.effective(name)
    ]


def _show(value: bool) -> str:
    return "true" if value else "false"
