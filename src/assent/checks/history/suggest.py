"""What recorded calls kept to, and the guards and scopes that fit it."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from assent.checks.history.recorded_call import RecordedCall
from assent.contract.model import Contract
from assent.contract.pointers import pointer_to
from assent.core.principal import Principal
from assent.core.question import counted
from assent.pipeline.authorize import grants
from assent.rules.guards import rule_names
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
            self.domains = _add_counts(self.domains, _domains(one))
            self.folders = _add_counts(self.folders, _folders(one))

    def _add_number(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.only_numbers = False
            return
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)


@dataclass(slots=True)
class CallUsage:
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


def _add_counts(counts: Counter[str] | None, names: set[str] | None) -> Counter[str] | None:
    if counts is None or names is None:
        return None
    counts.update(names)
    return counts if len(counts) <= MOST_KINDS else None


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


_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*\Z")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


@dataclass(frozen=True, slots=True)
class SuggestedGuard:
    """A guard as it would be written under `guards:`, and what was seen."""

    fields: Mapping[str, Any]
    evidence: str


@dataclass(frozen=True, slots=True)
class SuggestedScopes:
    """The scopes of one caller, those that its calls needed, and what was seen."""

    caller: str
    has: tuple[str, ...]
    unused: tuple[str, ...]
    needed: tuple[str, ...]
    evidence: str


def suggest_guards(usage: CallUsage, contracts: Mapping[str, Contract], least_calls: int) -> list[SuggestedGuard]:
    """A guard for every argument whose domains, folders or amounts stayed within a set in enough calls."""
    found = []
    for (tool, name), seen in sorted(usage.arguments.items()):
        if seen.span.count < least_calls:
            continue
        head = {"match": {"tool": tool}}
        evidence = f"{tool}, {name}: {_span(seen.span)}"
        guard = _guard_of(name, seen, contracts.get(tool))
        if guard is not None and guard[0]["rule"] in rule_names():
            found.append(SuggestedGuard({**head, **guard[0]}, f"{evidence}; {guard[1]}"))
    return found


def _guard_of(name: str, seen: ArgumentUsage, contract: Contract | None) -> tuple[dict[str, Any], str] | None:
    rule: dict[str, Any]
    if seen.domains:
        rule = {"rule": "allow_domains", "fields": [name], "domains": sorted(seen.domains)}
        return rule, f"domains {_counts(seen.domains)}"
    if seen.folders:
        rule = {"rule": "allow_paths", "fields": [name], "paths": common_folders(seen.folders)}
        return rule, f"folders {_counts(seen.folders)}"
    priced = contract is not None and contract.cost is not None and contract.cost.amount.lstrip("/") == name.lstrip("/")
    if seen.only_numbers and seen.most is not None and seen.least is not None and (priced or is_amount(name)):
        rule = {"rule": "bounds", "fields": [name], "least": min(0, seen.least), "most": seen.most}
        return rule, f"from {seen.least:g} to {seen.most:g}"
    return None


def suggest_scopes(
    usage: CallUsage, callers: Iterable[Principal], contracts: Mapping[str, Contract]
) -> list[SuggestedScopes]:
    """For each caller with scopes that no call of it needed: those scopes, and what it needed."""
    found = []
    for caller in sorted(callers, key=lambda one: (one.tenant, one.id)):
        used = usage.callers.get((caller.tenant, caller.id), {})
        if any(tool not in contracts for tool in used):
            continue  # What its calls needed is not written anywhere.
        needed = {permission for tool in used for permission in contracts[tool].permissions}
        unused = {scope for scope in caller.scopes if not any(grants(frozenset({scope}), one) for one in needed)}
        wide = {scope for scope in caller.scopes if scope.endswith("*")} - unused
        if unused or wide:
            said = _span(_merge_spans(used.values())) if used else "no call in this time"
            has, without = tuple(sorted(caller.scopes)), tuple(sorted(unused))
            found.append(SuggestedScopes(caller.id, has, without, tuple(sorted(needed)), said))
    return found


def suggestions_text(usage: CallUsage, guards: list[SuggestedGuard], scopes: list[SuggestedScopes], log: str) -> str:
    """The suggestions as YAML to be copied into `assent.yaml`; the evidence is in comments."""
    lines = [f"# Suggested from {_span(usage.calls)}; {log}."]
    if usage.gaps:
        lines.append(f"# {usage.gaps} more calls were not looked at: their arguments were erased or never stored.")
    lines.append("# Try it on history before you use it: assent policy replay -c NEW.yaml")
    lines.append("guards:" if guards else "guards: []   # no argument kept to a small set in enough calls")
    for guard in guards:
        lines += [f"  # {_comment(guard.evidence)}", f"  - {_flow(guard.fields)}"]
    if scopes:
        lines.append("# Scopes that no call needed:")
    for one in scopes:
        lines.append(f"#   {_comment(one.caller)}: {_comment(one.evidence)}")
        lines.append(f"#     has {_flow(list(one.has))}, of which unused: {_flow(list(one.unused))}")
        needed = f"needed only: {_flow(list(one.needed))}" if one.needed else "needed no scope"
        lines.append(f"#     its calls {needed}")
    return "\n".join(lines)


def _merge_spans(spans: Iterable[Span]) -> Span:
    all_spans = list(spans)
    return Span(
        sum(one.count for one in all_spans), min(one.first for one in all_spans), max(one.last for one in all_spans)
    )


def _span(span: Span) -> str:
    if not span.count:
        return "0 calls"
    return f"{counted(span.count, 'call')} from {time_text(span.first)} to {time_text(span.last)}"


def time_text(at: float) -> str:
    """A time as people read it, to the second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _counts(seen: Mapping[str, int]) -> str:
    ordered = sorted(seen.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} ({number})" for name, number in ordered)


def _flow(value: Any) -> str:
    """A value in YAML's flow form; a text that YAML could read as something else is quoted."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)


def _comment(text: str) -> str:
    """Text that cannot break out of its comment."""
    return "".join(character if character.isprintable() else " " for character in text)[:500]
