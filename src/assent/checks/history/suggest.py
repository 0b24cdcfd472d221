"""Suggests guards and scopes that recorded calls have always kept to, with the evidence beside each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from assent.checks.history.usage import ArgumentUsage, Span, Usage, common_folders, is_amount
from assent.contract.model import Contract
from assent.core.principal import Principal, grants
from assent.rules.guards import rule_names

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


def suggest_guards(usage: Usage, contracts: Mapping[str, Contract], least_calls: int) -> list[SuggestedGuard]:
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
    usage: Usage, callers: Iterable[Principal], contracts: Mapping[str, Contract]
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
            said = _span(_whole(used.values())) if used else "no call in this time"
            has, without = tuple(sorted(caller.scopes)), tuple(sorted(unused))
            found.append(SuggestedScopes(caller.id, has, without, tuple(sorted(needed)), said))
    return found


def suggestions_text(usage: Usage, guards: list[SuggestedGuard], scopes: list[SuggestedScopes], log: str) -> str:
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
        lines.append(f"#     its calls needed only: {_flow(list(one.needed))}")
    return "\n".join(lines)


def _whole(spans: Iterable[Span]) -> Span:
    all_spans = list(spans)
    return Span(
        sum(one.count for one in all_spans), min(one.first for one in all_spans), max(one.last for one in all_spans)
    )


def _span(span: Span) -> str:
    if not span.count:
        return "0 calls"
    number = "1 call" if span.count == 1 else f"{span.count} calls"
    return f"{number} from {_time(span.first)} to {_time(span.last)}"


def _time(at: float) -> str:
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
