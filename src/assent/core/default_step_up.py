"""The step-up that applies where a critical call's contract declares none (ADR 0093)."""

from __future__ import annotations

from typing import Literal, NamedTuple

from assent.contract.fields import StepUp
from assent.contract.tiers import Risk
from assent.core.principal import Principal, Rights

CRITICAL = frozenset({Risk.CRITICAL, Risk.FORBIDDEN})
"""The risks to which the default applies. Forbidden tools do not exist for agents; others see them as critical."""


class DefaultStepUp(NamedTuple):
    """How recently callers and approvers of a critical call must have authenticated, where they have a login to renew.

    API keys, stdio callers and services with a token of their own have none. For their calls the approver's counts.
    """

    spec: StepUp = StepUp(max_age=300)
    callers: Literal["oauth", "all", "none"] = "oauth"
    approvers: Literal["console", "all", "none"] = "console"

    def for_caller(self, caller: Principal | Rights) -> StepUp | None:
        """What a critical call asks of this caller, unless it is a test."""
        if caller.mode == "test":
            return None
        can_renew = caller.bearer and caller.kind != "service"
        return self.spec if self.callers == "all" or (self.callers == "oauth" and can_renew) else None

    def for_approver(self, person: Principal, risk: str, mode: str) -> StepUp | None:
        """What a yes about a live call asks of this person."""
        if risk not in CRITICAL or mode == "test":
            return None
        can_renew = person.in_console or person.bearer
        return self.spec if self.approvers == "all" or (self.approvers == "console" and can_renew) else None
