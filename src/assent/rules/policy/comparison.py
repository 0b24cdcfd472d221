"""Compares two sets of policies by concrete requests and finds where they decide differently."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from assent.contract.reader import read_contract
from assent.contract.tiers import Risk, Tier
from assent.core.catalogue import Catalogue
from assent.core.policy_verdict import PolicyVerdict
from assent.core.tool import Tool, compile_tool
from assent.rules.policy.engine import PolicyEngine
from assent.rules.policy.requests import (
    ABSENT,
    Assignment,
    assignments,
    boundary_values,
    call_of,
    dimensions,
    moment_of,
    principal_of,
    used_percent_of,
)
from assent.rules.policy.schema import OTHER_ACTIONS
from assent.rules.policy.source import Policy

MOST_REQUESTS = 40_000
LEAST_PER_TOOL = 300
ANY = "any."
"""The start of the names of tools that stand for a tier and a risk."""
Judge = Callable[[Assignment], PolicyVerdict]


@dataclass(frozen=True, slots=True)
class PolicySide:
    """One of the two sets, with the tools that it is about."""

    engine: PolicyEngine
    catalogue: Catalogue


@dataclass(slots=True)
class Difference:
    """Requests that both sets decide differently for the same reasons, with the simplest of them."""

    before: PolicyVerdict
    after: PolicyVerdict
    targets: list[str]
    example: dict[str, Any]


@dataclass(slots=True)
class Comparison:
    """Everything that was compared."""

    examined: int = 0
    complete: bool = True
    """Whether every combination of boundary values was examined."""
    differences: list[Difference] = field(default_factory=list)
    only_before: list[str] = field(default_factory=list)
    only_after: list[str] = field(default_factory=list)
    _by_reason: dict[tuple[Any, ...], Difference] = field(default_factory=dict)

    def add(self, before: PolicyVerdict, after: PolicyVerdict, target: str, example: dict[str, Any]) -> None:
        key = _reasons(before), _reasons(after)
        known = self._by_reason.get(key)
        if known is None:
            known = self._by_reason[key] = Difference(before, after, [], example)
            self.differences.append(known)
        if target not in known.targets:
            known.targets.append(target)


def compare(old: PolicySide, new: PolicySide, most: int = MOST_REQUESTS) -> Comparison:
    """Enumerate tools (or tiers and risks that no tool has), kinds of principal, modes, roles, and the values around
    every literal, and compare both decisions.
    """
    found, before, after = Comparison(), old.catalogue.tools, new.catalogue.tools
    found.only_before = sorted(before.keys() - after.keys())
    found.only_after = sorted(after.keys() - before.keys())
    shared = [(before[name], after[name]) for name in sorted(before.keys() & after.keys())]
    shared += [(one, one) for one in _missing_kinds(one for pair in shared for one in pair)]
    share = max(LEAST_PER_TOOL, most // max(1, len(shared)))
    for one, other in shared:
        _compare_tool(old.engine, new.engine, one, other, share, found)
    for action, kinds in OTHER_ACTIONS.items():
        for kind in kinds:
            _compare_others(old.engine, new.engine, action, kind, share, found)
    for difference in found.differences:
        real = [name for name in difference.targets if not name.startswith(ANY)]
        difference.targets = real or difference.targets
    return found


def _compare_tool(old: PolicyEngine, new: PolicyEngine, one: Tool, other: Tool, most: int, found: Comparison) -> None:
    mine, theirs = old.of_tool(one), new.of_tool(other)
    if mine.faults or theirs.faults:
        return
    policies = [*mine.policies.values(), *theirs.policies.values()]
    if not policies:
        return
    varied = dimensions(boundary_values(policy.node for policy in policies), other)

    def judge(engine: PolicyEngine, tool: Tool) -> Judge:
        def decide(assignment: Assignment) -> PolicyVerdict:
            call = call_of(assignment, tool)
            return engine.judge_tool(call.principal, tool).combine(
                engine.judge_call(call, moment_of(assignment), used_percent_of(assignment))
            )

        return decide

    def example(assignment: Assignment) -> dict[str, Any]:
        return {
            "tool": other.name,
            **_describe_assignment(assignment, varied),
            "arguments": dict(call_of(assignment, other).arguments),
        }

    _enumerate(judge(old, one), judge(new, other), varied, most, found, other.name, example)


def _compare_others(old: PolicyEngine, new: PolicyEngine, action: str, kind: str, most: int, found: Comparison) -> None:
    policies = [one for engine in (old, new) for one in _policies_beside(engine, action, kind)]
    if not policies:
        return
    values = boundary_values(policy.node for policy in policies)
    member = "uri" if kind == "Resource" else "name"
    named = [*values.get(("resource", member), ()), *values.get(("resource", "id"), ())]
    varied = dimensions(values, None)
    varied["resource",] = ["other:", *(name for name in named if name != ABSENT)]

    def judge(engine: PolicyEngine) -> Judge:
        def decide(assignment: Assignment) -> PolicyVerdict:
            who, name = principal_of(assignment), str(assignment["resource",])
            return engine.judge_other(who, action, kind, name, None, moment_of(assignment))

        return decide

    def example(assignment: Assignment) -> dict[str, Any]:
        told = {place: value for place, value in assignment.items() if place != ("resource",)}
        return {"request": action, member: assignment["resource",], **_describe_assignment(told, varied)}

    _enumerate(judge(old), judge(new), varied, most, found, action, example)


def _policies_beside(engine: PolicyEngine, action: str, kind: str) -> Iterable[Policy]:
    return {one.id: one for part in engine.beside(action, kind).values() for one in part.policies.values()}.values()


def _enumerate(
    before: Judge,
    after: Judge,
    varied: Mapping[Any, list[Any]],
    most: int,
    found: Comparison,
    target: str,
    example: Callable[[Assignment], dict[str, Any]],
) -> None:
    total = 1
    for values in varied.values():
        total *= len(values)
    found.complete = found.complete and total <= most
    seen: set[tuple[Any, ...]] = set()
    for assignment in assignments(varied, most):
        found.examined += 1
        one, other = before(assignment), after(assignment)
        key = _reasons(one), _reasons(other)
        if one.effect == other.effect or key in seen:
            continue
        seen.add(key)
        simple = _simplify(assignment, varied, partial(_decides, before, after, key))
        found.add(one, other, target, example(simple))


def _decides(before: Judge, after: Judge, key: tuple[Any, ...], assignment: Assignment) -> bool:
    """Whether a request shows the difference with this key."""
    return (_reasons(before(assignment)), _reasons(after(assignment))) == key


def _simplify(
    assignment: Assignment, varied: Mapping[Any, list[Any]], differs: Callable[[Assignment], bool]
) -> Assignment:
    """The same difference with as many ordinary values as possible, so that a person sees what matters."""
    for place, values in varied.items():
        tried = {**assignment, place: values[0]}
        if assignment[place] != values[0] and differs(tried):
            assignment = tried
    return assignment


def _describe_assignment(assignment: Assignment, varied: Mapping[Any, list[Any]]) -> dict[str, Any]:
    """What a person reads of a request: kind and mode, and everything that is not ordinary."""
    told: dict[str, Any] = {"kind": assignment["kind",], "mode": assignment["mode",]}
    for place, value in assignment.items():
        if place[0] not in ("kind", "mode") and place[:2] != ("context", "input") and value != varied[place][0]:
            told[".".join(place)] = str(value)
    return told


def _reasons(verdict: PolicyVerdict) -> tuple[Any, ...]:
    decisive = verdict.denied or verdict.approvals
    return verdict.effect, tuple(sorted({one.id for one in decisive}))


def _missing_kinds(tools: Iterable[Tool]) -> list[Tool]:
    """A tool without arguments for each tier and risk that no tool has."""
    known = {(tool.contract.side_effect, tool.contract.risk) for tool in tools}
    return [
        compile_tool(read_contract(f"{ANY}{tier}.{risk}", {"side_effect": tier.value, "risk": risk.value}))
        for tier in Tier
        for risk in Risk
        if (tier, risk) not in known
    ]
