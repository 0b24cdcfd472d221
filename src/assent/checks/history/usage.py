"""What recorded calls have in common: the domains, paths and amounts of each argument, and the tools of each caller."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assent.checks.history.recorded_call import RecordedCall
from assent.contract.pointers import pointer_to
from assent.rules.guards.addresses import UNCLEAR, hosts_in

MOST_KINDS = 12
"""More different domains or folders than this are no set to keep to."""
_DEPTH = 3
_AMOUNT = re.compile(r"(amount|price|total|cost|sum|quantity|count|limit)\Z", re.IGNORECASE)


@dataclass(slots=True)
class Span:
    """How often something was seen, first and last."""

    count: int = 0
    first: float = 0.0
    last: float = 0.0

    def add(self, at: float) -> None:
        self.first = self.first if self.count else at
        self.count, self.last = self.count + 1, at


@dataclass(slots=True)
class ArgumentUsage:
    """The values of one argument of one tool. A set that grew too large, or a value of another kind, ends it."""

    span: Span = field(default_factory=Span)
    domains: Counter[str] | None = field(default_factory=Counter)
    folders: Counter[str] | None = field(default_factory=Counter)
    least: float | None = None
    most: float | None = None
    only_numbers: bool = True

    def add(self, value: Any, at: float) -> None:
        self.span.add(at)
        for one in value if isinstance(value, list) else [value]:
            self._add_number(one)
            self.domains = _counted(self.domains, _domains(one))
            self.folders = _counted(self.folders, _folders(one))

    def _add_number(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.only_numbers = False
            return
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)


@dataclass(slots=True)
class Usage:
    """Everything that was seen: per tool and argument, and per caller and tool."""

    calls: Span = field(default_factory=Span)
    arguments: dict[tuple[str, str], ArgumentUsage] = field(default_factory=dict)
    callers: dict[tuple[str, str], dict[str, Span]] = field(default_factory=dict)
    tools: Counter[str] = field(default_factory=Counter)
    gaps: int = 0

    def add(self, call: RecordedCall) -> None:
        """Count a call that ran or was put to a person. A refused call is no example of use."""
        if call.decision.ending == "refused":
            return
        if call.gap:
            self.gaps += 1
            return
        tool, values = call.facts["tool"], call.values
        self.calls.add(call.at)
        self.tools[tool] += 1
        by = self.callers.setdefault((str(values["tenant"]), str(values["principal"])), {})
        by.setdefault(tool, Span()).add(call.at)
        for name, value in _named_values(values["arguments"]):
            self.arguments.setdefault((tool, name), ArgumentUsage()).add(value, call.at)


def is_amount(name: str) -> bool:
    """Whether an argument of this name is an amount that is worth a bound."""
    return _AMOUNT.search(name) is not None


def _named_values(arguments: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Each argument by its name, or by a pointer where it is nested."""
    if not isinstance(arguments, Mapping):
        return
    for name, value in arguments.items():
        here = (*path, name)
        if isinstance(value, Mapping) and len(here) < _DEPTH:
            yield from _named_values(value, here)
        elif value is not None:
            yield here[0] if len(here) == 1 else pointer_to(here), value


def _counted(seen: Counter[str] | None, found: set[str] | None) -> Counter[str] | None:
    if seen is None or found is None:
        return None
    seen.update(found)
    return seen if len(seen) <= MOST_KINDS else None


def _domains(value: Any) -> set[str] | None:
    """The domains of a text that is an address or a link; None for any other value."""
    found = set(hosts_in(value)) if isinstance(value, str) else set()
    return found if found and UNCLEAR not in found else None


def _folders(value: Any) -> set[str] | None:
    """The folder of a text that is an absolute path; None for any other value."""
    if not isinstance(value, str) or not value.startswith("/") or value.startswith("//"):
        return None
    if ".." in value.split("/") or any(ord(character) < 33 or character in "%\\" for character in value):
        return None
    folder = posixpath.dirname(posixpath.normpath(value))
    return {folder} if folder != "/" else None


def common_folders(folders: Mapping[str, int]) -> list[str]:
    """The folders without those that are inside another one of them."""
    kept: list[str] = []
    for folder in sorted(folders):
        if not any(folder == one or folder.startswith(one + "/") for one in kept):
            kept.append(folder)
    return kept
