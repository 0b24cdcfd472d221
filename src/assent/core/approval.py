"""An approval: the call it concerns, the decisions of people, and its state at a given time (ADR 0001)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from assent.contract.tiers import Risk
from assent.core.principal import person_key

RISKS = frozenset(risk.value for risk in Risk)

CLIENT = "client:"
"""The prefix of the decider's id if a caller's client answered."""
IN_BAND = "in-band"
"""The channel of an answer that the client gave."""
MOST_REASON = 500
"""Characters of the reason of a decision."""

Verdict = Literal["approve", "decline", "reopen", "too_fast"]
"""A decision. `reopen` takes back the declines, or else every yes; `too_fast` is a yes that does not count."""

READING_SPEED = 300.0
"""Characters per second: more than ten times the speed at which people read."""
SHORTEST_READING = 1.0
LONGEST_READING = 5.0
"""Seconds in which every text counts as read: people do not read each line of a long one."""


def reading_time(text: str) -> float:
    """The seconds below which no person has read a question. More does not prove that one has."""
    return min(max(SHORTEST_READING, len(text) / READING_SPEED), LONGEST_READING)


class ApprovalState(StrEnum):
    """The state of an approval."""

    PENDING = "pending"
    APPROVED = "approved"
    DECLINED = "declined"
    CONSUMED = "consumed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Decision:
    """One person's decision."""

    person: str
    verdict: Verdict
    at: float
    channel: str = "api"
    reason: str = ""
    """The person's own words; a decline's go to the agent."""
    client: str = ""
    """The name that the client gives itself, if the client answered."""
    seconds: float | None = None
    """How long the question was open, if the client answered."""
    claimed: float | None = None
    """How long the client says that its own question was open."""

    def as_json(self) -> dict[str, Any]:
        said = {"reason": self.reason, "client": self.client, "seconds": self.seconds, "claimed": self.claimed}
        always = {"person": self.person, "verdict": self.verdict, "at": self.at, "channel": self.channel}
        return always | {name: value for name, value in said.items() if value not in ("", None)}


@dataclass(frozen=True, slots=True)
class Approval:
    """A question about one exact call, with the decisions of people."""

    id: str
    binding: str
    tenant: str
    requester: str
    tool: str
    by: str
    quorum: int
    text: str
    facts: dict[str, Any]
    asked_at: float
    expires_at: float
    lasts: float
    """Seconds for which a granted approval can be used; `expires_at` limits the question itself."""
    uses: int = 1
    used: int = 0
    decisions: tuple[Decision, ...] = ()
    details: dict[str, Any] | None = None
    """The parts of the text (`core/approval_details.py`); None for approvals of earlier versions."""
    claim: str | None = None
    """The claim of the last call that used it."""

    @property
    def asker(self) -> tuple[str, str]:
        return self.tenant, self.requester

    @property
    def standing(self) -> tuple[Decision, ...]:
        """The decisions that count: those that were not taken back."""
        found: list[Decision] = []
        for one in self.decisions:
            if one.verdict == "reopen":
                kept = [earlier for earlier in found if earlier.verdict == "approve"]
                found = kept if len(kept) < len(found) else []
            elif one.verdict != "too_fast":
                found.append(one)
        return tuple(found)

    @property
    def answered_too_fast(self) -> Decision | None:
        """The client's yes that came before a person could read the question; only a person decides after it."""
        return next((one for one in self.decisions if one.verdict == "too_fast"), None)

    @property
    def declined_at(self) -> float | None:
        return None if self.decline is None else self.decline.at

    @property
    def decline(self) -> Decision | None:
        """The first decline that nobody has taken back."""
        return next((decision for decision in self.standing if decision.verdict == "decline"), None)

    @property
    def approved_at(self) -> float | None:
        """When the last needed person approved."""
        yes = {person_key(decision.person): decision.at for decision in self.standing if decision.verdict == "approve"}
        return sorted(yes.values())[self.quorum - 1] if len(yes) >= self.quorum else None

    @property
    def answers_until(self) -> float | None:
        """The time until which it answers for its binding; None if it is used up."""
        if self.declined_at is None and self.used >= self.uses:
            return None
        if self.declined_at is None and self.approved_at is not None:
            return self.approved_at + self.lasts
        return self.expires_at

    @property
    def pending_until(self) -> float | None:
        """The time until which it can be decided; None if it is decided or used up."""
        decided = self.declined_at is not None or self.approved_at is not None
        return None if decided or self.used >= self.uses else self.expires_at

    def state_at(self, now: float) -> ApprovalState:
        """The effective state: a question without an answer in time has expired, and so has an approval not used in
        time.
        """
        if self.declined_at is not None:
            return ApprovalState.DECLINED if now < self.expires_at else ApprovalState.EXPIRED
        if self.used >= self.uses:
            return ApprovalState.CONSUMED
        if self.approved_at is not None:
            return ApprovalState.APPROVED if now < self.approved_at + self.lasts else ApprovalState.EXPIRED
        return ApprovalState.PENDING if now < self.expires_at else ApprovalState.EXPIRED

    def decision_of(self, principal_id: str) -> Decision | None:
        """This person's decision under any of their ids; a decline that was taken back does not count."""
        person = person_key(principal_id)
        return next((decision for decision in self.standing if person_key(decision.person) == person), None)

    def with_decision(self, decision: Decision) -> Approval:
        return replace(self, decisions=(*self.decisions, decision))


@dataclass(frozen=True, slots=True)
class SignedDecision:
    """A decision that a person signed with a passkey. Whoever makes one has checked the signature."""

    digest: bytes
    """What was signed: the `decision_digest` of the approval and the verdict."""
    values: dict[str, Any]
    """The assertion, for the log (docs/audit-format.md)."""


def binding_of(*parts: str) -> str:
    """The digest of everything that an approval is bound to."""
    return hashlib.sha256(b"assent approval v1\n" + _length_prefixed(*parts)).hexdigest()


def text_digest(approval: Approval) -> str:
    """The fingerprint of the text that the person sees."""
    return hashlib.sha256(approval.text.encode("utf-8", "surrogatepass")).hexdigest()


def decision_digest(approval: Approval, verdict: Verdict) -> bytes:
    """What a person signs: which approval, of which call, the text they saw, and what they say to it."""
    parts = _length_prefixed(approval.id, approval.binding, text_digest(approval), verdict)
    return hashlib.sha256(b"assent decision v1\n" + parts).digest()


def _length_prefixed(*parts: str) -> bytes:
    """The parts, length-prefixed so that different inputs cannot produce the same digest input."""
    encoded = (part.encode("utf-8", "surrogatepass") for part in parts)
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
