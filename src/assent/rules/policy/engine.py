"""Decides with policies: about a tool, about one call of it, and about resources, prompts and completion."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import cedarpy

from assent.core.call import Call
from assent.core.limited_dict import LimitedDict
from assent.core.policy_verdict import NO_POLICY, PolicyReason, PolicyVerdict
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.errors import Fault
from assent.rules.policy.argument_types import argument_types
from assent.rules.policy.checks import call_faults, fitting_others, static_faults
from assent.rules.policy.entities import Uid, other_entity, principal_entity, tool_entities, uid
from assent.rules.policy.evaluation import PolicyIndex, PolicySlice, Slices, slices_of, unevaluated
from assent.rules.policy.schema import NO_ARGUMENTS, OTHER_ACTIONS
from assent.rules.policy.source import Policy, policies_digest

MOST_CACHED = 4_096
_NEVER = 0.0


@dataclass(frozen=True, slots=True)
class ToolPolicies:
    """The policies of one tool: those that decide whether it is listed, and those that decide about a call."""

    policies: Mapping[str, Policy]
    listing: Slices
    calls: Slices
    entities: cedarpy.Entities
    action: Uid
    resource: Uid
    faults: tuple[Fault, ...]
    """Why policies do not fit this tool; then every call of it is denied."""


@dataclass(frozen=True, slots=True)
class _Seat:
    """What is known of one principal and one tool before a call."""

    entities: cedarpy.Entities
    verdict: PolicyVerdict


class PolicyEngine:
    """The policies of one configuration. Each tool's policies are compiled once and kept with the tool."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self.policies = tuple(policies)
        self.digest = policies_digest(policies)
        self._index = PolicyIndex(policies)
        self._seats = LimitedDict[tuple[int, Principal, str], tuple[ToolPolicies, _Seat]](MOST_CACHED)
        self._others: dict[tuple[str, str], Slices] = {}
        self.faults = static_faults(policies)

    def of_tool(self, tool: Tool) -> ToolPolicies:
        """The policies that can apply to a tool."""
        known: tuple[PolicyEngine, ToolPolicies] | None = tool.derived.get("policies")
        if known is not None and known[0] is self:
            return known[1]
        compiled = self._compile(tool)
        tool.derived["policies"] = self, compiled
        return compiled

    def _compile(self, tool: Tool) -> ToolPolicies:
        entities = cedarpy.Entities.from_json_str(json.dumps(tool_entities(tool)))
        action, resource = uid("Action", tool.name), uid("Tool", tool.name)
        applying = self._index.applying(action, resource, entities)
        inputs = argument_types(tool.definition.get("inputSchema")) if applying else NO_ARGUMENTS
        return ToolPolicies(
            applying,
            slices_of({key: one for key, one in applying.items() if not one.references.needs_call}, NO_ARGUMENTS),
            slices_of({key: one for key, one in applying.items() if one.references.needs_call}, inputs),
            entities,
            action,
            resource,
            tuple(call_faults(tool, inputs, applying.values())),
        )

    def judge_tool(self, principal: Principal, tool: Tool) -> PolicyVerdict:
        """What follows from principal and tool alone: it decides whether the tool is listed."""
        if not self.policies:
            return NO_POLICY
        return self._seat(principal, self.of_tool(tool)).verdict

    def reads_budget(self, call: Call) -> bool:
        """Whether a policy for this call reads how much of a budget is used."""
        return bool(self.policies) and self.of_tool(call.tool).calls[call.principal.kind].reads_budget

    def judge_call(self, call: Call, now: float, used_percent: int = 0) -> PolicyVerdict:
        """What the policies decide that read arguments, time, budgets or the age of the sign-in."""
        if not self.policies:
            return NO_POLICY
        compiled = self.of_tool(call.tool)
        seat, chosen = self._seat(call.principal, compiled), compiled.calls[call.principal.kind]
        request = call.principal, compiled.action, compiled.resource, seat.entities, now
        return chosen.judge(*request, call, used_percent)

    def _seat(self, principal: Principal, compiled: ToolPolicies) -> _Seat:
        key = id(compiled), principal, principal.method
        known = self._seats.get(key)
        if known is not None:
            self._seats.move_to_end(key)
            return known[1]
        seat = _make_seat(principal, compiled)
        self._seats[key] = compiled, seat  # Keeping what was compiled keeps its identity from being used again.
        return seat

    def judge_other(
        self, principal: Principal, action: str, kind: str, name: str, upstream: str | None, now: float
    ) -> PolicyVerdict:
        """What policies decide about reading a resource, getting a prompt, or completing an argument of either.

        No approval can be given for these, so a policy that asks for one denies them.
        """
        chosen = self.beside(action, kind)[principal.kind]
        if not chosen.policies:
            return NO_POLICY
        # Policies may be written for a URI as the upstream lists it, or for its normal form.
        spellings = dict.fromkeys((normal_uri(name), name)) if kind == "Resource" else (name,)
        found = [_judge_other(chosen, principal, action, kind, one, upstream, now) for one in spellings]
        denied = dict.fromkeys(reason for one in found for reason in one.denied + one.approvals)
        return PolicyVerdict(tuple(denied), (), found[0].examined)

    def beside(self, action: str, kind: str) -> Slices:
        """The policies for one action beside tools and one type of resource, by kind of principal."""
        known = self._others.get((action, kind))
        if known is None:
            fitting = fitting_others(self._index.by_key, action, kind)
            known = self._others[action, kind] = slices_of(fitting, NO_ARGUMENTS)
        return known

    def governs_others(self) -> bool:
        """Whether any policy can apply to resources, prompts or completion."""
        return any(
            self.beside(action, kind)[who].policies
            for action, kinds in OTHER_ACTIONS.items()
            for kind in kinds
            for who in self.beside(action, kind)
        )

    def faults_of(self, tools: Iterable[Tool]) -> list[Fault]:
        """Why policies do not fit these tools."""
        return [fault for tool in tools for fault in self.of_tool(tool).faults]


def _judge_other(
    chosen: PolicySlice, principal: Principal, action: str, kind: str, name: str, upstream: str | None, now: float
) -> PolicyVerdict:
    try:
        entities = cedarpy.Entities.from_json_str(
            json.dumps([principal_entity(principal), other_entity(kind, name, upstream)])
        )
    except ValueError:
        return chosen.failed()
    return chosen.judge(principal, uid("Action", action), uid(kind, name), entities, now)


def _make_seat(principal: Principal, compiled: ToolPolicies) -> _Seat:
    try:
        entities = compiled.entities.with_added_json_str(json.dumps([principal_entity(principal)]))
    except ValueError:  # A principal that Cedar cannot read is denied whatever any policy is about.
        return _Seat(compiled.entities, PolicyVerdict(tuple(map(unevaluated, compiled.policies.values()))))
    if compiled.faults:
        return _Seat(entities, _misfit(compiled.faults))
    chosen = compiled.listing[principal.kind]
    return _Seat(entities, chosen.judge(principal, compiled.action, compiled.resource, entities, _NEVER))


def _misfit(faults: Sequence[Fault]) -> PolicyVerdict:
    reason = "it does not fit this tool, so every call of it is denied until an operator corrects the policy"
    return PolicyVerdict(tuple(PolicyReason(name, reason) for name in dict.fromkeys(one.field for one in faults)))


_DOTS = re.compile(r"(?:^|/)\.\.?(?:/|$)")
_MOST_ENCODINGS = 5


def normal_uri(uri: str) -> str:
    """A URI as policies compare it: scheme and host in lower case, host and path decoded, without dot segments.

    `memo:/a` and `file://localhost/a` are written as `memo:///a` and `file:///a`.
    """
    try:
        parts = urlsplit(uri.strip())
        path = _without_dots(_decoded(parts.path))
        host = _decoded(parts.netloc).lower()
    except ValueError:
        return uri
    if parts.scheme == "file" and host == "localhost":
        host = ""
    start = f"{parts.scheme}:" if parts.scheme else ""
    authority = f"//{host}" if host or (start and path.startswith("/")) else ""
    return f"{start}{authority}{path}" + (f"?{parts.query}" if parts.query else "")


def _decoded(path: str) -> str:
    """A path without percent-encoding, however often it was encoded."""
    for _ in range(_MOST_ENCODINGS):
        decoded = unquote(path)
        if decoded == path:
            break
        path = decoded
    return path.replace("\\", "/")


def _without_dots(path: str) -> str:
    path = re.sub("/{2,}", "/", path)
    if not _DOTS.search(path):
        return path
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            kept = kept[:-1] if kept and kept[-1] else kept
        elif part != ".":
            kept.append(part)
    return "/".join(kept)
