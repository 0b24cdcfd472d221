"""The trace of one request: each stage's verdict, and what the audit entry needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from assent.core.call import Call
from assent.core.guard_finding import GuardFinding
from assent.core.outcome import Ending
from assent.core.policy_verdict import PolicyReason
from assent.core.principal import Principal, Rights
from assent.core.quotas import RateSlot
from assent.core.tool import Tool
from assent.ports import Rules


def always(tool: Tool, caller: Rights, rules: Rules) -> bool:
    """The statement of a stage that no call can do without."""
    return True


class StageNote(NamedTuple):
    """One stage's verdict and its reason."""

    stage: str
    verdict: str
    reason: str


@dataclass(slots=True)
class CallTrace:
    """The notes of one request: filled by the stages, read by `record` at the end."""

    observing: bool = False
    principal: Principal | None = None
    tool: Tool | None = None
    call: Call | None = None
    started: bool = False
    handed_over: bool = False
    """Whether the rest runs without its caller and records itself."""
    rehearsed: bool = False
    """Whether its dry run is recorded."""
    keeps_notes: bool = True
    """Whether somebody reads the notes. Nobody does for a call that simply runs."""
    _notes: list[tuple[str, str, str, tuple[object, ...]]] = field(default_factory=list)
    would: list[str] = field(default_factory=list)
    """Codes of pauses and refusals that did not happen because the mode is `observe`."""
    policies: list[str] = field(default_factory=list)
    """The ids of the policies that denied the call or asked for an approval."""
    approvals: list[PolicyReason] = field(default_factory=list)
    """The policies that ask for an approval of this call."""
    guards: list[GuardFinding] = field(default_factory=list)
    """What guards found in the arguments and the result."""
    approval: str | None = None
    """The id of the approval with which a person said yes to this call."""
    rates: list[RateSlot] = field(default_factory=list)
    """What the call takes from the counts of guards."""

    @property
    def notes(self) -> list[StageNote]:
        """The notes as text, formatted only when they are read."""
        return [
            StageNote(stage, verdict, reason % parts if parts else reason)
            for stage, verdict, reason, parts in self._notes
        ]

    def identify(self, principal: Principal) -> Principal:
        """Note who calls; the edge has authenticated them."""
        self.principal = principal
        if self.keeps_notes:
            self.passed(
                "authenticate", "%s %s of tenant %s, %s", principal.kind, principal.id, principal.tenant, principal.mode
            )
        return principal

    def passed(self, stage: str, reason: str, *parts: object) -> None:
        """Note that a stage passed; `reason` is a format for `parts`, if there are any."""
        if self.keeps_notes:
            self._notes.append((stage, "pass", reason, parts))

    def would_stop(self, stage: str, code: str, detail: str) -> None:
        """Note what would have stopped the call if it were enforced."""
        if code not in self.would:
            self.would.append(code)
        self._notes.append((stage, "would stop", "%s: %s", (code, detail)))

    def warned(self, stage: str, reason: str) -> None:
        self._notes.append((stage, "warn", "%s", (reason,)))

    def stopped(self, stage: str, reason: str) -> None:
        self._notes.append((stage, "stop", reason, ()))

    def refuse_or_note(self, stage: str, ending: Ending) -> None:
        """Raise a pause or refusal; in observe mode, note that it would have been raised."""
        if not self.observing:
            raise ending
        self.would_stop(
            stage, getattr(ending, "code", stage), getattr(ending, "detail", "") or "a person would be asked"
        )
