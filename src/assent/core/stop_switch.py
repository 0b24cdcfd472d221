"""Stop switches: what an operator has blocked, and whether a call is among it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import orjson

from assent.core.document import Document
from assent.core.principal import KEY_OF, Principal
from assent.core.tool import Tool

KIND = "stop_switch"
MOST_REASON = 500
StopScope = Literal["everything", "upstream", "tool", "principal"]
StopLevel = Literal["all", "effects"]
"""`all` stops every call; `effects` lets calls pass that only read."""
SCOPES: tuple[StopScope, ...] = get_args(StopScope)
LEVELS: tuple[StopLevel, ...] = get_args(StopLevel)


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop switch that is on."""

    scope: StopScope
    target: str
    """The upstream, tool or principal; empty for everything."""
    tenant: str
    """Whose principal; empty for a principal of this id in every tenant, and for all other scopes."""
    level: StopLevel
    reason: str
    by: str
    at: float
    changed_at: float

    @property
    def id(self) -> str:
        """The same for the same target, so that it is stopped once."""
        return hashlib.sha256("\0".join((self.scope, self.tenant, self.target)).encode()).hexdigest()[:24]

    def covers(self, tool: Tool) -> bool:
        """Whether a call of this tool is stopped at this level."""
        return self.level == "all" or tool.contract.side_effect != "read"

    def sentence(self) -> str:
        """What is stopped, in words."""
        what = {"everything": "All calls are", "upstream": f"The upstream {self.target} is"}
        what |= {"tool": f"The tool {self.target} is", "principal": "This caller is"}
        extent = "" if self.level == "all" else "; only calls that read are let through"
        return f"{what[self.scope]} stopped by an operator{extent}. Reason: {self.reason}"

    def document(self) -> Document:
        return Document(KIND, self.id, orjson.dumps(asdict(self)), self.tenant)


def stop_of(document: Document) -> Stop:
    body: dict[str, Any] = orjson.loads(document.body)
    return Stop(**body)


@dataclass(frozen=True, slots=True)
class StopSet:
    """All stop switches that are on, arranged so that a call is checked by a few look-ups."""

    everything: Stop | None = None
    upstreams: dict[str, Stop] = field(default_factory=dict)
    tools: dict[str, Stop] = field(default_factory=dict)
    principals: dict[tuple[str, str], Stop] = field(default_factory=dict)
    is_empty: bool = True

    @classmethod
    def of(cls, stops: Iterable[Stop]) -> StopSet:
        found = list(stops)
        return cls(
            next((one for one in found if one.scope == "everything"), None),
            {one.target: one for one in found if one.scope == "upstream"},
            {one.target: one for one in found if one.scope == "tool"},
            {(one.tenant, one.target): one for one in found if one.scope == "principal"},
            not found,
        )

    def stop_for(self, principal: Principal, tool: Tool) -> Stop | None:
        """The switch that stops this call, or None. A principal is stopped with everybody who acts for it."""
        found = (self.everything, self.upstreams.get(tool.upstream), self.tools.get(tool.name), *self._of(principal))
        return next((one for one in found if one is not None and one.covers(tool)), None)

    def _of(self, principal: Principal) -> Iterable[Stop | None]:
        if not self.principals:
            return
        for one in (principal, *principal.actors):
            for id in {one.id, one.id.partition(KEY_OF)[0]}:
                yield self.principals.get((one.tenant, id))
                yield self.principals.get(("", id))
            if one is not principal:
                yield from self._of(one)

    def stop_for_messages(self, principal: Principal, upstream: str) -> Stop | None:
        """The switch that stops everything this principal sends to an upstream, resources and prompts too."""
        if self.is_empty:
            return None
        found = (self.everything, self.upstreams.get(upstream), *self._of(principal))
        return next((one for one in found if one is not None and one.level == "all"), None)


NO_STOPS = StopSet()
