"""Strict validation of policies against the generated schema, with the file and line of each fault."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cedarpy
from cedarpy import pst

from assent.core.tool import Tool
from assent.errors import Fault
from assent.rules.policy.argument_types import CedarType
from assent.rules.policy.references import children, scope_type
from assent.rules.policy.schema import (
    ATTRIBUTES,
    NAMESPACE,
    NO_ARGUMENTS,
    OTHER_ACTIONS,
    PRINCIPAL_TYPES,
    TIERS,
    TYPES,
    call_schema,
    other_schema,
)
from assent.rules.policy.source import Policy

_PREFIX = re.compile(r"^for policy `[^`]*`, ")
_OPTIONAL = "unable to guarantee safety of access to optional attribute"
_TOOL = "any tool"
_UNKNOWN = re.compile(
    rf"attribute `(?P<name>[^`]+)` (?:on entity type `{NAMESPACE}::(?P<type>\w+)`|in context for .*) not found"
)
_OTHER_NAMES = {
    "arguments": "`context.input.NAME` for an argument",
    "kind": "`principal is Assent::Agent` (or Person, Service), or `principal.has_agent`",
    "side_effect": '`resource.tier`, or `action in Assent::Action::"destructive"`',
}
"""What people write after the words of contracts and keys, and what Cedar calls it here."""


def static_faults(policies: Sequence[Policy]) -> list[Fault]:
    """Faults that do not depend on the tools: unknown entity types, and wrong attributes of principals and tools."""
    faults = [fault for one in policies for fault in _unknown_types(one)]
    if faults:
        return faults
    beside = [one for one in policies if _is_about_others(one)]
    generic = [one for one in policies if _is_generic(one) and one not in beside]
    schema = call_schema(_TOOL, "read", NO_ARGUMENTS, _action_names(policies))
    found = _validate(generic, [_for_any_action(one) for one in generic], schema)
    return [*found, *(fault for one in beside for fault in _faults_about_others(one))]


def call_faults(tool: Tool, inputs: CedarType, policies: Iterable[Policy]) -> list[Fault]:
    """Why the policies that apply to a tool do not fit its arguments."""
    special = [one for one in policies if not _is_generic(one)]
    if not special:
        return []
    schema = call_schema(tool.name, tool.contract.side_effect.value, inputs, _action_names(special))
    return _validate(special, [one.text for one in special], schema)


def fitting_others(policies: Mapping[str, Policy], action: str, kind: str) -> dict[str, Policy]:
    """The policies for a request beside tools. One that reads what only tools have is not about it."""
    able = {key: one for key, one in policies.items() if _may_act(one, action) and _may_be(one, kind)}
    wrong = {one.id for one, _ in _errors(*_about_other(list(able.values()), action, kind))}
    return {key: one for key, one in able.items() if one.id not in wrong}


def _about_other(policies: Sequence[Policy], action: str, kind: str) -> tuple[Sequence[Policy], list[str], str]:
    return policies, [one.text for one in policies], other_schema(action, kind, _action_names(policies))


def name_faults(policies: Iterable[Policy], tools: Iterable[str], upstreams: Iterable[str]) -> list[Fault]:
    """Policies that name a tool, a tier, an action or an upstream that does not exist."""
    known = {
        "Action": {*tools, *TIERS, *OTHER_ACTIONS},
        "Tool": {*tools},
        "Upstream": {*upstreams},
    }
    faults: list[Fault] = []
    for one in policies:
        for entity in sorted(pst.entity_uids(one.node), key=str):
            names = known.get(entity.type.basename)
            if names is not None and entity.id not in names:
                close = difflib.get_close_matches(entity.id, sorted(names), n=1)
                what = {"Action": "tool or tier", "Tool": "tool", "Upstream": "upstream"}[entity.type.basename]
                remedy = f"Did you mean {close[0]}?" if close else f"Use the name of a {what} as it is listed"
                faults.append(one.fault(f"there is no {what} `{entity.id}`", remedy))
    return faults


def _faults_about_others(policy: Policy) -> list[Fault]:
    """Faults of a policy that names resources, prompts or their actions: it must fit at least one of these."""
    found: list[Fault] = []
    for action, kinds in OTHER_ACTIONS.items():
        for kind in kinds:
            if not _may_act(policy, action) or not _may_be(policy, kind):
                continue
            faults = _validate(*_about_other([policy], action, kind))
            if not faults:
                return []
            found += faults
    return found[:1] or [policy.fault("no request can match its scope", "Correct its action or resource")]


def _validate(policies: Sequence[Policy], texts: Sequence[str], schema: str) -> list[Fault]:
    """The errors of Cedar's strict validator, in our words: one fault for all kinds of callers, in a fixed order."""
    faults = {policy.fault(*_explain(error)) for policy, error in _errors(policies, texts, schema)}
    return sorted(faults, key=lambda fault: (fault.file, fault.line, fault.message))


def _errors(policies: Sequence[Policy], texts: Sequence[str], schema: str) -> list[tuple[Policy, str]]:
    if not policies:
        return []
    found = cedarpy.validate_policies("\n".join(texts), _parse_schema(schema))
    # The parser numbers the policies of a text: policy0, policy1, …
    by_number = {f"policy{number}": policy for number, policy in enumerate(policies)}
    return [(by_number[error.policy_id], error.error) for error in found.errors]


@lru_cache(maxsize=16)
def _parse_schema(schema: str) -> cedarpy.Schema:
    return cedarpy.Schema.from_str(schema)


def _for_any_action(policy: Policy) -> str:
    """The text without the action: conditions that do not read it are valid for every action or for none."""
    node = replace(policy.node, id="p", action=pst.ScopeAny())
    return str(cedarpy.PolicySet.from_pst(pst.PolicySet({}, {"p": node}, ())))


def _explain(error: str) -> tuple[str, str]:
    message = _PREFIX.sub("", error).replace(f'{NAMESPACE}::Action::"{_TOOL}"', _TOOL)
    name = re.search(r"attribute `([^`]+)`", message)
    if _OPTIONAL in message and name:
        base, _, last = ("context." + name[1]).rpartition(".")
        return f"`{name[1]}` may be absent", f"Write `{base} has {last} && ...` before it is read"
    if unknown := _UNKNOWN.search(message):
        return _explain_unknown(unknown["name"], unknown["type"])
    return message, "`assent policy check` lists what each policy applies to; docs/policy.md lists the attributes"


def _explain_unknown(name: str, kind: str | None) -> tuple[str, str]:
    """The message about an attribute that does not exist, with those that do. `kind` is None for the context."""
    owner = "context" if kind is None else "principal" if kind in PRINCIPAL_TYPES.values() else kind
    known = [one.name.rstrip("?") for one in ATTRIBUTES if one.owner == owner]
    shown = f"`{owner}`" if owner in ("context", "principal") else f"a {owner.lower()}"
    if name in _OTHER_NAMES:
        return f"{shown} has no attribute `{name}`", f"Write {_OTHER_NAMES[name]}"
    close = difflib.get_close_matches(name, known, n=1)
    return (
        f"{shown} has no attribute `{name}`",
        f"Did you mean `{close[0]}`?" if close else f"It has {', '.join(known)}; docs/policy.md explains them",
    )


def _is_generic(policy: Policy) -> bool:
    """Whether its conditions mean the same for every tool: they read neither arguments nor the action."""
    return not policy.references.reads_input and "action" not in policy.references.variables


def _is_about_others(policy: Policy) -> bool:
    """Whether its scope names only resources, prompts, or their actions."""
    kind = scope_type(policy.node.resource)
    if kind is not None and kind.basename in ("Resource", "Prompt"):
        return True
    named = _scope_actions(policy.node.action)
    return named is not None and set(named) <= OTHER_ACTIONS.keys()


def _scope_actions(scope: Any) -> list[str] | None:
    """The names in an action scope; None if it allows all."""
    if isinstance(scope, pst.ActionEq):
        return [scope.entity.id]
    return [one.id for one in scope.entities] if isinstance(scope, pst.ActionIn) else None


def _may_act(policy: Policy, action: str) -> bool:
    named = _scope_actions(policy.node.action)
    return named is None or action in named


def _may_be(policy: Policy, kind: str) -> bool:
    demanded = scope_type(policy.node.resource)
    return demanded is None or demanded.basename == kind


def _action_names(policies: Iterable[Policy]) -> set[str]:
    """The actions that policies name: the schema must know them, whichever tool it is about."""
    return {one.id for policy in policies for one in pst.entity_uids(policy.node) if one.type.basename == "Action"}


def _unknown_types(policy: Policy) -> Iterator[Fault]:
    for entity_type in _entity_types(policy.node):
        namespace, name = "::".join(entity_type.namespace), entity_type.basename
        if namespace != NAMESPACE or name not in TYPES:
            known = difflib.get_close_matches(name, TYPES, n=1)
            remedy = f"Write {NAMESPACE}::{known[0]}" if known else f"The types are {', '.join(TYPES)}, in {NAMESPACE}"
            yield policy.fault(f"there is no entity type `{entity_type}`", remedy)


def _entity_types(node: Any) -> Iterator[pst.EntityType]:
    """Every entity type that a policy mentions."""
    if isinstance(node, pst.EntityType):
        yield node
        return
    for child in children(node):
        yield from _entity_types(child)
