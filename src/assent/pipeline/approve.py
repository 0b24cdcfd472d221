"""Takes a person's decision on an approval: finds it, checks that they may decide, stores and records the decision."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from assent.contract.fields import StepUp
from assent.core.approval import Approval, ApprovalState, Decision, SignedDecision, Verdict, decision_digest
from assent.core.audit import Entry, principal_values
from assent.core.outcome import Refusal
from assent.core.principal import Principal, person_key
from assent.core.record_scope import APPROVER, OPERATOR, is_operator, record_scope_of
from assent.pipeline.step_up import shortfall
from assent.ports import Ports

__all__ = ["APPROVER", "OPERATOR", "approve", "approver_shortfall", "find", "step_ups_of"]


async def approve(
    person: Principal,
    approval_id: str,
    verdict: Verdict,
    ports: Ports,
    channel: str = "api",
    reason: str = "",
    signed: SignedDecision | None = None,
) -> Approval:
    """Decide a pending approval and return its new state; a Refusal says why the decision was not taken.

    The agent receives the reason of a decline. Callers limit it to `MOST_REASON` characters. `signed` is the decision
    as the person signed it with a passkey; the caller has checked the signature.
    """
    decision = Decision(person.id, verdict, ports.now(), channel, reason)
    try:
        return await _decide(person, approval_id, decision, ports, signed)
    except Refusal as refusal:
        facts = {"code": refusal.code, "verdict": verdict, "channel": channel}
        values = {"approval": approval_id[:64], **principal_values(person)}
        ports.store.append(Entry("denial", ports.now(), facts, values))
        raise


async def _decide(
    person: Principal, approval_id: str, decision: Decision, ports: Ports, signed: SignedDecision | None
) -> Approval:
    approval, verdict = await _load(person, approval_id, ports), decision.verdict
    _check_entitled(person, approval)
    _check_state(approval, verdict, ports.now())
    if verdict != "reopen" and (earlier := approval.decision_of(person.id)) is not None:
        detail = f"{earlier.person} already decided ({earlier.verdict}): a person decides once."
        raise Refusal("approve.already_decided", detail)
    _check_authentication(person, approval, verdict, ports, signed)
    facts = {**approval.facts, "approval": approval.id, "verdict": verdict, "channel": decision.channel}
    values: dict[str, Any] = {"person": person.id, "tenant": approval.tenant}
    if person.key:
        values["key"] = person.key
    if decision.reason:
        values["reason"] = decision.reason
    if signed is not None:
        values |= {"signed": signed.values, "shown": approval.text}
    entry = Entry("decision", decision.at, facts, values)
    if (decided := await ports.store.decide(approval.id, decision, ports.now(), entry)) is None:
        raise Refusal("approve.already_decided")
    return decided


async def find(person: Principal, approval_id: str, ports: Ports) -> Approval:
    """The approval, if this principal may read it; one of another tenant or requester is reported as unknown."""
    approval = await _load(person, approval_id, ports)
    if not record_scope_of(person).covers(approval.tenant, approval.requester):
        raise _unknown(approval_id)
    return approval


async def _load(person: Principal, approval_id: str, ports: Ports) -> Approval:
    """The approval, if it belongs to this principal's tenant; whether they may decide it is checked separately."""
    approval = await ports.store.approval(approval_id)
    if approval is None or not (is_operator(person) or approval.tenant == person.tenant):
        raise _unknown(approval_id)
    return approval


def _unknown(approval_id: str) -> Refusal:
    return Refusal("approve.unknown", f"There is no approval {approval_id[:64]}.")


def _check_entitled(person: Principal, approval: Approval) -> None:
    if person.kind != "human" or person.has_agent:
        raise Refusal("approve.not_entitled", "Only a person can decide; an agent cannot decide for a person.")
    if person.mode == "test" and approval.facts.get("mode") != "test":
        raise Refusal("approve.not_entitled", "Test credentials can decide only about calls to test endpoints.")
    if approval.by != "approver":
        return
    if person_key(person.id) == person_key(approval.requester):
        raise Refusal("approve.own_request")
    if not person.roles & {APPROVER, OPERATOR}:
        raise Refusal("approve.not_entitled", "This approval needs a person with the role approver.")


def _check_authentication(
    person: Principal, approval: Approval, verdict: Verdict, ports: Ports, signed: SignedDecision | None
) -> None:
    """Raise unless the person authenticated as freshly and strongly as a yes needs, or signed exactly this decision."""
    if signed is not None:
        if signed.digest != decision_digest(approval, verdict):
            raise Refusal("approve.step_up_required", "The signature is of another decision.")
        return
    lacking = approver_shortfall(person, approval, ports) if verdict == "approve" else None
    if lacking is not None:
        raise Refusal("approve.step_up_required", lacking)


def approver_shortfall(person: Principal, approval: Approval, ports: Ports) -> str | None:
    """What a person's authentication lacks for a yes, as a sentence."""
    found = (shortfall(spec, person, ports.now()) for spec in step_ups_of(approval, person, ports))
    return next((one.replace("This call", "This approval", 1) for one in found if one is not None), None)


def step_ups_of(approval: Approval, person: Principal, ports: Ports) -> list[StepUp]:
    """What this approver must bring: as the contract asked when the question was put, and as is configured now.

    Where neither asks anything, the default for critical calls applies.
    """
    facts, found = approval.facts, []
    if "max_age" in facts or "acr" in facts:
        found.append(StepUp(max_age=facts.get("max_age"), acr=tuple(map(unquote, facts.get("acr", ())))))
    configured = ports.rules.approver_step_up.get(str(facts.get("risk"))) or _default_step_up(approval, person, ports)
    return found if configured is None else [*found, configured]


def _default_step_up(approval: Approval, person: Principal, ports: Ports) -> StepUp | None:
    """The default for this approver; a contract with a `step_up` of its own needs none, whatever its condition says."""
    tool = ports.catalogue().tools.get(approval.tool)
    if tool is not None and tool.contract.step_up is not None:
        return None
    facts = approval.facts
    return ports.rules.default_step_up.for_approver(person, str(facts.get("risk")), str(facts.get("mode")))


def _check_state(approval: Approval, verdict: Verdict, now: float) -> None:
    """Raise unless the approval can take this verdict: a decision needs a pending one, `reopen` a decided one."""
    state = approval.state_at(now)
    if state is ApprovalState.EXPIRED:
        raise Refusal("approve.expired")
    if verdict == "reopen" and state not in (ApprovalState.DECLINED, ApprovalState.APPROVED):
        raise Refusal("approve.not_declined", f"This approval is {state}, so there is no decision to take back.")
    if verdict != "reopen" and state is not ApprovalState.PENDING:
        raise Refusal("approve.already_decided")
