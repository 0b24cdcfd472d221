"""Binds written contracts to tools. A tool is identified by its upstream and the name that the upstream gives it.

A contract that is bound to an upstream uses that upstream's name of the tool. Any other contract uses that name or
the name that clients see. An ambiguous contract binds nothing: the tools are withheld, and the reason says what to
write. See ADR 0040.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from assent.contract.files import WrittenContract, by_name, is_pattern
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.errors import ContractError, Fault


def fits(pattern: str, name: str) -> bool:
    """Whether a tool name fits a pattern; `*` stands for any characters, also none."""
    return _compile_pattern(pattern).fullmatch(name) is not None


@lru_cache(1024)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", pattern))))


def apply_pattern(one: WrittenContract, name: str, upstream: str = "") -> WrittenContract:
    """The contract that a pattern gives one tool."""
    contract = read_contract(name, one.fields)
    return replace(one, name=name, upstream=upstream or one.upstream, contract=contract, pattern=one.name)


class ContractLookup(Mapping[str, Contract]):
    """The contracts of files by tool name. A name without a contract of its own gets that of the pattern it fits.

    It lists only the names that are written out. Raises ContractError for a name that several patterns fit.
    """

    def __init__(self, exact: Mapping[str, Contract], patterns: Iterable[WrittenContract] = ()) -> None:
        self.exact = exact
        self._patterns = tuple(patterns)

    @classmethod
    def of(cls, written: Iterable[WrittenContract]) -> ContractLookup:
        """The lookup for contracts of one server; raises ContractError if two upstreams have contracts for one name."""
        written = list(written)
        exact = by_name(one for one in written if not is_pattern(one.name))
        return cls(exact, (one for one in written if is_pattern(one.name)))

    def __getitem__(self, name: str) -> Contract:
        if name in self.exact:
            return self.exact[name]
        fitting = [one for one in self._patterns if fits(one.name, name)]
        if len(fitting) > 1:
            raise ContractError(several_patterns(name, fitting))
        if not fitting:
            raise KeyError(name)
        return apply_pattern(fitting[0], name).contract

    def __iter__(self) -> Iterator[str]:
        return iter(self.exact)

    def __len__(self) -> int:
        return len(self.exact) + len(self._patterns)


def several_patterns(name: str, fitting: list[WrittenContract]) -> Fault:
    """The fault of a tool that several patterns fit."""
    listed = " and ".join(f"{one.name} ({one.where})" for one in fitting)
    return Fault(f"several patterns fit this tool: {listed}", f"Write a contract for {name} itself", name)


CODING_AGENTS = frozenset({"claude-code", "codex", "gemini", "copilot", "opencode", "cursor"})
"""The clients whose built-in tools have contracts (`claude-code.Bash`). Hooks bind them; no upstream has such tools."""


def is_built_in(one: WrittenContract) -> bool:
    """Whether a contract is for a built-in tool of a coding agent."""
    return one.upstream in CODING_AGENTS or one.name.partition(".")[0] in CODING_AGENTS


ToolKey = tuple[str, str]
"""An upstream and the name that it gives one of its tools."""


@dataclass(frozen=True, slots=True)
class Offered:
    """What one upstream offers: its own tool names, each with the name that clients see, and what gets no tool and
    why.
    """

    tools: Mapping[str, str]
    without_tool: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Binding:
    """The contract of each tool, the tools that are withheld, and the contracts that govern nothing."""

    governs: Mapping[ToolKey, WrittenContract]
    ambiguous: Mapping[ToolKey, str]
    faults: tuple[Fault, ...] = ()
    unchecked: tuple[WrittenContract, ...] = ()
    """Contracts without a tool so far, while an upstream that they may belong to has not answered."""


def bind(written: Iterable[WrittenContract], offers: Mapping[str, Offered], silent: Collection[str] = ()) -> Binding:
    """Bind contracts to the tools of upstreams; `silent` are configured upstreams that have not answered yet."""
    written = [one for one in written if not is_built_in(one)]
    patterns = [one for one in written if is_pattern(one.name)]
    bound = _bind_names([one for one in written if not is_pattern(one.name)], offers, silent)
    return _bind_patterns(patterns, bound, offers, silent) if patterns else bound


def _bind_names(written: Iterable[WrittenContract], offers: Mapping[str, Offered], silent: Collection[str]) -> Binding:
    governs: dict[ToolKey, WrittenContract] = {}
    ambiguous: dict[ToolKey, str] = {}
    faults: list[Fault] = []
    unchecked: list[WrittenContract] = []
    for one in sorted(written, key=lambda one: not one.upstream):  # Bound contracts first.
        matching = _matching_tools(one, offers)
        if not matching and _may_match_later(one, silent):
            unchecked.append(one)
        elif not matching:
            faults.append(_unmatched(one, offers, silent))
        elif len(matching) > 1:
            unbound = [key for key in matching if key not in governs]
            ambiguous |= dict.fromkeys(unbound, _ambiguity(one, matching))
            faults.append(_fault(one, "several tools have this name", _bind_it(matching)))
        elif matching[0] in governs:
            other = governs[matching[0]]
            faults.append(_fault(one, f"its tool already has a contract at {other.where}", "Keep one of them"))
            if not other.upstream:
                ambiguous[matching[0]] = f"two contracts are written for it: {other.where} and {one.where}; keep one"
        else:
            governs[matching[0]] = one
    kept = {key: one for key, one in governs.items() if key not in ambiguous}
    return Binding(kept, ambiguous, tuple(faults), tuple(unchecked))


def _bind_patterns(
    patterns: Iterable[WrittenContract], bound: Binding, offers: Mapping[str, Offered], silent: Collection[str]
) -> Binding:
    """Add the contracts of patterns for tools that no contract names."""
    fitting: dict[ToolKey, list[WrittenContract]] = {}
    ambiguous, faults, unchecked = dict(bound.ambiguous), list(bound.faults), list(bound.unchecked)
    for one in patterns:
        matching = _fitting_tools(one, offers)
        if not matching and _may_match_later(one, silent):
            unchecked.append(one)
        elif not matching:
            faults.append(_unmatched(one, offers, silent))
        elif len({upstream for upstream, _ in matching}) > 1:
            faults.append(_fault(one, "tools of several upstreams fit this pattern", _bind_it(matching)))
            ambiguous |= {key: _ambiguity(one, matching) for key in matching if key not in bound.governs}
        for key in matching:
            fitting.setdefault(key, []).append(one)
    governs = dict(bound.governs)
    for key, found in fitting.items():
        if key in governs or key in ambiguous:
            continue
        if len(found) > 1:
            fault = several_patterns(key[1], found)
            faults.append(fault)
            ambiguous[key] = f"{fault.message}; write a contract for it by its name"
        else:
            governs[key] = apply_pattern(found[0], key[1], key[0])
    return Binding(governs, ambiguous, tuple(faults), tuple(unchecked))


def _fitting_tools(one: WrittenContract, offers: Mapping[str, Offered]) -> list[ToolKey]:
    """The tools that fit a pattern by the name that their upstream gives them, or by the name that clients see."""
    return [
        (upstream, own) for upstream, offer in offers.items() for own, wire in offer.tools.items()
        if one.upstream in ("", upstream) and (fits(one.name, own) or (not one.upstream and fits(one.name, wire)))
    ]  # fmt: skip


def _matching_tools(one: WrittenContract, offers: Mapping[str, Offered]) -> list[ToolKey]:
    if one.upstream:
        return [(one.upstream, one.name)] if one.upstream in offers and one.name in offers[one.upstream].tools else []
    return [
        (upstream, own) for upstream, offer in offers.items() for own, wire in offer.tools.items()
        if one.name in (own, wire)
    ]  # fmt: skip


def _may_match_later(one: WrittenContract, silent: Collection[str]) -> bool:
    return one.upstream in silent if one.upstream else bool(silent)


def _ambiguity(one: WrittenContract, matching: list[ToolKey]) -> str:
    upstreams = ", ".join(sorted({upstream for upstream, _ in matching}))
    return f"the contract {one.name} at {one.where} could apply to a tool of any of {upstreams}; {_bind_it(matching)}"


def _bind_it(matching: list[ToolKey]) -> str:
    first = min(upstream for upstream, _ in matching)
    return f"bind it: write `upstream: {first}` (or the one you mean) beside its `tools:`"


def _unmatched(one: WrittenContract, offers: Mapping[str, Offered], silent: Collection[str]) -> Fault:
    """A contract without a tool, with the nearest name that its author may have meant."""
    if one.upstream and one.upstream not in offers:
        names = sorted({*offers, *silent})
        close = difflib.get_close_matches(one.upstream, names, n=1)
        remedy = f"Did you mean {close[0]}?" if close else f"The upstreams are {', '.join(names) or 'none'}"
        return _fault(one, f"there is no upstream {one.upstream!r}", remedy)
    here = {one.upstream: offers[one.upstream]} if one.upstream else offers
    owner = f"of {one.upstream}" if one.upstream else "of any upstream"
    return _fault(one, f"it matches no tool {owner}", _suggestion(one, here, offers))


def _suggestion(one: WrittenContract, here: Mapping[str, Offered], offers: Mapping[str, Offered]) -> str:
    for upstream, offer in here.items():
        if one.name in offer.without_tool:
            return f"{upstream} has it, but it gets no tool: {offer.without_tool[one.name]}"
        own = next((own for own, wire in offer.tools.items() if wire == one.name), None)
        if own is not None:
            return f"Did you mean {own}? Use the name that {upstream} itself gives it"
    elsewhere = next((upstream for upstream, offer in offers.items() if one.name in offer.tools), None)
    if elsewhere is not None:
        return f"{elsewhere} has a tool of this name: write `upstream: {elsewhere}`"
    names = {name for offer in here.values() for pair in offer.tools.items() for name in pair}
    close = difflib.get_close_matches(one.name, sorted(names), n=1)
    return f"Did you mean {close[0]}?" if close else "Correct the name, or remove the contract"


def _fault(one: WrittenContract, message: str, remedy: str) -> Fault:
    return Fault(message, remedy[:1].upper() + remedy[1:], one.name, one.file, one.line)
