"""What policies decide about a tool, a call, or another request of a principal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyReason:
    """A policy that decided, with what it tells the caller."""

    id: str
    reason: str = ""
    """The policy's `@reason`, or why the policy could not be evaluated."""
    by: str = "approver"
    """Who approves, if the policy asks for an approval."""

    def __str__(self) -> str:
        return f"{self.id}: {self.reason}" if self.reason else self.id


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """The policies that deny a request, and those that ask for an approval. An evaluation error denies."""

    denied: tuple[PolicyReason, ...] = ()
    approvals: tuple[PolicyReason, ...] = ()
    examined: int = 0
    """How many policies were evaluated."""

    @property
    def effect(self) -> str:
        return "deny" if self.denied else "approve" if self.approvals else "allow"

    def combine(self, other: PolicyVerdict) -> PolicyVerdict:
        """Both verdicts: requirements add up."""
        return PolicyVerdict(
            self.denied + other.denied, self.approvals + other.approvals, self.examined + other.examined
        )


NO_POLICY = PolicyVerdict()


def why_approved(approvals: Iterable[PolicyReason]) -> str:
    """The policies that ask for an approval, as the words after "Asked because"."""
    return " and ".join(
        f"the policy {one.id} requires an approval" + (f" ({one.reason})" if one.reason else "") for one in approvals
    )
