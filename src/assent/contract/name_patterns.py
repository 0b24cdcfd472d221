"""Contracts for several tools at once: a name with `*` stands for any tool whose name fits.

A contract with the tool's own name comes before a pattern. Two patterns that fit one tool are a fault, because neither
says which of them its author meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from assent.contract.files import WrittenContract, by_name, is_pattern
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.errors import ContractError, Fault


def fits(pattern: str, name: str) -> bool:
    """Whether a tool name fits a pattern; `*` stands for any characters, also none."""
    return _compiled(pattern).fullmatch(name) is not None


@lru_cache(1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", pattern))))


def named(one: WrittenContract, name: str, upstream: str = "") -> WrittenContract:
    """The contract that a pattern gives one tool."""
    contract = read_contract(name, one.fields)
    return replace(one, name=name, upstream=upstream or one.upstream, contract=contract)


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
        return named(fitting[0], name).contract

    def __iter__(self) -> Iterator[str]:
        return iter(self.exact)

    def __len__(self) -> int:
        return len(self.exact) + len(self._patterns)


def several_patterns(name: str, fitting: list[WrittenContract]) -> Fault:
    """The fault of a tool that several patterns fit."""
    listed = " and ".join(f"{one.name} ({one.where})" for one in fitting)
    return Fault(f"several patterns fit this tool: {listed}", f"Write a contract for {name} itself", name)
