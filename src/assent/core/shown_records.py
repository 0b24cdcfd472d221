"""Approvals and claims as `/api` and the command line show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assent.contract.tiers import Risk
from assent.core.approval import CLIENT, IN_BAND, RISKS, Approval, Decision
from assent.core.question import visible

if TYPE_CHECKING:
    from assent.core.claims import ClaimRecord

_OF_APPROVAL = (
    *("tool", "tenant", "requester", "by", "quorum", "asked_at", "expires_at", "text", "facts", "uses", "used"),
    *("lasts", "details"),
)
_OF_CLAIM = ("tool", "tenant", "principal", "key", "epoch", "contract", "created_at", "settled_at")


def approval_as_json(approval: Approval, now: float) -> dict[str, Any]:
    decisions = [{**one.as_json(), "decider": decider_of(one)} for one in approval.decisions]
    fields = {name: getattr(approval, name) for name in _OF_APPROVAL}
    return {"id": approval.id, "state": approval.state_at(now).value, **fields, "decisions": decisions}


def claim_as_json(record: ClaimRecord, now: float, keyed_hash: Callable[[str], str]) -> dict[str, Any]:
    """A claim; the audit log names it by `reference`."""
    fields = {name: getattr(record, name) for name in _OF_CLAIM}
    return {"id": record.id, "state": record.state_at(now).value, **fields, "reference": keyed_hash(record.id)}


def decider_of(decision: Decision) -> str:
    """Who decided, for people: a person, or the client with the time that it took. Escaped."""
    if decision.channel != IN_BAND:
        return visible(decision.person)
    name = visible(decision.client) if decision.client else f"of {visible(decision.person.removeprefix(CLIENT))}"
    took = "" if decision.seconds is None else f" after {decision.seconds:.2f} s"
    own = decision.claimed
    claim = "" if own is None else f" (it says that its own question was open for {own:.2f} s)"
    return f"the client {name}{took}{claim}"


def urgency_of(approval: Approval) -> tuple[int, int, float, str]:
    """The place in a list of what to decide first: by the minute in which it expires, then the riskiest."""
    risk = approval.facts.get("risk")
    return int(approval.expires_at // 60), -Risk(risk).number if risk in RISKS else 0, approval.asked_at, approval.id
