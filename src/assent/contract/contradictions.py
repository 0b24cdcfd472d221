"""Finds contradictions inside a contract, and what an agent should know and the contract does not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from assent.contract.pointers import tokens
from assent.contract.tiers import Risk, Tier
from assent.errors import Fault

if TYPE_CHECKING:
    from assent.contract.model import Contract
    from assent.contract.profiles import Profile

HOST_LEVERS = frozenset({"anthropic/requiresUserInteraction", "cursor/requiresConfirmation"})


def contradictions(contract: Contract) -> list[tuple[str, str, str]]:
    """Every contradiction of a contract as (field, what is wrong, remedy)."""
    c, found = contract, []
    spends = c.side_effect is Tier.EXTERNAL_SPEND
    guarded = c.risk in (Risk.HIGH, Risk.CRITICAL, Risk.FORBIDDEN)

    def wrong(field: str, message: str, remedy: str) -> None:
        found.append((field, message, remedy))

    if c.overwrites and c.side_effect is not Tier.WRITE:
        wrong(
            "overwrites",
            f"only a write can overwrite, and this is {c.side_effect}",
            "Remove it, or set side_effect: write",
        )
    if c.autonomous and guarded:
        wrong("autonomous", f"a tool of {c.risk} risk cannot be autonomous", "Remove it, or lower the risk")
    if c.confirmation.by == "none" and guarded and not (c.confirmation.because or "").strip():
        wrong(
            "confirmation.by",
            f"a tool of {c.risk} risk needs a confirmation",
            "Give the reason with `because:`, or set by: user",
        )
    if c.confirmation.quorum > 1 and c.confirmation.by != "approver":
        wrong("confirmation.quorum", "a quorum needs approvers", "Set by: approver")
    if not c.autonomous and not guarded and c.confirmation.by == "none" and not c.confirmation.because:
        wrong("autonomous", "an agent may not call it alone, but no person is asked", "Remove it, or set confirmation")
    if c.step_up and not c.step_up.max_age and not c.step_up.acr:
        wrong("step_up", "it requires nothing", "Set max_age, acr or both")
    if spends and c.idempotency.key == "optional":
        wrong("idempotency.key", "spending without a key can charge twice", "Set key: required, or key: auto")
    if c.idempotency.recovery == "reconcile" and c.idempotency.lookup is None:
        wrong(
            "idempotency.lookup",
            "recovery: reconcile needs a look-up",
            "Name the read-only tool that reports whether it was done",
        )
    if c.idempotency.forward == "argument" and not c.idempotency.argument:
        wrong("idempotency.forward", "no argument is named for the key", "Name it with `argument:`")
    if c.side_effect is Tier.READ and c.dry_run.mode == "required":
        wrong(
            "dry_run.mode",
            "a read changes nothing, so it needs no dry run",
            "Remove dry_run, or correct side_effect",
        )
    found.extend(_contradicting_names(c))
    found.extend(_contradicting_hints(c))
    return found


def _contradicting_names(c: Contract) -> list[tuple[str, str, str]]:
    """Contradictions between names: one name for two things, or a tool that refers to itself."""
    found = []
    if c.dry_run.mode != "none" and c.dry_run.argument == c.idempotency.argument:
        found.append(("dry_run.argument", "the key uses the same argument", "Use another name"))
    if c.estimate and c.estimate.tool == c.name:
        found.append(("estimate.tool", "a tool cannot estimate its own price", "Use a tool that only estimates"))
    if c.idempotency.lookup and c.idempotency.lookup.tool == c.name:
        found.append(("idempotency.lookup.tool", "a tool cannot look up its own result", "Use a read-only tool"))
    if c.natural and c.side_effect is Tier.READ:
        found.append(("natural", "a read makes nothing that could be returned again", "Remove it"))
    for field, priced in (("cost.amount", c.cost), ("estimate.amount", c.estimate)):
        if priced and "*" in tokens(priced.amount):
            remedy = "Point to the one amount, or to an estimate that adds them up"
            found.append((field, "a price is one amount, and `*` means many", remedy))
    for key in c.meta:
        if key.startswith("dev.assent/") or key in HOST_LEVERS:
            remedy = "Set confirmation: {by: host}" if key in HOST_LEVERS else "Remove it"
            found.append((f"meta.{key}", "only Assent writes this key", remedy))
    return found


def _contradicting_hints(c: Contract) -> list[tuple[str, str, str]]:
    h, found = c.hints, []
    overridden = [
        name for name in ("read_only", "destructive", "idempotent", "open_world") if getattr(h, name) is not None
    ]
    if overridden and not h.because:
        found.append(("hints", "a hint is overridden without a reason", "Give the reason with `because:`"))
    if h.read_only is not None:
        found.append(("hints.read_only", "read-only follows from side_effect", "Correct side_effect instead"))
    if h.destructive is False:
        found.append(
            (
                "hints.destructive",
                "destructive can be set to true, not to false",
                "Correct side_effect or overwrites",
            )
        )
    if h.destructive and c.side_effect is Tier.READ:
        found.append(("hints.destructive", "a read cannot be destructive", "Set side_effect: destructive"))
    return found


def exception_of(contract: Contract) -> str | None:
    """The exception of a contract as a sentence: it is critical and no person is asked. None without one."""
    confirmation = contract.confirmation
    if contract.risk is not Risk.CRITICAL or confirmation.by != "none":
        return None
    return f"critical risk, and no person is asked. The reason: {confirmation.because}"


_MOST_NAMED = 10


def unsendable_keys(contracts: Iterable[Contract]) -> str | None:
    """The warning for the operator at load: a model writes arguments only, and few hosts send `_meta` or headers."""
    keys = ((one.name, one.idempotency) for one in contracts)
    names = sorted(name for name, key in keys if key.key == "required" and key.argument is None)
    if not names:
        return None
    named = ", ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    )
    return (
        f"{named}: the contract requires an idempotency key and names no argument for it. Hosts that send neither "
        "`_meta` nor headers get only refusals. Write `idempotency: {argument: idempotency_key}`, or `key: auto`"
    )


_DECLARED = ("category", "permissions", "side_effects", "failure_modes")
"""The fields that nobody but the author knows. Risk, autonomy, confirmation, step-up and audit event have defaults."""


def missing_fields(contract: Contract, definition: Mapping[str, Any]) -> list[str]:
    """The fields of the thirteen that neither the contract nor the tool's definition has."""
    missing = [name for name in _DECLARED if name not in contract.model_fields_set]
    if not (contract.description or definition.get("description")):
        missing.insert(0, "description")
    if contract.output is None and definition.get("outputSchema") is None:
        missing.append("output")
    return missing


def incomplete(contract: Contract, definition: Mapping[str, Any], profile: Profile) -> Fault | None:
    """The fault of a contract that leaves fields open, if the profile reports or refuses such contracts."""
    missing = missing_fields(contract, definition) if profile.completeness else []
    if not missing:
        return None
    message = f"the contract leaves open: {', '.join(missing)}"
    return Fault(message, "Write them; an empty list ([] or {}) says that there are none", contract.name)
