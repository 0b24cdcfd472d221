"""Whose records may a principal look at?"""

from __future__ import annotations

from dataclasses import dataclass

from assent.core.principal import Principal

OPERATOR = "operator"
APPROVER = "approver"
AUDITOR = "auditor"


@dataclass(frozen=True, slots=True)
class RecordScope:
    """Everybody's, one tenant's, or one principal's own; None means any."""

    tenant: str | None = None
    principal: str | None = None

    def covers(self, tenant: str, principal: str) -> bool:
        return self.tenant in (None, tenant) and self.principal in (None, principal)


def is_operator(principal: Principal) -> bool:
    """Roles are for people and their programs: no agent is an operator, whatever its key says."""
    return OPERATOR in principal.roles and not principal.has_agent


def record_scope_of(principal: Principal) -> RecordScope:
    """Operators see all tenants, people their own one, agents and services what they asked for themselves."""
    if is_operator(principal):
        return RecordScope()
    if principal.kind == "human" and not principal.has_agent:
        return RecordScope(principal.tenant)
    return RecordScope(principal.tenant, principal.id)
