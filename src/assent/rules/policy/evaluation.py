"""Policies compiled for one tool, or for one kind of other request: only those that can apply, ready to evaluate.

A slice leaves out every policy whose scope, or whose conditions on the tool alone, cannot hold. So a decision costs the
same with 20 and with 1,000 policies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cedarpy
import orjson
from cedarpy import pst

from assent.core.call import Call
from assent.core.policy_verdict import NO_POLICY, PolicyReason, PolicyVerdict
from assent.core.principal import Principal
from assent.rules.policy.argument_types import ArgumentMember, CedarType, NotConvertible, convert_members
from assent.rules.policy.entities import Uid, context_of, principal_uid
from assent.rules.policy.references import conditions, scope_type, variables_in
from assent.rules.policy.schema import NAMESPACE, PRINCIPAL_TYPES
from assent.rules.policy.source import Policy

_ANYBODY = {"type": f"{NAMESPACE}::Agent", "id": ""}
_POLICY_IN_ERROR = re.compile(r"policy `(p\d+)`")


class PolicyIndex:
    """All policies, with what each demands of a tool alone."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self.by_key = {f"p{number}": policy for number, policy in enumerate(policies)}
        self._demands = policy_set({key: _demand(one.node) for key, one in self.by_key.items()})

    def applying(self, action: Uid, resource: Uid, entities: cedarpy.Entities) -> dict[str, Policy]:
        """The policies that could match this action on this resource, whoever calls and with whatever arguments."""
        if not self.by_key:
            return {}
        request = {"principal": _ANYBODY, "action": action, "resource": resource, "context": "{}"}
        found = cedarpy.is_authorized(request, self._demands, entities).diagnostics
        failed = {key for error in found.errors for key in _POLICY_IN_ERROR.findall(error)}
        if found.errors and not failed:
            return dict(self.by_key)
        return {key: self.by_key[key] for key in self.by_key if key in failed or key in set(found.reasons)}


def _demand(node: pst.Template) -> pst.Template:
    """The policy without its principal and without every condition that is not about the tool alone."""
    parts = [one for one in conditions(node) if variables_in(one) <= {"resource", "action"}]
    return replace(node, principal=pst.ScopeAny(), clauses=tuple(map(pst.When, parts)))


def policy_set(nodes: Mapping[str, pst.Template]) -> cedarpy.PolicySet:
    """A prepared set in which each policy has its key as id."""
    static = {key: replace(node, id=key) for key, node in nodes.items()}
    return cedarpy.PolicySet.from_pst(pst.PolicySet({}, static, ()))


@dataclass(frozen=True, slots=True)
class PolicySlice:
    """Policies for one kind of principal, and what they read of a request."""

    policies: Mapping[str, Policy]
    prepared: cedarpy.PolicySet
    needed: frozenset[str]
    """The members of the context that they read."""
    members: Mapping[str, ArgumentMember]
    """The arguments that they read."""

    @property
    def reads_budget(self) -> bool:
        return "budget" in self.needed

    def judge(
        self,
        principal: Principal,
        action: Uid,
        resource: Uid,
        entities: cedarpy.Entities,
        now: float,
        call: Call | None = None,
        used_percent: int = 0,
    ) -> PolicyVerdict:
        """What these policies decide. Everything that cannot be evaluated is denied, under the policy that failed."""
        if not self.policies:
            return NO_POLICY
        context = context_of(principal, now, self.needed)
        if call is not None:
            try:
                context |= {"dry_run": call.dry_run, "input": convert_members(self.members, call.arguments)}
            except NotConvertible as error:
                return self._unreadable(str(error))
            if self.reads_budget:
                context["budget"] = {"used_percent": used_percent}
        try:
            text = orjson.dumps(context).decode()
            request = {"principal": principal_uid(principal), "action": action, "resource": resource, "context": text}
            found = cedarpy.is_authorized(request, self.prepared, entities).diagnostics
        except (ValueError, TypeError):
            return self.failed()
        return self._verdict(found.reasons, found.errors)

    def _verdict(self, reasons: Sequence[str], errors: Sequence[str]) -> PolicyVerdict:
        matched = [self.policies[key] for key in self.policies if key in set(reasons)]
        denied = [one.policy_reason for one in matched if one.effect == "deny"]
        denied += [self._failure_reason(error) for error in errors]
        approvals = tuple(one.policy_reason for one in matched if one.effect == "approve")
        return PolicyVerdict(tuple(denied), approvals, len(self.policies))

    def failed(self) -> PolicyVerdict:
        """The verdict if nothing can be evaluated: every policy denies."""
        return PolicyVerdict(tuple(map(unevaluated, self.policies.values())), (), len(self.policies))

    def _failure_reason(self, error: str) -> PolicyReason:
        found = _POLICY_IN_ERROR.search(error)
        return unevaluated(self.policies[found[1]] if found else next(iter(self.policies.values())))

    def _unreadable(self, why: str) -> PolicyVerdict:
        """An argument that has no exact value for the policies that read it."""
        readers = [one for one in self.policies.values() if one.references.reads_input]
        reason = f"the argument {why}, so the policy cannot be evaluated and the call is denied"
        return PolicyVerdict((PolicyReason(readers[0].id, reason),), (), len(self.policies))


def unevaluated(policy: Policy) -> PolicyReason:
    return PolicyReason(policy.id, "it could not be evaluated for this request, so the request is denied")


Slices = Mapping[str, PolicySlice]
"""A slice for each kind of principal."""


def slices_of(policies: Mapping[str, Policy], inputs: CedarType) -> Slices:
    """Prepare policies for each kind of principal."""
    found: dict[str, PolicySlice] = {}
    for kind in PRINCIPAL_TYPES:
        mine = {key: one for key, one in policies.items() if _may_be(one.node.principal, kind)}
        found[kind] = PolicySlice(
            mine,
            policy_set({key: one.node for key, one in mine.items()}),
            frozenset(path[0] if path else "all" for one in mine.values() for path in one.references.context)
            | _everything(mine.values()),
            _members_read(mine.values(), inputs),
        )
    return found


def _everything(policies: Iterable[Policy]) -> frozenset[str]:
    """All members, if a policy compares the context as a whole."""
    whole = any(() in one.references.context for one in policies)
    return frozenset({"authentication", "time", "budget"}) if whole else frozenset()


def _members_read(policies: Iterable[Policy], inputs: CedarType) -> dict[str, ArgumentMember]:
    names: set[str] = set()
    for one in policies:
        arguments = one.references.arguments() if one.references.context else frozenset()
        names |= set(inputs.members) if arguments is None else arguments
    return {name: inputs.members[name] for name in inputs.members if name in names}


def _may_be(scope: Any, kind: str) -> bool:
    """Whether a principal scope can match this kind of principal."""
    demanded = scope_type(scope)
    return demanded is None or str(demanded) == f"{NAMESPACE}::{PRINCIPAL_TYPES[kind]}"
