"""What a guard knows of a call besides the values that it checks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from assent.contract.tiers import Tier
from assent.core.call import Call
from assent.core.shown_arguments import all_unknown_arguments

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

    def known_arguments(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments that the tool has. One that it ignores can say what the call does not do."""
        unknown = all_unknown_arguments(self.call) if self.call is not None and self.tool == self.call.tool.name else ()
        return {name: value for name, value in arguments.items() if name not in unknown} if unknown else arguments

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
