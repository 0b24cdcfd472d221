"""Selects the calls that a configured limit, budget or guard applies to."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict

from assent.contract.model import Contract
from assent.contract.tiers import Risk, Tier
from assent.core.call import Call
from assent.core.tool import Tool


class Match(BaseModel):
    """Conditions on a call. All that are set must match; without any, every call matches."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    tool: str | None = None
    """A pattern for the name on our wire, for the upstream's own name, or for that name after `upstream_`: adding or
    removing an upstream does not change what a rule applies to."""
    upstream: str | None = None
    """A pattern for the upstream's name."""
    tier: Tier | None = None
    """The tier of the tool."""
    risk: Risk | None = None
    """The risk of the tool."""
    written: bool | None = None
    """Whether a person wrote the tool's contract; otherwise it is inferred or shipped."""
    tenant: str | None = None
    """A pattern for the caller's tenant."""
    principal: str | None = None
    """A pattern for the caller's id."""
    kind: Literal["agent", "human", "service"] | None = None
    """What the caller is."""

    @cached_property
    def _is_empty(self) -> bool:
        return not self.model_dump(exclude_none=True)

    @cached_property
    def _asks_for_caller(self) -> bool:
        return self.tenant is not None or self.principal is not None or self.kind is not None

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
        if not self.holds_for(call.tool):
            return False
        principal = call.principal
        return not self._asks_for_caller or (
            (self.tenant is None or fnmatchcase(principal.tenant, self.tenant))
            and (self.principal is None or fnmatchcase(principal.id, self.principal))
            and (self.kind is None or principal.kind == self.kind)
        )

    def holds_for(self, tool: Tool) -> bool:
        """Whether calls of a tool could match, computed once per tool. The tool keeps the match alive, so that its id
        stays its own.
        """
        known: dict[int, tuple[Match, bool]] = tool.derived.setdefault("matches", {})
        found = known.get(id(self))
        if found is None:
            named = any(self.may_hold(tool.contract, name) for name in names_of(tool))
            held = named and (self.upstream is None or fnmatchcase(tool.upstream, self.upstream))
            held = held and (self.written is None or self.written == (tool.written and not tool.shipped))
            found = known[id(self)] = (self, held)
        return found[1]


def names_of(tool: Tool) -> tuple[str, ...]:
    """Every name of a tool: on our wire, at its upstream, and that one after the upstream's."""
    own = tool.wire_name
    return (tool.contract.name, own, f"{tool.upstream}_{own}") if tool.upstream else (tool.contract.name,)
