"""Tool definitions on the wire: writes those with a contract, and reads those of upstreams (ADR 0057)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assent.contract.contradictions import HOST_LEVERS
from assent.contract.expressions import Condition
from assent.contract.fields import format_duration
from assent.contract.model import Contract, humanise
from assent.contract.profiles import HINTS, WIRE_NAMES, HistoricNames, Profile
from assent.contract.tiers import Risk, Tier

CONTRACT_KEY = "dev.assent/contract"
VERSION = 1
_MOST_TITLE = 2000
_MOST_NAMED = 2
_REPLACED = ("name", "title", "description", "annotations", "_meta")

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
    contract: Contract,
    profile: Profile,
    *,
    historic_names: HistoricNames = False,
    claims: Claims | None = None,
    title: str | None = None,
) -> dict[str, Any]:
    """The `annotations` object of a tool: its title if the profile puts it there, and the hints that are sent.

    `claims` are given if the contract is inferred or shipped: then no hint is laxer than the upstream's own.
    """
    spellings = [profile.historic] if historic_names and profile.historic else [WIRE_NAMES]
    if historic_names == "both":
        spellings.append(WIRE_NAMES)
    hints = profile.hints(contract, doubtful=claims is not None)
    if claims is not None:
        hints = _no_laxer(hints, contract, claims)
    fields: dict[str, Any] = {"title": title or contract.title} if profile.title in ("both", "annotations") else {}
    for names in spellings:
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

    listed = {name: strictest(name, hint) for name, hint in hints.items()}
    return listed | ({"read_only": False} if listed["read_only"] and listed["destructive"] else {})


def meta_of(contract: Contract, profile: Profile, *, doubtful: bool = False) -> dict[str, Any]:
    """The `_meta` object of a tool: the profile's keys, the contract's own, and its public projection."""
    fields: dict[str, Any] = {}
    for key, source in profile.meta.items():
        row = profile.row_name(contract, doubtful=doubtful)
        value = _meta_value(contract, source, profile, row)
        if value not in (None, "", [], {}) or (profile.completeness and source in contract.model_fields_set):
            fields[key] = value  # an empty list says that there are none; nothing says that nobody declared it
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
        fields[CONTRACT_KEY] = projection(contract, profile)
    return fields


def definition(
    contract: Contract,
    profile: Profile,
    /,
    *,
    historic_names: HistoricNames = False,
    claims: Claims | None = None,
    **parts: Any,
) -> dict[str, Any]:
    """A whole tool definition; `parts` are the name, description, schemas and other members of the upstream's
    definition.
    """
    beside, inside = _titles(contract, parts)
    fields = {"name": parts.get("name", contract.name)}
    if profile.title in ("both", "tool"):
        fields["title"] = beside
    if contract.description is not None:
        parts["description"] = contract.description
    if "description" in parts:
        fields["description"] = parts["description"]
    fields.update({key: value for key, value in parts.items() if key not in _REPLACED})
    fields["annotations"] = annotations_of(
        contract, profile, historic_names=historic_names, claims=claims, title=inside
    )
    # Drop the upstream's host levers: the contract decides whether the host asks, or both would ask.
    given = parts.get("_meta")
    own = {key: value for key, value in given.items() if key not in HOST_LEVERS} if isinstance(given, Mapping) else {}
    meta = {**own, **meta_of(contract, profile, doubtful=claims is not None)}
    if claims is not None and CONTRACT_KEY in meta:
        meta[CONTRACT_KEY].setdefault("activity", _action_template(contract, parts.get("inputSchema")))
    return {**fields, "_meta": meta} if meta else fields


def _action_template(contract: Contract, schema: Any) -> str:
    """A line for an activity feed, for a tool that nobody wrote one for: its name, and the first arguments it needs."""
    needed = schema.get("required") if isinstance(schema, Mapping) else None
    plain = [one for one in needed if isinstance(one, str) and one.isidentifier() and one.isascii()] if needed else []
    shown = ", ".join(f"{{{name}}}" for name in plain[:_MOST_NAMED])
    return f"{humanise(contract.name)}: {shown}" if shown else humanise(contract.name)


def _titles(contract: Contract, parts: Mapping[str, Any]) -> tuple[str, str]:
    """The title beside the annotations and the one inside: the contract's if it is written, else the server's own."""
    annotations = parts.get("annotations")
    said = parts.get("title"), annotations.get("title") if isinstance(annotations, Mapping) else None
    beside, inside = (one[:_MOST_TITLE] if isinstance(one, str) and one.strip() else None for one in said)
    if "title" in contract.model_fields_set:
        return contract.title, contract.title
    return beside or inside or contract.title, inside or beside or contract.title


def projection(contract: Contract, profile: Profile) -> dict[str, Any]:
    """The public part of a contract, as far as it concerns an agent: no guards, thresholds, approvers or policy."""
    c = contract
    public: dict[str, Any] = {
        "version": VERSION,
        "digest": c.digest,
        "tier": c.side_effect.value,
        "risk": c.risk.value,
        "risk_number": c.risk.number,
        "autonomous": c.autonomous,
        "confirmation": confirms(c, profile),
        "step_up": steps_up(c, default=profile.default_step_up),
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
        "confirmation_when": confirms_when(c),
        "category": c.category,
        "category_label": c.category_label,
        "activity": c.activity,
        "estimate": c.estimate.tool if c.estimate else None,
    }
    return public | {key: value for key, value in optional.items() if value is not None}


def confirms(contract: Contract, profile: Profile) -> str:
    """Who may be asked about an agent's call: `none`, `host`, `user` or `approver`. Guards can ask about any call."""
    return contract.asked_by(bool(contract.selects) or contract.bulk is not None, profile.critical_confirmer)


def confirms_when(contract: Contract) -> str | None:
    """`ambiguous` if an agent's call runs without a person unless its scope is unclear."""
    by = contract.asked_by(bool(contract.selects) or contract.bulk is not None)
    return "ambiguous" if contract.autonomous and by in ("user", "approver") else None


def steps_up(contract: Contract, *, default: bool = True) -> str:
    """`no`, `always`, or `conditional` if it depends on the arguments, or by default on the caller's login."""
    if contract.step_up is None:
        return "conditional" if default and contract.risk >= Risk.CRITICAL else "no"
    return "always" if contract.step_up.when == "always" else "conditional"


def _step_up_arguments(contract: Contract) -> list[str]:
    """The arguments that decide whether a step-up is needed; the threshold itself is not public."""
    if contract.step_up is None or contract.step_up.when == "always":
        return []
    return sorted(Condition(contract.step_up.when).names)


def runtime_failures(contract: Contract, *, default_step_up: bool = True) -> list[str]:
    """The failures that Assent itself can answer for a tool, besides those that its contract declares.

    A guard can ask, deny or limit any tool, so those failures are possible for every tool.
    """
    c = contract
    possible = dict.fromkeys(_ALWAYS_POSSIBLE, True) | {
        "step_up_required": steps_up(c, default=default_step_up) != "no",
        "dry_run_required": c.dry_run.mode == "required",
        "dry_run_failed": c.dry_run.mode != "none",
        "estimate_failed": c.estimate is not None,
        "idempotency_key_required": c.idempotency.key == "required",
        "secret_already_delivered": bool(c.secrets) or c.is_secret_whole,
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


def _meta_value(contract: Contract, source: Any, profile: Profile, row: str) -> Any:
    """One value of a profile's `meta` table; `row` is the row of the profile's table that holds."""
    if isinstance(source, Mapping):
        tier = contract.side_effect.value if row == "overwrites" else row
        value: str = source["tier"].get(tier, tier)
        return value
    match source:
        case "scope":
            return " ".join(contract.permissions)
        case "permissions" | "produces" | "side_effects":
            return list(getattr(contract, source))
        case "failure_modes":
            return list(contract.failure_modes)
        case "confirms":
            return confirms(contract, profile)
        case "confirms_when":
            return confirms_when(contract)
        case "steps_up":
            return steps_up(contract, default=profile.default_step_up)
        case "step_up_arguments":
            return _step_up_arguments(contract)
        case "runtime_failures":
            return runtime_failures(contract, default_step_up=profile.default_step_up)
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

    def as_said(self) -> Claims:
        """The same hints, with those that are absent taken at their laxest, so that only what was said counts."""
        said = {name: lax if getattr(self, name) is None else getattr(self, name) for name, lax in _LAX.items()}
        return Claims(**said, foreign=self.foreign)


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


_BECAUSE = "The annotations of the function say so."


def dropped_hints(annotations: Mapping[str, Any], contract: Contract, profile: Profile) -> list[str]:
    """The hints on a function that contradict what its contract puts on the wire."""
    return list(_contradictions(annotations, contract, profile))


def with_author_hints(contract: Contract, annotations: Mapping[str, Any], profile: Profile) -> Contract:
    """The contract with the hints of the annotations that do not contradict it."""
    said, derived = read_claims({"annotations": annotations}), profile.hints(contract)
    kept = {
        name: hint
        for name in HINTS
        if (hint := getattr(said, name)) is not None
        and (derived[name] is None or (name == "destructive" and hint and not derived[name]))
    }
    if not kept:
        return contract
    hints = contract.hints.model_copy(update={**kept, "because": contract.hints.because or _BECAUSE})
    return contract.changed(hints=hints)


def _contradictions(annotations: Mapping[str, Any], contract: Contract, profile: Profile) -> Iterator[str]:
    said, derived = read_claims({"annotations": annotations}), profile.hints(contract)
    reads = contract.side_effect is Tier.READ
    under = "" if profile.name == "spec" else f" under the profile {profile.name}"
    for name, wire in WIRE_NAMES.items():
        hint: bool | None = getattr(said, name)
        if hint is None or hint is derived[name] or (reads and name == "idempotent"):
            continue
        if name == "destructive" and hint:
            if reads:
                yield f"{wire} is true in its annotations, but by its contract it only reads"
        elif derived[name] is not None:
            yield f"{wire} is {_show(hint)} in its annotations and {_show(not hint)} by its contract{under}"
        elif name == "idempotent" and hint:
            yield f"{wire} is true in its annotations, but its contract does not say that a repetition changes nothing"


def _show(value: bool) -> str:
    return "true" if value else "false"
