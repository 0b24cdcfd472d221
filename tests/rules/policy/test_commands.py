"""`assent policy check | explain | test | diff` as an operator uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from assent.cli import cli

ORDER = {
    "type": "object",
    "properties": {
        "item": {"type": "string"},
        "amount": {"type": "number"},
        "to": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["item", "amount"],
}  # fmt: skip
TOOLS = {
    "place_order": {"side_effect": "external_spend", "input": ORDER},
    "delete_order": {"side_effect": "destructive"},
    "list_orders": {"side_effect": "read"},
}
RULES = """
@id("no-deletes") @reason("Agents never delete.")
forbid (principal is Assent::Agent, action in Assent::Action::"destructive", resource);
@id("large") @effect("approve")
forbid (principal, action == Assent::Action::"place_order", resource)
when { context.input.amount.greaterThan(decimal("100.0")) };
@id("no-etc") forbid (principal, action == Assent::Action::"resources/read", resource)
when { resource.uri like "file:///etc/*" };
"""


@pytest.fixture
def folder(tmp_path: Path, trusted_folder: Path) -> Path:
    (tmp_path / "rules.cedar").write_text(RULES)
    (tmp_path / "contracts.yaml").write_text(yaml.safe_dump({"tools": TOOLS}))
    keys = [{"name": "ci", "key": "12345678", "kind": "agent", "scopes": ["*"]}]
    settings = {
        "store": "memory://",
        "contracts": ["contracts.yaml"],
        "policies": ["rules.cedar"],
        "auth": {"api_keys": keys},
        "secrets": {"directory": str(tmp_path / "keys")},
    }
    (tmp_path / "assent.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path


def run(*arguments: str, given: Any = None) -> Result:
    return CliRunner().invoke(cli, ["policy", *arguments], input=json.dumps(given) if given is not None else None)


def test_check_says_what_each_policy_applies_to(folder: Path) -> None:
    ran = run("check", "--json")
    assert ran.exit_code == 0, ran.output
    found = {one["id"]: one for one in json.loads(ran.stdout)["policies"]}
    assert found["no-deletes"]["tools"] == ["delete_order"]
    assert (found["large"]["decides"], found["no-deletes"]["decides"]) == ("each call", "what is listed")
    assert found["no-etc"]["requests"] == ["resources/read (Resource)"]
    text = run("check").stdout
    assert "applies to 1 tool: delete_order" in text
    assert "rules.cedar:2" in text


def test_check_finds_a_policy_that_applies_to_nothing(folder: Path) -> None:
    (folder / "rules.cedar").write_text(
        '@id("idle") forbid (principal, action in Assent::Action::"compute", resource);'
    )
    ran = run("check")
    assert ran.exit_code == 1
    assert "NOTHING" in ran.stdout


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("forbid (principal, action, resource) when { 1 + };", "rules.cedar:1"),
        ('forbid (principal, action == Assent::Action::"place_orders", resource);', "Did you mean place_order?"),
        ('forbid (principal, action, resource in Assent::Upstream::"shop");', "there is no upstream"),
    ],
)
def test_a_broken_policy_stops_every_command_with_its_place(folder: Path, rule: str, says: str) -> None:
    (folder / "rules.cedar").write_text(rule)
    ran = run("check")
    assert ran.exception is not None
    assert says in str(ran.exception)


def test_explain_shows_the_deciding_policy_with_its_text(folder: Path) -> None:
    ran = run("explain", "--as", "ci", given={"tool": "delete_order"})
    assert ran.exit_code == 1
    assert ran.stdout.startswith("deny: delete_order by ci")
    assert "Agents never delete." in ran.stdout
    assert 'forbid (principal is Assent::Agent, action in Assent::Action::"destructive", resource);' in ran.stdout
    allowed = run("explain", "--as", "ci", given={"tool": "place_order", "arguments": {"item": "x", "amount": 100}})
    assert (allowed.exit_code, "Did not match: large" in allowed.stdout) == (0, True)


def test_decide_shows_what_policies_decide(folder: Path) -> None:
    request = json.dumps({"tool": "delete_order"})
    ran = CliRunner().invoke(cli, ["decide", "--as", "ci", "--format", "json"], input=request)
    found = json.loads(ran.stdout)
    assert found["code"] == "guard.policy_denied"
    (stage,) = [one for one in found["stages"] if one["stage"] == "authorize"]
    assert "no-deletes" in stage["reason"]


def test_cases_hold_or_say_what_was_decided(folder: Path) -> None:
    cases = {
        "principals": {"bob": {"kind": "human"}},
        "cases": [
            {"name": "a", "principal": "ci", "tool": "delete_order", "expect": "deny", "policy": "no-deletes"},
            {"name": "b", "principal": "bob", "tool": "delete_order", "expect": "allow"},
            {"name": "c", "principal": {"kind": "agent"}, "tool": "place_order", "expect": "approve",
             "arguments": {"item": "x", "amount": 101}},
            {"name": "d", "principal": "bob", "resource": "file:///x/../etc/passwd", "expect": "deny"},
            {"name": "wrong", "principal": "bob", "prompt": "p", "expect": "deny"},
        ],
    }  # fmt: skip
    (folder / "cases.yaml").write_text(yaml.safe_dump(cases))
    ran = run("test", "cases.yaml")
    assert ran.exit_code == 1
    assert "5 cases, 1 failed" in ran.stderr
    assert "wrong\n    expected deny, decided allow" in ran.stdout


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ({"tool": "place_order", "arguments": {"item": 5, "amount": 1}}, "must be of type string"),
        ({"tool": "no_such"}, "there is no tool"),
        ({"tool": "delete_order", "resource": "a:b"}, "exactly one of"),
        ({"tool": "delete_order", "principal": "nobody"}, "no principal has the name"),
    ],
)
def test_a_case_that_cannot_be_run_says_where_it_is(folder: Path, case: dict[str, Any], says: str) -> None:
    whole = {"name": "a", "principal": "ci", "expect": "deny", **case}
    (folder / "cases.yaml").write_text(yaml.safe_dump({"cases": [whole]}))
    ran = run("test", "cases.yaml")
    assert says in str(ran.exception)
    assert "cases.yaml:" in str(ran.exception)


def changed(folder: Path, *pairs: tuple[str, str], more: str = "") -> list[dict[str, Any]]:
    text = RULES
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (folder / "new.cedar").write_text(text + more)
    ran = run("diff", "rules.cedar", "new.cedar", "--json")
    found = json.loads(ran.stdout)
    assert ran.exit_code == (1 if found["differences"] else 0)
    assert found["complete"]
    return [
        {**one["example"], "from": one["before"]["decision"], "to": one["after"]["decision"]}
        for one in found["differences"]
    ]


def test_equal_policies_have_no_counterexample(folder: Path) -> None:
    assert changed(folder, ("forbid (principal, ", "forbid(principal,")) == []


def test_a_raised_limit_is_shown_by_the_smallest_amount_above_the_old_one(folder: Path) -> None:
    (one,) = changed(folder, ('decimal("100.0")', 'decimal("250.0")'))
    assert (one["from"], one["to"], one["arguments"]["amount"]) == ("approve", "allow", 100.0001)
    assert one["kind"] == "agent"
    assert one["mode"] == "live"


def test_a_lowered_limit_is_shown_by_an_amount_between(folder: Path) -> None:
    (one,) = changed(folder, ('decimal("100.0")', 'decimal("50.0")'))
    assert (one["from"], one["to"]) == ("allow", "approve")
    assert 50 < one["arguments"]["amount"] <= 100


def test_a_wider_scope_is_shown_by_the_kind_of_caller_that_is_new(folder: Path) -> None:
    (one,) = changed(folder, ("principal is Assent::Agent, action in", "principal, action in"))
    assert (one["from"], one["to"], one["tool"]) == ("allow", "deny", "delete_order")
    assert one["kind"] in ("human", "service")


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ('when { principal in Assent::Group::"night" }', ("principal.groups", "night")),
        ('when { principal.roles.contains("auditor") }', ("role", "auditor")),
        ('when { principal.tenant == "acme" }', ("principal.tenant", "acme")),
        ('when { principal == Assent::Service::"cron" }', ("principal.id", "cron")),
        ('when { principal.hasTag("d") && principal.getTag("d").contains("x") }', ("principal.claims.d", "x")),
        ('when { context.mode == "test" }', ("mode", "test")),
        ("when { context.time.hour == 3 && context.time.weekday == 6 }", ("context.time", "2026-01-10 03:00:00+00:00")),
        ('when { context.time.now > datetime("2030-01-01") }', ("context.time", "2030-01-01 00:00:01+00:00")),
        ("when { context.authentication has age && context.authentication.age > 60 }",
         ("context.authentication.age", "61")),
        ('when { context.authentication has acr && context.authentication.acr == "mfa" }',
         ("context.authentication.acr", "mfa")),
        ('when { context.input has to && context.input.to.contains("eve") }',
         ("arguments", {"item": "", "amount": 0, "to": ["eve"]})),
        ('when { context.input.item like "se*et" }', ("arguments", {"item": "seet", "amount": 0})),
    ],
)  # fmt: skip
def test_a_new_condition_is_shown_by_a_request_that_meets_it(
    folder: Path, condition: str, shown: tuple[str, Any]
) -> None:
    more = f'@id("new") forbid (principal, action == Assent::Action::"place_order", resource) {condition};'
    (one,) = [one for one in changed(folder, more=more) if one["from"] == "allow"]
    assert (one["to"], one["tool"]) == ("deny", "place_order")
    assert one[shown[0]] == shown[1]


def test_a_tier_that_no_tool_has_is_tried_as_well(folder: Path) -> None:
    (one,) = changed(folder, more='@id("new") forbid (principal, action in Assent::Action::"compute", resource);')
    assert one["tool"].startswith("any.compute.")


def test_resources_and_prompts_are_compared(folder: Path) -> None:
    (one,) = changed(folder, ("file:///etc/*", "file:///srv/*"), more="")[:1]
    assert one["request"] == "resources/read"
    assert one["uri"].startswith(("file:///etc/", "file:///srv/"))


def test_a_change_fits_on_one_screen(folder: Path) -> None:
    more = '@id("new") forbid (principal, action, resource) when { principal.tenant == "closed" };'
    (folder / "new.cedar").write_text(RULES.replace("100.0", "50.0") + more)
    lines = run("diff", "rules.cedar", "new.cedar").stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 160


def test_two_configurations_are_compared_with_their_own_contracts(folder: Path) -> None:
    lighter = {**TOOLS, "delete_order": {"side_effect": "write"}}
    (folder / "other.yaml").write_text(yaml.safe_dump({"tools": lighter}))
    text = (folder / "assent.yaml").read_text().replace("contracts.yaml", "other.yaml")
    (folder / "new.yaml").write_text(text)
    ran = run("diff", "assent.yaml", "new.yaml", "--json")
    (one,) = json.loads(ran.stdout)["differences"]
    assert (one["before"]["decision"], one["after"]["decision"]) == ("deny", "allow")
    assert one["example"]["tool"] == "delete_order"
