"""The Cedar schema of policies, generated from one table that is also the reference in the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from assent.contract.tiers import Tier
from assent.rules.policy.argument_types import CedarType, argument_types, quoted

NAMESPACE = "Assent"
PRINCIPAL_TYPES = {"agent": "Agent", "human": "Person", "service": "Service"}
TIERS = tuple(tier.value for tier in Tier)
OTHER_ACTIONS = {
    "resources/read": ("Resource",),
    "prompts/get": ("Prompt",),
    "completion/complete": ("Resource", "Prompt"),
}
"""The actions beside tools, with the types of their resources."""
TYPES = (*PRINCIPAL_TYPES.values(), "Group", "Role", "Upstream", "Tool", "Resource", "Prompt", "Action")


class Attribute(NamedTuple):
    """One attribute that a policy can read."""

    owner: str
    name: str
    type: str
    meaning: str


ATTRIBUTES = (
    Attribute("principal", "id", "String", "the caller's id, as in the audit log"),
    Attribute("principal", "tenant", "String", "the caller's tenant"),
    Attribute("principal", "roles", "Set<String>", "roles such as approver; also `principal in Assent::Role::\"...\"`"),
    Attribute("principal", "groups", "Set<String>", "its groups; also `principal in Assent::Group::\"...\"`"),
    Attribute("principal", "scopes", "Set<String>", "scopes exactly as granted, such as orders:*"),
    Attribute("principal", "has_agent", "Bool", "whether the caller or an actor is an agent"),
    Attribute("principal", "actors", "Set<String>", "the ids of the actors that act for the caller"),
    Attribute("principal", "actor_kinds", "Set<String>", "their kinds: agent, human, service"),
    Attribute("Tool", "name", "String", "the name on the wire"),
    Attribute("Tool", "tier", "String", "the side effect: " + ", ".join(TIERS)),
    Attribute("Tool", "risk", "Long", "1 low, 2 medium, 3 high, 4 critical, 5 forbidden"),
    Attribute("Tool", "category?", "String", "the contract's category"),
    Attribute("Tool", "upstream", "String", "the server it belongs to; also `resource in Assent::Upstream::\"...\"`"),
    Attribute("Tool", "permissions", "Set<String>", "the scopes that it needs"),
    Attribute("Tool", "open_world", "Bool", "whether it reaches external systems"),
    Attribute("Tool", "overwrites", "Bool", "whether a write replaces data"),
    Attribute("Tool", "autonomous", "Bool", "whether an agent may call it without a person"),
    Attribute("Tool", "confirmation", "String", "who confirms: none, host, user or approver"),
    Attribute("Tool", "visibility", "String", "scoped, locked or hidden"),
    Attribute("Tool", "reads_private?", "Bool", "the flow label of this name, where the contract sets it"),
    Attribute("Tool", "sees_untrusted?", "Bool", "the flow label of this name, where the contract sets it"),
    Attribute("Tool", "public_sink?", "Bool", "the flow label of this name, where the contract sets it"),
    Attribute("Resource", "uri", "String", "the URI; in lists of templates, the template"),
    Attribute("Resource", "upstream?", "String", "the server it belongs to, where that is known"),
    Attribute("Prompt", "name", "String", "the name on the wire"),
    Attribute("Prompt", "upstream?", "String", "the server it belongs to, where that is known"),
    Attribute("context", "tenant", "String", "as principal.tenant"),
    Attribute("context", "mode", "String", "live or test"),
    Attribute("context", "authentication.method", "String", "api_key, token, anonymous, stdio, or empty where unknown"),
    Attribute("context", "authentication.acr?", "String", "the authentication class of a token"),
    Attribute("context", "authentication.age?", "Long", "seconds since the sign-in, where a token states it"),
    Attribute("context", "time.now", "datetime", "the time of the request"),
    Attribute("context", "time.date", "String", "the date in UTC, such as 2026-01-31"),
    Attribute("context", "time.hour", "Long", "0 to 23, UTC"),
    Attribute("context", "time.weekday", "Long", "1 Monday to 7 Sunday, UTC"),
    Attribute("context", "dry_run", "Bool", "tools only: whether the call is a dry run"),
    Attribute("context", "budget.used_percent", "Long", "tools only: 0 to 100, of the fullest budget for it"),
    Attribute("context", "input.*", "", "tools only: the arguments, by the type of the tool's input schema"),
)  # fmt: skip


def reference_table() -> str:
    """The table of attributes for the documentation."""
    rows = (f"| `{one.owner}` | `{one.name}` | `{one.type or 'see below'}` | {one.meaning} |" for one in ATTRIBUTES)
    return "\n".join(("| of | attribute | type | meaning |", "|---|---|---|---|", *rows))


def call_schema(tool: str, tier: str, inputs: CedarType, names: Iterable[str] = ()) -> str:
    """The schema with one action that applies: the call of this tool. `names` are the other known actions."""
    others = sorted({*TIERS, *OTHER_ACTIONS, *names} - {tool})
    parents = f" in [{quoted(tier)}]" if tier != tool else ""
    action = f"action {quoted(tool)}{parents}"
    return _schema(others, f"{action} {_applies('Tool', _context(inputs))}")


def other_schema(action: str, resource: str, names: Iterable[str] = ()) -> str:
    """The schema with one action that applies, beside tools: reading a resource, for example."""
    others = sorted({*TIERS, *OTHER_ACTIONS, *names} - {action})
    return _schema(others, f"action {quoted(action)} {_applies(resource, _context())}")


NO_ARGUMENTS = argument_types({})
_OF_CALLS = frozenset({"dry_run", "budget.used_percent"})


def _schema(actions: list[str], governed: str) -> str:
    principals = ", ".join(PRINCIPAL_TYPES.values())
    return f"""namespace {NAMESPACE} {{
  entity Group, Role, Upstream;
  entity {principals} in [Group, Role] {_record("principal")} tags Set<String>;
  entity Tool in [Upstream] {_record("Tool")};
  entity Resource in [Upstream] {_record("Resource")};
  entity Prompt in [Upstream] {_record("Prompt")};
  action {", ".join(map(quoted, actions))};
  {governed};
}}"""


def _applies(resource: str, context: str) -> str:
    principals = ", ".join(PRINCIPAL_TYPES.values())
    return f"appliesTo {{ principal: [{principals}], resource: {resource}, context: {context} }}"


def _record(owner: str) -> str:
    found = (one for one in ATTRIBUTES if one.owner == owner)
    return "{" + ", ".join(f"{one.name}: {one.type}" for one in found) + "}"


def _context(inputs: CedarType | None = None) -> str:
    """The type of the context; `inputs` are the arguments of a tool, None beside tools."""
    nested: dict[str, list[str]] = {}
    for one in ATTRIBUTES:
        if one.owner != "context" or one.name.startswith("input") or (inputs is None and one.name in _OF_CALLS):
            continue
        outer, _, inner = one.name.rpartition(".")
        nested.setdefault(outer, []).append(f"{inner}: {one.type}")
    parts = nested.pop("") + [f"{name}: {{{', '.join(inner)}}}" for name, inner in nested.items()]
    if inputs is not None:
        parts.append(f"input: {inputs.name}")
    return "{" + ", ".join(parts) + "}"
