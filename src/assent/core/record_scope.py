"""The records that a principal may see."""

from __future__ import annotations

from dataclasses import dataclass

from assent.core.principal import Principal

OPERATOR = "operator"
APPROVER = "approver"
AUDITOR = "auditor"


@dataclass(frozen=True, slots=True)
class RecordScope:
    """All records, those of one tenant, or those of one principal; None means any."""

    tenant: str | None = None
    principal: str | None = None

    def covers(self, tenant: str, principal: str) -> bool:
        return self.tenant in (None, tenant) and self.principal in (None, principal)


def is_operator(principal: Principal) -> bool:
    """Whether a principal is an operator. An agent never is, even if its key has the role."""
    return OPERATOR in principal.roles and not principal.has_agent


def record_scope_of(principal: Principal) -> RecordScope:
    """Operators see all tenants, people their own tenant, agents and services only their own records.

    So a stolen key of an agent reveals only what that agent requested.
    """
    if is_operator(principal):
        return RecordScope()
    if principal.kind == "human" and not principal.has_agent:
        return RecordScope(principal.tenant)
    return RecordScope(principal.tenant, principal.id)
