"""The catalogue: every tool that is served, and every withheld one with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.errors import ContractError, Fault


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every tool by canonical name, and for each withheld one the reason an operator can read."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Tool | None:
        return self.tools.get(name)

    def beside(self, tool: Tool, name: str) -> Tool | None:
        """The tool that the contract of another one names, by its name here or at the upstream that both are of."""
        return _beside(tool, name, self.tools)


def catalogue_of(tools: Iterable[Tool], withheld: Mapping[str, str] | None = None) -> Catalogue:
    """A catalogue in which every name stands once; raises ContractError where two tools share one.

    What a call looks up or estimates runs without a question, so it must be a read.
    """
    found: dict[str, Tool] = {}
    faults: list[Fault] = []
    for tool in tools:
        other = found.setdefault(tool.name, tool)
        if other is not tool:
            who = " and ".join(repr(one.upstream or one.wire_name) for one in (other, tool))
            faults.append(Fault(f"{who} both have a tool of this name", "Give one of them another prefix", tool.name))
    faults += [fault for tool in found.values() for fault in _unsafe_reads(tool, found)]
    if faults:
        raise ContractError(faults)
    return Catalogue(found, dict(withheld or {}))


def catalogue_that_holds(tools: Iterable[Tool], withheld: Mapping[str, str]) -> Catalogue:
    """The catalogue of what servers say by themselves: tools in each other's way are withheld, all others are there.

    Of several tools with one name none is served: which of them a caller means is not a server's to decide.
    """
    holders: dict[str, list[Tool]] = {}
    for tool in tools:
        holders.setdefault(tool.name, []).append(tool)
    firsts = {name: those[0] for name, those in holders.items()}
    reasons = dict(withheld)
    for name, those in holders.items():
        faults = _unsafe_reads(those[0], firsts)
        if len(those) > 1:
            reasons[name] = f"{' and '.join(repr(tool.upstream) for tool in those)} both have a tool of this name"
        elif faults:
            reasons[name] = str(faults[0])
    return Catalogue({name: tool for name, tool in firsts.items() if name not in reasons}, reasons)


def _beside(tool: Tool, name: str, tools: Mapping[str, Tool]) -> Tool | None:
    found = tools.get(name)
    if found is not None and found.upstream == tool.upstream:
        return found
    return next((one for one in tools.values() if (one.upstream, one.wire_name) == (tool.upstream, name)), None)


def _unsafe_reads(tool: Tool, tools: Mapping[str, Tool]) -> list[Fault]:
    contract = tool.contract
    named = {
        "estimate.tool": contract.estimate.tool if contract.estimate else None,
        "idempotency.lookup.tool": contract.idempotency.lookup.tool if contract.idempotency.lookup else None,
    }
    return [
        Fault(f"{name} does more than read", "Name a tool whose side_effect is read", f"{tool.name}.{field}")
        for field, name in named.items()
        if name is not None and (other := _beside(tool, name, tools)) and other.contract.side_effect != "read"
    ]


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """`names: safe`: each name with its dots turned into underscores; raises ContractError if two collide."""
    safe: dict[str, str] = {}
    taken: dict[str, str] = {}
    faults: list[Fault] = []
    for name in names:
        wire = name.replace(".", "_")
        if taken.setdefault(wire, name) != name:
            faults.append(
                Fault(
                    f"{taken[wire]!r} and {name!r} are both {wire!r} on the wire",
                    "Rename one of them",
                    "names",
                )
            )
        safe[name] = wire
    if faults:
        raise ContractError(faults)
    return safe


def is_public(tool: Tool) -> bool:
    """Whether a tool exists for every caller, so that it may be spoken of before anybody is known."""
    return tool.visibility != "hidden" and tool.contract.risk != "forbidden"


def absent_for(tool: Tool, principal: Principal) -> str | None:
    """Why a tool does not exist for a principal, or None: hidden for everybody, or forbidden for AI."""
    if tool.visibility == "hidden":
        return "its contract hides it from everybody"
    if tool.contract.risk == "forbidden" and principal.has_agent:
        return "it is forbidden for AI, and an agent stands in the chain of callers"
    return None
