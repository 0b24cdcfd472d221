"""Selects the calls that a configured limit, budget or guard applies to."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assent.contract.model import Contract
from assent.contract.tiers import Risk, Tier
from assent.core.call import Call


class Match(BaseModel):
    """Conditions on a call. All that are set must match; without any, every call matches."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    tool: str | None = None
    """A pattern for the name on our wire, for the upstream's own name, or for that name after `upstream_`: adding or
    removing an upstream does not change what a rule applies to."""
    upstream: str | None = None
    tier: Tier | None = None
    risk: Risk | None = None
    tenant: str | None = None
    principal: str | None = None
    kind: Literal["agent", "human", "service"] | None = None

    @cached_property
    def _is_empty(self) -> bool:
        return not self.model_dump(exclude_none=True)

    def may_hold(self, contract: Contract, name: str) -> bool:
        """Whether calls of a contract listed under this name could match, regardless of the caller."""
        return (
            (self.tool is None or fnmatchcase(name, self.tool))
            and (self.tier is None or contract.side_effect is self.tier)
            and (self.risk is None or contract.risk is self.risk)
        )

    def holds(self, call: Call) -> bool:
        if self._is_empty:
            return True
        contract, principal = call.tool.contract, call.principal
        return (
            any(self.may_hold(contract, name) for name in _names(call))
            and (self.upstream is None or fnmatchcase(call.tool.upstream, self.upstream))
            and (self.tenant is None or fnmatchcase(principal.tenant, self.tenant))
            and (self.principal is None or fnmatchcase(principal.id, self.principal))
            and (self.kind is None or principal.kind == self.kind)
        )


def _names(call: Call) -> tuple[str, ...]:
    tool = call.tool
    own = tool.wire_name
    return (tool.contract.name, own, f"{tool.upstream}_{own}") if tool.upstream else (tool.contract.name,)
