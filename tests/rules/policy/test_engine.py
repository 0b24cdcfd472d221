"""Decisions of policies: by tool, caller and arguments; what cannot be evaluated is denied."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from assent.contract.tiers import Tier
from assent.core.call import Call
from assent.core.identity_claims import further_claims
from assent.core.principal import KINDS, Principal
from assent.core.tool import Tool
from assent.pipeline.discover import visible_tools
from assent.ports import Rules
from assent.rules.policy.engine import PolicyEngine, normal_uri
from assent.rules.policy.source import parse_policies
from assent.testing import AGENT, ANN, World

NOON = 1_800_014_400.0
SCHEMA = {
    "type": "object",
    "properties": {
        "item": {"type": "string"},
        "amount": {"type": "number"},
        "count": {"type": ["integer", "null"]},
        "urgent": {"type": "boolean"},
        "to": {"type": "array", "items": {"type": "string"}},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "price": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "x"}]},
        "anything": {},
        "__extn": {"type": "string"},
        "kind": {"$ref": "#/$defs/kind"},
    },
    "required": ["item"],
    "$defs": {"kind": {"enum": ["a", "b"]}},
}


def engine(text: str) -> PolicyEngine:
    made = PolicyEngine(parse_policies(text, "rules.cedar"))
    assert made.faults == []
    return made


def tool(name: str = "order", **fields: Any) -> Tool:
    return World({name: {"side_effect": "write", "input": SCHEMA, **fields}}).catalogue.tools[name]


def effect(made: PolicyEngine, arguments: dict[str, Any], by: Principal = AGENT, one: Tool | None = None) -> str:
    one = one or tool()
    assert made.of_tool(one).faults == ()
    call = Call(by, one, arguments, b"", "", "")
    return made.judge_tool(by, one).combine(made.judge_call(call, NOON)).effect


ORDER = 'forbid (principal, action == Assent::Action::"order", resource)'


@pytest.mark.parametrize(
    ("condition", "arguments", "expected"),
    [
        ('context.input.item == "pen"', {"item": "pen"}, "deny"),
        ('context.input.item == "pen"', {"item": "Pen"}, "allow"),
        ('context.input.item like "*pen*"', {"item": "a pen."}, "deny"),
        ("context.input has count && context.input.count > 5", {"item": "x", "count": 6}, "deny"),
        ("context.input has count && context.input.count > 5", {"item": "x", "count": 5}, "allow"),
        ("context.input has count && context.input.count > 5", {"item": "x", "count": 6.0}, "deny"),
        ("context.input has count && context.input.count > 5", {"item": "x", "count": None}, "allow"),
        ("context.input has count && context.input.count > 5", {"item": "x"}, "allow"),
        ("!(context.input has count)", {"item": "x", "count": None}, "deny"),
        ("context.input has urgent && context.input.urgent", {"item": "x", "urgent": True}, "deny"),
        ('context.input has to && context.input.to.contains("eve")', {"item": "x", "to": ["ann", "eve"]}, "deny"),
        ('context.input has to && context.input.to.contains("eve")', {"item": "x", "to": []}, "allow"),
        ('context.input has address && context.input.address.city == "Rome"',
         {"item": "x", "address": {"city": "Rome", "x": 1}}, "deny"),
        ('context.input has kind && context.input.kind == "b"', {"item": "x", "kind": "b"}, "deny"),
        ('context.input has amount && context.input.amount.greaterThan(decimal("0.3"))',
         {"item": "x", "amount": 0.3001}, "deny"),
        ('context.input has amount && context.input.amount.greaterThan(decimal("0.3"))',
         {"item": "x", "amount": 0.3}, "allow"),
        ('context.input has price && context.input.price.greaterThan(decimal("9.0"))',
         {"item": "x", "price": "9.50"}, "deny"),
        ("context.time.hour == 12 && context.time.weekday == 5", {"item": "x"}, "deny"),
        ('context.time.now > datetime("2100-01-01")', {"item": "x"}, "allow"),
        ("context.dry_run", {"item": "x"}, "allow"),
    ],
)  # fmt: skip
def test_a_condition_on_arguments_or_time_decides(condition: str, arguments: dict[str, Any], expected: str) -> None:
    assert effect(engine(f"{ORDER} when {{ {condition} }};"), arguments) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"item": "x", "amount": 0.00001},
        {"item": "x", "amount": 1e300},
        {"item": "x", "amount": True},
        {"item": "x", "amount": "many"},
        {"item": "x", "amount": {"__extn": {"fn": "decimal", "arg": "0.0"}}},
        {"item": "x", "amount": [1]},
        {"item": {"__entity": {"type": "Assent::Tool", "id": "order"}}},
        {"item": 5},
        {"item": None},
        {},
    ],
)
def test_arguments_that_are_not_what_the_schema_says_are_denied(arguments: dict[str, Any]) -> None:
    """Validation refuses most of them first; in observe mode or with a loose validator they get here."""
    made = engine(f'{ORDER} when {{ context.input.item == "never" || (context.input has amount && '
                  'context.input.amount.greaterThan(decimal("1000.0"))) };')  # fmt: skip
    assert effect(made, arguments) == "deny"


def test_an_error_in_one_policy_denies_under_its_name_whatever_others_say() -> None:
    overflow = (
        f'@id("sums") {ORDER} when {{ context.input has count && context.input.count + 9223372036854775807 > 0 }};'
    )
    asks = f'@id("asks") @effect("approve") {ORDER};'
    made, one = engine(overflow + asks), tool()
    verdict = made.judge_call(Call(AGENT, one, {"item": "x", "count": 1}, b"", "", ""), NOON)
    assert [found.id for found in verdict.denied] == ["sums"]
    assert "could not be evaluated" in verdict.denied[0].reason
    assert effect(made, {"item": "x", "count": 0}) == "deny", "it does not overflow, and its condition holds"
    assert effect(made, {"item": "x"}) == "approve"


def test_a_principal_that_cedar_cannot_read_is_denied() -> None:
    odd = replace(AGENT, id="a\ud800")
    assert effect(engine(f'{ORDER} when {{ principal.id == "x" }};'), {"item": "x"}, odd) == "deny"
    reading = 'forbid (principal, action == Assent::Action::"resources/read", resource) when { resource.uri == "x" };'
    assert engine(reading).judge_other(odd, "resources/read", "Resource", "y:z", None, NOON).effect == "deny"


@pytest.mark.parametrize(("kind", "mode"), list(itertools.product(KINDS, ("live", "test"))))
def test_the_kind_of_principal_and_the_mode_decide(kind: Any, mode: Any) -> None:
    made = engine('forbid (principal is Assent::Person, action, resource) when { context.mode == "test" };')
    by = Principal("x", kind, mode=mode)
    assert effect(made, {"item": "x"}, by) == ("deny" if (kind, mode) == ("human", "test") else "allow")


@pytest.mark.parametrize("tier", list(Tier))
def test_a_tool_is_in_the_group_of_its_tier_and_in_no_other(tier: Tier) -> None:
    one = tool(side_effect=tier.value)
    for other in Tier:
        made = engine(f'forbid (principal, action in Assent::Action::"{other}", resource);')
        assert effect(made, {"item": "x"}, one=one) == ("deny" if other is tier else "allow")


def test_a_tool_with_the_name_of_a_tier_joins_no_two_tiers() -> None:
    world = World(
        {"read": {"side_effect": "destructive"}, "look": {"side_effect": "read"}, "write": {"side_effect": "write"}}
    )
    made = engine('forbid (principal, action in Assent::Action::"destructive", resource);')
    assert [one.name for one in visible_tools(world.catalogue, ANN, Rules(policies=made))] == ["look", "write"]
    made = engine('forbid (principal, action in Assent::Action::"write", resource);')
    assert [one.name for one in visible_tools(world.catalogue, ANN, Rules(policies=made))] == ["read", "look"]


@pytest.mark.parametrize(
    ("condition", "changes", "expected"),
    [
        ('principal in Assent::Group::"g"', {"groups": frozenset({"g"})}, "deny"),
        ('principal.groups.contains("g")', {"groups": frozenset({"G"})}, "allow"),
        ('principal in Assent::Role::"operator"', {"roles": frozenset({"operator"})}, "deny"),
        ('principal.scopes.contains("a:*")', {"scopes": frozenset({"a:*"})}, "deny"),
        ('principal.tenant == "acme"', {"tenant": "acme"}, "deny"),
        ('principal.tenant == "acme"', {"tenant": "other"}, "allow"),
        ("principal.has_agent", {"kind": "human"}, "allow"),
        ("principal.has_agent", {"kind": "human", "actors": (AGENT,)}, "deny"),
        ('principal.actors.contains("agent")', {"kind": "human", "actors": (AGENT,)}, "deny"),
        ('principal.hasTag("d") && principal.getTag("d").contains("x")',
         {"claims": further_claims({"d": "x"})}, "deny"),
        ('principal.hasTag("d") && principal.getTag("d").contains("x")',
         {"claims": further_claims({"d": ["y", "x"]})}, "deny"),
        ('principal.hasTag("d")', {"claims": further_claims({"d": {"x": 1}})}, "allow"),
        ('context.authentication.method == "api_key"', {"method": "api_key"}, "deny"),
        ('context.authentication has acr && context.authentication.acr == "mfa"', {"acr": "mfa"}, "deny"),
        ("context.authentication has age && context.authentication.age > 60", {"auth_time": NOON - 61}, "deny"),
        ("context.authentication has age && context.authentication.age > 60", {"auth_time": NOON - 60}, "allow"),
        ("!(context.authentication has age && context.authentication.age <= 60)", {}, "deny"),
    ],
)  # fmt: skip
def test_attributes_of_the_caller_decide(condition: str, changes: dict[str, Any], expected: str) -> None:
    made = engine(f"forbid (principal, action, resource) when {{ {condition} }};")
    assert effect(made, {"item": "x"}, replace(AGENT, **changes)) == expected


def test_two_callers_of_one_name_in_two_tenants_are_decided_separately() -> None:
    made = engine('forbid (principal == Assent::Agent::"ci", action, resource) when { principal.tenant == "acme" };')
    one = tool()
    for tenant, expected in (("acme", "deny"), ("other", "allow"), ("acme", "deny")):
        assert effect(made, {"item": "x"}, Principal("ci", "agent", tenant), one) == expected


def test_what_is_listed_is_what_a_call_is_not_refused_for_regardless_of_arguments() -> None:
    contracts = {f"tool_{tier}": {"side_effect": tier.value, "category": tier.value[:4]} for tier in Tier}
    world = World(contracts)
    made = engine("""
      @id("a") forbid (principal is Assent::Agent, action, resource is Assent::Tool) when { resource.risk >= 4 };
      @id("b") forbid (principal, action, resource is Assent::Tool)
        when { resource has category && resource.category == "read" }
        unless { principal in Assent::Role::"approver" };
      @id("c") forbid (principal, action, resource is Assent::Tool)
        when { context.time.hour < 24 && resource.tier == "write" };
    """)
    for by in (AGENT, ANN, replace(ANN, roles=frozenset()), replace(AGENT, tenant="t")):
        listed = visible_tools(world.catalogue, by, Rules(policies=made))
        assert listed == [one for one in world.catalogue.tools.values() if not made.judge_tool(by, one).denied]
        assert any(one.name == "tool_write" for one in listed), "the time decides about calls, not about lists"


def test_a_slice_holds_only_what_can_apply_to_the_tool() -> None:
    made = engine("""
      @id("mine") forbid (principal, action == Assent::Action::"order", resource);
      @id("tier") forbid (principal, action in Assent::Action::"destructive", resource);
      @id("server") forbid (principal, action, resource in Assent::Upstream::"elsewhere");
      @id("risk") forbid (principal, action, resource is Assent::Tool)
        when { resource.risk > 3 && principal.has_agent };
      @id("unless") forbid (principal, action, resource is Assent::Tool)
        unless { resource.tier == "write" || principal.has_agent };
      @id("both") forbid (principal, action, resource is Assent::Tool)
        when { resource.tier == "write" || principal.has_agent };
    """)
    assert [one.id for one in made.of_tool(tool()).policies.values()] == ["mine", "both"]


def test_a_policy_without_an_action_covers_resources_unless_it_reads_what_only_tools_have() -> None:
    made = engine("""
      @id("all") forbid (principal, action, resource) when { principal.tenant == "closed" };
      @id("tools") forbid (principal, action, resource is Assent::Tool) when { resource.risk > 0 };
      @id("asks") @effect("approve") forbid (principal, action == Assent::Action::"prompts/get", resource);
    """)
    closed = Principal("x", "agent", "closed")
    read = made.judge_other(closed, "resources/read", "Resource", "a:b", None, NOON)
    assert [one.id for one in read.denied] == ["all"]
    assert made.judge_other(AGENT, "resources/read", "Resource", "a:b", None, NOON).effect == "allow"
    assert made.judge_other(AGENT, "prompts/get", "Prompt", "p", None, NOON).effect == "deny", "nobody can approve it"


@pytest.mark.parametrize(
    "spelling",
    ["FILE:///etc/passwd", "file:///etc/./passwd", "file:///x/../etc/passwd", "file:///%65tc/passwd", "file://///etc//passwd",
     "file:///%2565tc/passwd", "file:///etc\\passwd", " file:///etc/passwd", "file:///etc/passwd#x"],
)  # fmt: skip
def test_other_spellings_of_a_uri_have_one_form(spelling: str) -> None:
    assert normal_uri(spelling) == "file:///etc/passwd"
