"""The catalogue: every tool that is served, and every withheld one with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from assent.core.tool import Tool
from assent.errors import ContractError, Fault


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every tool by name, and every withheld tool with the reason that operators read."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Tool | None:
        return self.tools.get(name)

    def itself(self) -> Catalogue:
        """This catalogue, where a function that returns the current one is needed."""
        return self

    def beside(self, tool: Tool, name: str) -> Tool | None:
        """The tool that another tool's contract names, by its name here or at their common upstream."""
        return _beside(tool, name, self.tools)


def catalogue_of(tools: Iterable[Tool], withheld: Mapping[str, str] | None = None) -> Catalogue:
    """Build a catalogue with unique names; raises ContractError if two tools share one.

    Look-ups and estimates run without confirmation, so they must be read-only tools.
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
    """Build a catalogue of undeclared tools: conflicting tools are withheld, all others are served.

    If several tools share a name, none is served: a server must not decide which one a caller means.
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
        Fault(f"{name} is not read-only", "Use a tool whose side_effect is read", f"{tool.name}.{field}")
        for field, name in named.items()
        if name is not None and (other := _beside(tool, name, tools)) and other.contract.side_effect != "read"
    ]


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Names for `names: safe`: dots become underscores. Raises ContractError if two collide."""
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
