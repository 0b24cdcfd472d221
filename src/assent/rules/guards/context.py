"""What a guard knows of a call besides the values that it checks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from assent.contract.tiers import Tier
from assent.core.call import Call

_NOTHING: Mapping[str, str] = MappingProxyType({})
_NO_ADDRESSES: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class Context(NamedTuple):
    """The call around the checked values, the time, and what was looked up for the guard."""

    now: float = 0.0
    tool: str = ""
    """The name of the called tool: the inner one for the inner call of a meta-tool."""
    tier: Tier | None = None
    """The effect of the tool; None for an inner tool, which has no contract here."""
    addresses: Mapping[str, tuple[str, ...]] = _NO_ADDRESSES
    """The IP addresses of each host that the guard asked for; empty if there is none."""
    paths: Mapping[str, str] = _NOTHING
    """The real path of each path that the guard asked for, with every symbolic link followed."""
    call: Call | None = None

    @classmethod
    def of(cls, call: Call, now: float) -> Context:
        return cls(now, call.tool.name, call.tool.contract.side_effect, call=call)


NO_CONTEXT = Context()


class LookupNeeds(NamedTuple):
    """What must be looked up before a guard can check a call."""

    hosts: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hosts or self.paths)


NOTHING_NEEDED = LookupNeeds()
