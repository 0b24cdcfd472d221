"""What a guard found in a call or its result: the rule, the field, the reason, and what happened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GuardFinding:
    """One finding of one guard. `observed` says that it was only recorded."""

    rule: str
    action: str
    field: str
    reason: str
    because: str = ""
    by: str = "approver"
    """Who approves, if the action is approve."""
    observed: bool = False
    count: int = 0
    """How many places were masked."""

    @property
    def sentence(self) -> str:
        """The field and the reason, as the caller reads them."""
        about = f"{self.field}: {self.reason}." if self.field else f"{self.reason[:1].upper()}{self.reason[1:]}."
        return f"{about} {self.because}" if self.because else about

    @property
    def asked_because(self) -> str:
        """The words after "Asked because" for the person who decides."""
        if self.rule.startswith("flow."):
            where = f" ({self.field})" if self.field else ""
            return f"{self.reason[:1].lower()}{self.reason[1:]}{where}"
        about = f"{self.field}: {self.reason}" if self.field else self.reason
        return f"the guard {self.rule} objects ({about})" + (f": {self.because.rstrip('.')}" if self.because else "")

    @property
    def fact(self) -> str:
        """The finding in the public part of the audit log: it names no field and repeats no value."""
        parts = [self.rule, self.action, *([str(self.count)] if self.count else []), *(["observed"] * self.observed)]
        return "/".join(parts)

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"rule": self.rule, "action": self.action, "field": self.field, "reason": self.reason}
        found |= {"because": self.because} if self.because else {}
        found |= {"count": self.count} if self.count else {}
        return found | ({"observed": True} if self.observed else {})


def finding_facts(findings: Iterable[GuardFinding]) -> dict[str, Any]:
    """The findings as a public fact of an audit entry; empty if there are none."""
    found = list(dict.fromkeys(one.fact for one in findings))
    return {"guards": found} if found else {}


def finding_values(findings: Iterable[GuardFinding]) -> dict[str, Any]:
    """The fields and reasons as an erasable value, because a field's name may come from the caller."""
    found = [{"rule": one.rule, "field": one.field, "reason": one.reason} for one in findings if not one.count]
    return {"guards": found} if found else {}
