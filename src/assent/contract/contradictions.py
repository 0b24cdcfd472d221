"""Where does a contract contradict itself?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.contract.pointers import tokens
from assent.contract.tiers import Risk, Tier

if TYPE_CHECKING:
    from assent.contract.model import Contract

HOST_LEVERS = frozenset({"anthropic/requiresUserInteraction", "cursor/requiresConfirmation"})


def contradictions(contract: Contract) -> list[tuple[str, str, str]]:
    """Every (field, what is wrong, remedy) in which a contract contradicts itself."""
    c, found = contract, []
    spends = c.side_effect is Tier.EXTERNAL_SPEND
    guarded = c.risk in (Risk.HIGH, Risk.CRITICAL, Risk.FORBIDDEN)

    def wrong(field: str, message: str, remedy: str) -> None:
        found.append((field, message, remedy))

    if c.overwrites and c.side_effect is not Tier.WRITE:
        wrong(
            "overwrites",
            f"only a write overwrites, and this is {c.side_effect}",
            "Remove it, or say side_effect: write",
        )
    if c.autonomous and guarded:
        wrong("autonomous", f"a tool of {c.risk} risk is never autonomous", "Remove it, or lower the risk")
    if c.confirmation.by == "none" and guarded and not c.confirmation.because:
        wrong(
            "confirmation.by",
            f"nobody is asked about a tool of {c.risk} risk",
            "Say why with `because:`, or ask a user",
        )
    if c.confirmation.quorum > 1 and c.confirmation.by != "approver":
        wrong("confirmation.quorum", "only approvers can be counted", "Say by: approver")
    if not c.autonomous and not guarded and c.confirmation.by == "none" and not c.confirmation.because:
        wrong("autonomous", "an agent may not call it alone, and nobody is asked", "Remove it, or ask a user")
    if c.step_up and not c.step_up.max_age and not c.step_up.acr:
        wrong("step_up", "it asks for nothing", "Give max_age, acr or both")
    if spends and c.idempotency.key == "optional":
        wrong("idempotency.key", "spending without a key can charge twice", "Say key: required, or key: auto")
    if c.idempotency.recovery == "reconcile" and c.idempotency.lookup is None:
        wrong(
            "idempotency.lookup",
            "reconciling needs a look-up",
            "Name the read-only tool that says whether it was done",
        )
    if c.idempotency.forward == "argument" and not c.idempotency.argument:
        wrong("idempotency.forward", "no argument is named for the key", "Name it with `argument:`")
    if c.side_effect is Tier.READ and c.dry_run.mode == "required":
        wrong(
            "dry_run.mode",
            "a read changes nothing that could be rehearsed",
            "Remove dry_run, or correct side_effect",
        )
    found.extend(_contradicting_names(c))
    found.extend(_contradicting_hints(c))
    return found


def _contradicting_names(c: Contract) -> list[tuple[str, str, str]]:
    """Where one name stands for two things, or a tool would be called for its own sake."""
    found = []
    if c.dry_run.mode != "none" and c.dry_run.argument == c.idempotency.argument:
        found.append(("dry_run.argument", "the key is sent in the same argument", "Name another"))
    if c.estimate and c.estimate.tool == c.name:
        found.append(("estimate.tool", "the price cannot be learnt by paying it", "Name the tool that only estimates"))
    if c.idempotency.lookup and c.idempotency.lookup.tool == c.name:
        found.append(("idempotency.lookup.tool", "looking it up would do it again", "Name a tool that only reads"))
    if c.natural and c.side_effect is Tier.READ:
        found.append(("natural", "a read makes nothing that could be returned again", "Remove it"))
    for field, priced in (("cost.amount", c.cost), ("estimate.amount", c.estimate)):
        if priced and "*" in tokens(priced.amount):
            remedy = "Point to the one amount, or to an estimate that adds them up"
            found.append((field, "a price is one amount, and `*` stands for many", remedy))
    for key in c.meta:
        if key.startswith("dev.assent/") or key in HOST_LEVERS:
            remedy = "Say confirmation: {by: host}" if key in HOST_LEVERS else "Remove it"
            found.append((f"meta.{key}", "this key is written by Assent alone", remedy))
    return found


def _contradicting_hints(c: Contract) -> list[tuple[str, str, str]]:
    h, found = c.hints, []
    said = [name for name in ("read_only", "destructive", "idempotent", "open_world") if getattr(h, name) is not None]
    if said and not h.because:
        found.append(("hints", "a hint is overridden without a reason", "Say why with `because:`"))
    if h.read_only is not None:
        found.append(("hints.read_only", "read-only follows from side_effect alone", "Correct side_effect instead"))
    if h.destructive is False:
        found.append(
            (
                "hints.destructive",
                "destructive may be raised, never lowered",
                "Correct side_effect or overwrites",
            )
        )
    if h.destructive and c.side_effect is Tier.READ:
        found.append(("hints.destructive", "a read cannot be destructive", "Say side_effect: destructive"))
    return found
