"""Fields that cannot be read are refused with the field, what was found there, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.reader import read_contract
from assent.errors import ContractError, Fault


def refused(fields: Any, name: Any = "tool") -> list[str]:
    with pytest.raises(ContractError) as caught:
        read_contract(name, fields)
    return [str(fault) for fault in caught.value.faults]


def test_a_contract_without_a_side_effect_is_told_which_there_are() -> None:
    tiers = "Write one of read, compute, write, share_export, external_spend, destructive"
    assert refused({}) == [f"tool.side_effect: it is required. {tiers}"]


@pytest.mark.parametrize(
    ("fields", "field", "remedy"),
    [
        ({"side_efect": "read"}, "side_efect", "Did you mean side_effect?"),
        ({"permission": ["a"]}, "permission", "Did you mean permissions?"),
        ({"riskLevel": "low"}, "riskLevel", "Did you mean risk?"),
        ({"zzz": 1}, "zzz", "Remove it; the fields are title, description, category, category_label, side_effect, "),
        ({"confirmation": {"bye": "user"}}, "confirmation.bye", "Did you mean by?"),
        ({"step_up": {"maxage": "5m"}}, "step_up.maxage", "Did you mean max_age?"),
        ({"idempotency": {"recovry": "none"}}, "idempotency.recovry", "Did you mean recovery?"),
        ({"idempotency": {"lookup": {"tol": "x", "tool": "x"}}}, "idempotency.lookup.tol", "Did you mean tool?"),
        ({"failure_modes": {"x": {"clas": "definite"}}}, "failure_modes.x.clas", "Did you mean class?"),
        (
            {"failure_modes": {"x": {"outcome": "definite"}}},
            "failure_modes.x.outcome",
            "Remove it; the fields are class",
        ),
        ({"dry_run": {"zzz": 1}}, "dry_run.zzz", "Remove it; the fields are mode, argument, within"),
        ({"estimate": {"tool": "a", "amount": "/a", "amont": 1}}, "estimate.amont", "Did you mean amount?"),
        ({"cost": {"amount": "/a", "currencies": 1}}, "cost.currencies", "Did you mean currency?"),
        ({"natural": {"by": ["a"], "untill": "/a"}}, "natural.untill", "Did you mean until?"),
        ({"labels": {"private": True}}, "labels.private", "Did you mean reads_private?"),
        ({"hints": {"readonly": True}}, "hints.readonly", "Did you mean read_only?"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(fields: dict[str, Any], field: str, remedy: str) -> None:
    found = refused({"side_effect": "write", **fields})
    assert len(found) == 1
    assert found[0].startswith(f"tool.{field}: there is no such field. {remedy}")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"side_effect": "wriet"}, "tool.side_effect: 'wriet' is not allowed here. Write 'read', 'compute', 'write', "),
        ({"side_effect": ["read"]}, "tool.side_effect: ['read'] is not allowed here. Write 'read'"),
        ({"side_effect": None}, "tool.side_effect: None is not allowed here. Write 'read'"),
        ({"risk": 4}, "tool.risk: 4 is not allowed here. Write 'low', 'medium', 'high', 'critical' or 'forbidden'"),
        ({"risk": None}, "tool.risk: None is not allowed here. Write 'low'"),
        ({"title": ""}, "tool.title: '' is not allowed here. Write text that is not empty"),
        ({"title": 5}, "tool.title: 5 is not allowed here. Write text"),
        ({"title": None}, "tool.title: None is not allowed here. Write text"),
        (
            {"title": "x" * 2001},
            f"tool.title: '{'x' * 56}... is not allowed here. Write text of at most 2000 characters",
        ),
        ({"title": "\ud800"}, "tool.title: '\\ud800' is not allowed here. Write text"),
        ({"category": "two words"}, "tool.category: 'two words' is not allowed here. Write text without blanks"),
        ({"overwrites": "yes"}, "tool.overwrites: 'yes' is not allowed here. Write true or false"),
        ({"overwrites": 1}, "tool.overwrites: 1 is not allowed here. Write true or false"),
        ({"autonomous": "false"}, "tool.autonomous: 'false' is not allowed here. Write true or false"),
        ({"open_world": 0}, "tool.open_world: 0 is not allowed here. Write true or false"),
        ({"bulk": 0}, "tool.bulk: 0 is not allowed here. Write a number of 1 or more"),
        ({"bulk": "100"}, "tool.bulk: '100' is not allowed here. Write a whole number"),
        ({"bulk": True}, "tool.bulk: True is not allowed here. Write a whole number"),
        ({"bulk": 10.5}, "tool.bulk: 10.5 is not allowed here. Write a whole number"),
        ({"bulk": 2**60}, "tool.bulk: 1152921504606846976 is not allowed here. Write a number of 1000000000 or less"),
        ({"permissions": "orders:write"}, "tool.permissions: a list is expected, such as [one, two]"),
        ({"permissions": {"a", "b"}}, "tool.permissions: a list is expected, such as [one, two]"),
        (
            {"permissions": ["ok", "two words"]},
            "tool.permissions.1: 'two words' is not allowed here. Write text without",
        ),
        ({"permissions": [""]}, "tool.permissions.0: '' is not allowed here. Write text that is not empty"),
        ({"side_effects": "Charges."}, "tool.side_effects: a list is expected"),
        ({"secrets": "/token"}, "tool.secrets: a list is expected"),
        ({"secrets": ["token"]}, "tool.secrets.0: 'token' is not a JSON pointer; write /field or /outer/inner"),
        ({"secrets": ["/a~2"]}, "tool.secrets.0: '/a~2' is not a JSON pointer"),
        ({"secrets": ["/"]}, "tool.secrets.0: '/' is not a JSON pointer"),
        ({"estimate": {"tool": "a", "amount": "price"}}, "tool.estimate.amount: 'price' is not a JSON pointer"),
        ({"estimate": {"amount": "/a"}}, "tool.estimate.tool: it is required. Add it"),
        ({"cost": {"amount": ""}}, "tool.cost.amount: '' is not a JSON pointer"),
        ({"natural": {"by": []}}, "tool.natural.by: [] is not allowed here. Write a list that is not empty"),
        ({"natural": {}}, "tool.natural.by: it is required. Add it"),
        ({"confirmation": "user"}, "tool.confirmation: 'user' is not allowed here. Write a set of fields"),
        ({"confirmation": {"by": "boss"}}, "tool.confirmation.by: 'boss' is not allowed here. Write 'none', 'host', "),
        (
            {"confirmation": {"quorum": 0}},
            "tool.confirmation.quorum: 0 is not allowed here. Write a number of 1 or more",
        ),
        (
            {"confirmation": {"quorum": 21}},
            "tool.confirmation.quorum: 21 is not allowed here. Write a number of 20 or less",
        ),
        (
            {"confirmation": {"expires": "15"}},
            "tool.confirmation.expires: '15' is not a duration; write a whole number",
        ),
        ({"confirmation": {"expires": "15 m"}}, "tool.confirmation.expires: '15 m' is not a duration"),
        ({"confirmation": {"expires": 0}}, "tool.confirmation.expires: 0 is not a duration between a second and"),
        (
            {"confirmation": {"expires": 1.5}},
            "tool.confirmation.expires: a duration must be a whole number and s, m, h or d",
        ),
        ({"confirmation": {"expires": True}}, "tool.confirmation.expires: a duration must be a whole number"),
        (
            {"confirmation": {"expires": "999999999d"}},
            "tool.confirmation.expires: 999999999d is not a duration between",
        ),
        ({"step_up": {"max_age": "never"}}, "tool.step_up.max_age: 'never' is not a duration"),
        (
            {"step_up": {"max_age": 1, "when": "9**9**9"}},
            "tool.step_up.when: '9 ** 9 ** 9' is not allowed in a condition",
        ),
        ({"step_up": {"max_age": 1, "when": "a >"}}, "tool.step_up.when: 'a >' is not an expression"),
        ({"step_up": {"max_age": 1, "when": ""}}, "tool.step_up.when: '' is not allowed here. Write text that is not"),
        ({"step_up": {"max_age": 1, "when": True}}, "tool.step_up.when: True is not allowed here. Write text"),
        (
            {"failure_modes": {"Card": {}}},
            "tool.failure_modes.Card: 'Card' is not allowed here. Write a code of lower-case",
        ),
        ({"failure_modes": ["a"]}, "tool.failure_modes: ['a'] is not allowed here. Write a set of fields"),
        (
            {"failure_modes": {"a": {"status": 200}}},
            "tool.failure_modes.a.status: 200 is not allowed here. Write a number of",
        ),
        (
            {"failure_modes": {"a": {"class": "x"}}},
            "tool.failure_modes.a.class: 'x' is not allowed here. Write 'no_effect'",
        ),
        (
            {"idempotency": {"recovery": "retry"}},
            "tool.idempotency.recovery: 'retry' is not allowed here. Write 'none', ",
        ),
        (
            {"idempotency": {"key": "yes"}},
            "tool.idempotency.key: 'yes' is not allowed here. Write 'required', 'optional'",
        ),
        ({"idempotency": {"argument": ""}}, "tool.idempotency.argument: '' is not allowed here"),
        ({"idempotency": 5}, "tool.idempotency: 5 is not allowed here. Write a set of fields"),
        ({"dry_run": True}, "tool.dry_run: True is not allowed here. Write a set of fields"),
        ({"dry_run": {"mode": "maybe"}}, "tool.dry_run.mode: 'maybe' is not allowed here"),
        (
            {"visibility": "secret"},
            "tool.visibility: 'secret' is not allowed here. Write 'scoped', 'locked' or 'hidden'",
        ),
        ({"activity": "{item!r}"}, "tool.activity: only {argument} placeholders are allowed"),
        ({"activity": "{item:>99999999}"}, "tool.activity: only {argument} placeholders are allowed"),
        ({"activity": "{0.__class__}"}, "tool.activity: only {argument} placeholders are allowed"),
        ({"activity": "{item"}, "tool.activity: only {argument} placeholders are allowed"),
        ({"activity": "{}"}, "tool.activity: only {argument} placeholders are allowed"),
        ({"labels": {"public_sink": "no"}}, "tool.labels.public_sink: 'no' is not allowed here. Write true or false"),
        ({"hints": {"idempotent": "maybe"}}, "tool.hints.idempotent: 'maybe' is not allowed here. Write true or false"),
        ({"meta": 5}, "tool.meta: an object is expected, not 5"),
        ({"meta": {"n": float("nan")}}, "tool.meta: it is not plain JSON: nan is not representable"),
        ({"meta": {"n": 2**53}}, "tool.meta: it is not plain JSON: an integer is beyond ±(2^53-1)"),
        ({"meta": {"o": object()}}, "tool.meta: it is not plain JSON: "),
        ({"meta": {1: 2}}, "tool.meta: it is not plain JSON: "),
    ],
)
def test_a_value_that_does_not_fit_is_shown_with_what_would(fields: dict[str, Any], message: str) -> None:
    found = refused({"side_effect": "write", **fields})
    assert len(found) == 1
    assert found[0].startswith(message)


@pytest.mark.parametrize("field", ["input", "output"])
@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (True, "an object is expected, not True"),
        ("object", "an object is expected, not 'object'"),
        ([], "an object is expected, not []"),
        ({"type": "object", "properties": {"a": {"type": "strin"}}}, "it is not a JSON Schema: "),
        ({"properties": []}, "it is not a JSON Schema: "),
        ({"required": "a"}, "it is not a JSON Schema: "),
        ({"properties": {"a": {"pattern": "("}}}, "it is not a JSON Schema: "),
        (
            {"$schema": "https://example.com/none"},
            "it refers to https://example.com/none, which is outside the document",
        ),
        ({"$ref": "#/$defs/none"}, "it is not a JSON Schema: "),
        (
            {"$ref": "https://example.com/schema.json"},
            "it refers to https://example.com/schema.json, which is outside the document",
        ),
        ({"$ref": "file:///etc/passwd"}, "it refers to file:///etc/passwd, which is outside the document"),
        ({"properties": {"a": {"maximum": 2**63}}}, "it is not plain JSON: an integer is beyond"),
        ({"properties": {"a": {"default": {1, 2}}}}, "it is not plain JSON: "),
    ],
)
def test_what_is_no_json_schema_is_refused_when_the_contract_is_read(field: str, schema: Any, reason: str) -> None:
    found = refused({"side_effect": "write", field: schema})
    assert len(found) == 1
    assert found[0].startswith(f"tool.{field}: {reason}")
    assert found[0].endswith(". Correct the schema")


def test_a_schema_of_arguments_is_one_of_an_object() -> None:
    assert refused({"side_effect": "read", "input": {"type": "string"}}) == [
        "tool.input: a tool's arguments must be an object: its schema needs type: object. Correct the schema"
    ]
    made = read_contract("tool", {"side_effect": "read", "input": {}, "output": {"type": "string"}})
    assert (made.input, made.output) == ({}, {"type": "string"})


@pytest.mark.parametrize("name", ["", "two words", "ü", "a/b", "a\n", "x" * 129, "\u202etool"])
def test_a_bad_name_is_one_fault_and_is_told_what_a_name_is(name: str) -> None:
    found = refused({"side_effect": "read"}, name)
    assert len(found) == 1
    assert "Write a tool name: 1 to 128 letters, digits, underscores, dots and hyphens" in found[0]


def test_fields_whose_names_are_not_text_are_refused() -> None:
    assert refused({"side_effect": "read", 1: 2}) == ["tool: field names must be text, not 1. Correct it"]


def test_all_faults_of_a_contract_are_told_at_once_and_nothing_that_only_follows_from_them() -> None:
    found = refused({"side_effect": "wrote", "risk": "hihg", "titel": "x", "confirmation": {"by": "boss"}, "bulk": 0})
    assert [line.split(":")[0] for line in found] == [
        "tool.side_effect",
        "tool.risk",
        "tool.confirmation.by",
        "tool.bulk",
        "tool.titel",
    ]


def test_a_huge_value_is_shown_shortened() -> None:
    for fields in ({"risk": "x" * 10**6}, {"bulk": ["x"] * 10**5}, {"meta": "x" * 10**6}, {"secrets": ["x" * 10**6]}):
        assert len(refused({"side_effect": "read", **fields})[0]) < 300


def test_a_fault_reads_as_place_field_message_and_remedy() -> None:
    assert (
        str(Fault("it is wrong", "Correct it", "tool.risk", "a.yaml", 3))
        == "a.yaml:3: tool.risk: it is wrong. Correct it"
    )
    assert str(Fault("it is wrong")) == "it is wrong"
