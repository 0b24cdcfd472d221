"""What the answer of a caller's client counts for.

An answer proves that the client said yes, not that a person did. Where no contract says that the user confirms, a yes
that comes before a person could have read the question does not count.
"""

from __future__ import annotations

from typing import Any

from assent.core.approval import CLIENT, IN_BAND, Approval, ApprovalState, Decision, Verdict, reading_time
from assent.core.audit import Entry
from assent.core.call import Call, UserAnswer
from assent.ports import Ports


def can_answer(call: Call, approval: Approval) -> bool:
    """Whether this caller's client may answer: a user decides, it can ask one, and has not answered unread before."""
    asks = call.can_ask and call.principal.asks != "nobody"
    return approval.by == "user" and asks and approval.answered_too_fast is None


def has_answer(call: Call, approval: Approval) -> bool:
    """Whether the client sends an answer to this question that may count."""
    return call.reply is not None and call.reply.approval == approval.id and can_answer(call, approval)


async def record_answer(approval: Approval, call: Call, ports: Ports) -> Approval:
    """Record the client's answer as the client's. A cancel decides nothing; a decline stays."""
    reply, now = call.reply, ports.now()
    assert reply is not None
    if reply.action == "cancel" or approval.state_at(now) is not ApprovalState.PENDING:
        return approval
    seconds = max(0.0, now - approval.asked_at if reply.seconds is None else reply.seconds)
    verdict: Verdict = "decline" if reply.action == "decline" else "approve"
    unread = max(seconds, reply.claimed or 0.0) < reading_time(approval.text)
    if verdict == "approve" and unread and _needs_reader(call):
        verdict = "too_fast"
    decision = _decision(call, reply, verdict, seconds, now)
    facts = {**approval.facts, "approval": approval.id, "verdict": verdict, "channel": IN_BAND}
    said = {"client": decision.client, "seconds": decision.seconds, "claimed": decision.claimed}
    values: dict[str, Any] = {"person": decision.person, "tenant": approval.tenant}
    values |= {name: value for name, value in said.items() if value not in ("", None)}
    decided = await ports.store.decide(approval.id, decision, now, Entry("decision", now, facts, values))
    return decided or await ports.store.approval(approval.id) or approval


def _decision(call: Call, reply: UserAnswer, verdict: Verdict, seconds: float, now: float) -> Decision:
    claimed = None if reply.claimed is None else round(reply.claimed, 3)
    return Decision(
        CLIENT + call.principal.id,
        verdict,
        now,
        IN_BAND,
        client=reply.client,
        seconds=round(seconds, 3),
        claimed=claimed,
    )


def _needs_reader(call: Call) -> bool:
    """Whether a yes must leave time to read: nobody has said that this client's answer is the user's."""
    contract, principal = call.tool.contract, call.principal
    says_user = contract.names_confirmer and contract.confirmation.by == "user"
    return not says_user and principal.asks != "person" and principal.mode != "test"
