"""Reading policy files: every fault has its file and line, and nothing is ignored silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from assent.errors import SettingsError
from assent.rules.policy.engine import PolicyEngine
from assent.rules.policy.source import load_policies, parse_policies, policies_digest, policy_paths
from assent.testing import World

TOOLS = World(
    {
        "pay": {
            "side_effect": "external_spend",
            "input": {
                "type": "object",
                "properties": {"amount": {"type": "number"}, "note": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["amount"],
            },
        }
    }
).catalogue.tools.values()


def faults_of(text: str) -> list[str]:
    try:
        engine = PolicyEngine(parse_policies(text, "rules.cedar"))
    except SettingsError as error:
        return [str(fault) for fault in error.faults]
    return [str(fault) for fault in engine.faults or engine.faults_of(TOOLS)]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("forbid (principal, action, resource) when {\n  1 +\n};", 3, "unexpected token"),
        ("\n\nforbid (principal, action resource);", 3, "unexpected token"),
        ("forbid (principal, action, resource)", 1, "unexpected end of input"),
        ("forbid (principal, action, resource) when {\n  frobnicate(1) };", 2, "frobnicate"),
        ("forbid (principal == ?principal, action, resource);", 1, "?principal"),
        ("// a comment; with a semicolon\npermit (principal is Assent::Agent, action, resource);", 2, "permit"),
        ("permit (principal, action, resource) when { true };", 1, "permit"),
        ('@effect("ask")\nforbid (principal, action, resource);', 1, "@effect"),
        ('@by("user")\nforbid (principal, action, resource);', 1, "@by"),
        ('@effect("approve") @by("boss")\nforbid (principal, action, resource);', 1, "@by"),
        ('@id("a\\nb")\nforbid (principal, action, resource);', 1, "@id"),
        (
            '@id("a") forbid (principal, action, resource);\n@id("a") forbid (principal, action, resource);',
            2,
            "this id",
        ),
        ("forbid (principal is Assent::Robot, action, resource);", 1, "Assent::Robot"),
        ("forbid (principal is Agent, action, resource);", 1, "Assent::Agent"),
        ("forbid (principal, action, resource) when {\n  resource.tire == 1 };", 2, "tire"),
        ("forbid (principal, action, resource) when {\n  principal.group == 1 };", 2, "group"),
        ("forbid (principal, action, resource is Assent::Tool) when {\n  context.input.sum == 1 };", 2, "input.sum"),
        (
            "forbid (principal, action, resource is Assent::Tool) when {\n  context.input.count > 1 };",
            2,
            "may be absent",
        ),
        ("forbid (principal, action, resource is Assent::Tool) when {\n  context.input.amount > 1 };", 1, "decimal"),
        ("forbid (principal, action, resource) when { context.authentication.age > 1 };", 1, "has age"),
        (
            'forbid (principal, action == Assent::Action::"resources/read", resource) when {\n resource.risk > 1 };',
            2,
            "risk",
        ),
        ('forbid (principal, action == Assent::Action::"prompts/get", resource is Assent::Resource);', 1, "no request"),
        ('forbid (principal, action, resource) when { decimal("1.23456") == decimal("1.0") };', 1, "decimal"),
    ],
)
def test_a_fault_names_file_line_and_reason(text: str, line: int, says: str) -> None:
    found = faults_of(text)
    assert found, "it must be refused"
    assert found[0].startswith(f"rules.cedar:{line}:"), found
    assert says in found[0]


def test_an_unknown_attribute_is_told_once_with_what_to_write() -> None:
    found = faults_of('forbid (principal, action, resource) when { principal.kind == "agent" && resource.riks == 4 };')
    assert found == [
        "rules.cedar:1: `principal` has no attribute `kind`. "
        "Write `principal is Assent::Agent` (or Person, Service), or `principal.has_agent`",
        "rules.cedar:1: a tool has no attribute `riks`. Did you mean `risk`?",
    ]
    (other,) = faults_of('@id("a") forbid (principal, action, resource) when { context.xyz };')
    assert other.startswith("rules.cedar:1: a: `context` has no attribute `xyz`. It has tenant, mode, ")


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.cedar").write_text("forbid (principal);\nforbid (action);")
    (tmp_path / "b.cedar").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError) as caught:
        load_policies(policy_paths([tmp_path]))
    assert [Path(one.file).name for one in caught.value.faults] == ["a.cedar", "a.cedar", "b.cedar"]


def test_a_pattern_without_a_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no policy file"):
        policy_paths([str(tmp_path / "*.cedar")])


def test_a_permit_for_everything_states_the_default() -> None:
    assert parse_policies("permit (principal, action, resource);") == []


def test_strings_and_comments_do_not_end_a_policy() -> None:
    text = '@reason("a; b // c") // d;\nforbid (principal, action, resource) when { context.tenant == "\\";" };'
    (policy,) = parse_policies(text)
    assert policy.reason == "a; b // c"


def test_the_digest_ignores_layout_comments_and_order_but_not_what_a_policy_says() -> None:
    one, two = (
        'forbid (principal, action, resource) when { context.mode == "live" };',
        '@id("x") forbid (principal, action, resource);',
    )
    same = policies_digest(parse_policies(f"// c\n{two}\n\n{one.replace(' when', chr(10) + 'when')}"))
    assert policies_digest(parse_policies(one + two)) == same
    assert policies_digest(parse_policies(one.replace("live", "test") + two)) != same
    assert policies_digest(parse_policies(one + '@reason("r")' + two)) != same
    assert policies_digest(parse_policies(one + '@effect("approve")' + two)) != same
