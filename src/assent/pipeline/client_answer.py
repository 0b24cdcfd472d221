"""What the answer of a caller's client counts for.

An answer proves that the client said yes, not that a person did. Where no contract says that the user confirms, a yes
that comes before a person could have read the question does not count. Some clients are known to answer by themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from assent.contract.tiers import Risk
from assent.core.approval import CLIENT, IN_BAND, Approval, ApprovalState, Decision, Verdict, reading_time
from assent.core.audit import Entry
from assent.core.call import Call, UserAnswer
from assent.ports import Ports


class KnownClient(NamedTuple):
    """A client that in some of its modes answers questions without a person."""

    title: str
    does: str
    sources: tuple[str, ...]


KNOWN_CLIENTS = {
    "codex-mcp-client": KnownClient(
        "Codex",
        "Says yes to a form without fields at once, with full access and no approvals; declines links then.",
        ("https://github.com/openai/codex/pull/17164", "https://github.com/openai/codex/pull/21277"),
    ),
    "claude-code": KnownClient(
        "Claude Code",
        "Declines at once where it draws no dialog (`-p`, the Agent SDK, editors). A hook `Elicitation` of the user's "
        "can say yes.",
        (
            "https://github.com/anthropics/claude-code/issues/89858",
            "https://github.com/anthropics/claude-code/issues/38755",
        ),
    ),
}
"""By the name in `clientInfo`. A client can choose its name, so this only lowers what its yes counts for."""


def is_known(call: Call) -> bool:
    """Whether the caller's client is known to answer by itself in some of its modes."""
    return call.client.casefold() in KNOWN_CLIENTS


def can_answer(call: Call, approval: Approval) -> bool:
    """Whether this caller's client may answer: a user decides, it can ask one, and has not answered unread before.

    A client that is known to answer by itself may not answer about critical calls, unless the operator says that a
    person is there.
    """
    asks = call.principal.asks
    if approval.by != "user" or not call.can_ask or asks == "nobody" or approval.answered_too_fast is not None:
        return False
    return asks == "person" or call.tool.contract.risk < Risk.CRITICAL or not is_known(call)


def has_answer(call: Call, approval: Approval) -> bool:
    """Whether the client sends an answer to this question that may count."""
    return call.reply is not None and call.reply.approval == approval.id and can_answer(call, approval)


async def record_answer(approval: Approval, call: Call, ports: Ports) -> Approval:
    """Record the client's answer as the client's. A cancel decides nothing; a decline stays.

    A decline before a person could read, by a client that is known to answer by itself, is a cancel.
    """
    reply, now = call.reply, ports.now()
    assert reply is not None
    if reply.action == "cancel" or approval.state_at(now) is not ApprovalState.PENDING:
        return approval
    seconds = max(0.0, now - approval.asked_at if reply.seconds is None else reply.seconds)
    verdict: Verdict = "decline" if reply.action == "decline" else "approve"
    unread = max(seconds, reply.claimed or 0.0) < reading_time(approval.text)
    if verdict == "decline" and unread and is_known(call):
        return approval
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
    """Whether a yes must leave time to read: nobody has said that this client's answer is the user's, or it is known
    to answer by itself.
    """
    contract, principal = call.tool.contract, call.principal
    if is_known(call):
        return True
    says_user = contract.names_confirmer and contract.confirmation.by == "user"
    return not says_user and principal.asks != "person" and principal.mode != "test"
