"""Editors check contract files with a schema that agrees with the loader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from assent.contract.schema import contract_schema
from assent.errors import ContractError
from support.documents.contract_examples import FULL, FULL_YAML, RISKS, TIERS, contract_with, parse_contracts

SCHEMA = contract_schema()
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)


def file_of(**fields: Any) -> dict[str, Any]:
    return {"tools": {"tool": {"side_effect": "write", **fields}}}


def loads(document: Any) -> bool:
    try:
        parse_contracts(json.dumps(document))
    except ContractError:
        return False
    return True


def schemas(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property's schema with its path."""
    for name, schema in node.get("properties", {}).items():
        yield f"{path}/{name}", schema
        yield from schemas(schema, f"{path}/{name}")


def test_it_is_a_schema_of_the_2020_12_draft() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert jsonschema_rs.meta.is_valid(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_the_full_example_validates() -> None:
    assert VALIDATOR.is_valid({"tools": {"place_order": FULL}})
    assert set(SCHEMA["$defs"]["Contract"]["properties"]) == {*FULL, "meta"}
    assert parse_contracts(FULL_YAML)


def test_only_the_side_effect_is_required() -> None:
    assert SCHEMA["$defs"]["Contract"]["required"] == ["side_effect"]
    assert VALIDATOR.is_valid({"tools": {"a": {"side_effect": "read"}}})
    assert not VALIDATOR.is_valid({"tools": {"a": {}}})


def test_every_field_is_described_for_people() -> None:
    places = [SCHEMA, *SCHEMA["$defs"].values()]
    found = [item for place in places for item in schemas(place)]
    assert len(found) > 60
    assert [path for path, schema in found if not schema.get("description")] == []
    assert [name for name, schema in SCHEMA["$defs"].items() if not schema.get("description")] == []


def test_nothing_generated_is_left_over() -> None:
    text = json.dumps(SCHEMA)
    assert text.count('"title": "') == 1
    assert '"default": null' not in text
    for leftover in ("pydantic", "Side Effect", "function-", "assent.contract"):
        assert leftover not in text


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("risk", RISKS)
def test_whatever_the_loader_writes_the_schema_accepts(tier: str, risk: str) -> None:
    assert VALIDATOR.is_valid({"tools": {"tool": contract_with("tool", tier, risk=risk).as_json()}})


GOOD: list[Any] = [
    {"tools": {}},
    file_of(description=None, step_up=None, bulk=None, category=None, labels={}, hints={}),
    file_of(confirmation={"by": "approver", "quorum": 20, "expires": 3600}),
    file_of(step_up={"max_age": "5m", "when": "amount > 100"}),
    file_of(idempotency={"recovery": "reconcile", "lookup": {"tool": "get", "by": ["id"], "status": "/state"}}),
    file_of(failure_modes={"a.b_c-d": {}, "x": {"title": "X", "status": 599}}),
    file_of(secrets=["/a~1b/*/c"], meta={"x-any": [1, {"deep": None}]}),
    file_of(input={}, output={"type": "string"}),
    file_of(activity="{a} and {b.c.0}"),
    {"tools": {"x" * 128: {"side_effect": "read"}}},
]
WRONG: list[Any] = [
    None,
    [],
    {},
    {"tools": []},
    {"tools": {}, "version": 1},
    {"tools": {"a b": {"side_effect": "read"}}},
    {"tools": {"": {"side_effect": "read"}}},
    {"tools": {"x" * 129: {"side_effect": "read"}}},
    {"tools": {"a": None}},
    {"tools": {"a": {"side_effect": "reed"}}},
    file_of(name="b"),
    file_of(side_efect="read"),
    file_of(risk="hihg"),
    file_of(risk=None),
    file_of(title=""),
    file_of(overwrites="yes"),
    file_of(overwrites=1),
    file_of(autonomous=None),
    file_of(bulk=0),
    file_of(bulk="5"),
    file_of(bulk=2**40),
    file_of(permissions="orders:write"),
    file_of(permissions=["two words"]),
    file_of(confirmation="user"),
    file_of(confirmation={"by": "boss"}),
    file_of(confirmation={"bye": "user"}),
    file_of(confirmation={"quorum": 21}),
    file_of(confirmation={"expires": "15 minutes"}),
    file_of(confirmation={"expires": 0}),
    file_of(confirmation={"expires": 1.5}),
    file_of(step_up={"max_age": "5m", "when": ""}),
    file_of(failure_modes={"Upper": {}}),
    file_of(failure_modes={"x": {"status": 200}}),
    file_of(failure_modes={"x": {"outcome": "definite"}}),
    file_of(idempotency={"recovery": "again"}),
    file_of(idempotency={"lookup": {}}),
    file_of(dry_run=True),
    file_of(estimate={"tool": "x"}),
    file_of(cost={"amount": "amount"}),
    file_of(natural={"by": []}),
    file_of(secrets=["token"]),
    file_of(secrets=["/a~2"]),
    file_of(visibility="secret"),
    file_of(labels={"public": True}),
    file_of(hints={"idempotent": "true"}),
    file_of(input=True),
    file_of(input="object"),
    file_of(meta=[]),
]


@pytest.mark.parametrize("document", GOOD, ids=str)
def test_what_the_loader_takes_the_schema_takes(document: Any) -> None:
    assert (loads(document), VALIDATOR.is_valid(document)) == (True, True)


@pytest.mark.parametrize("document", WRONG, ids=lambda document: str(document)[:80])
def test_what_the_schema_refuses_the_loader_refuses(document: Any) -> None:
    assert (loads(document), VALIDATOR.is_valid(document)) == (False, False)


@pytest.mark.parametrize(
    "document",
    [
        file_of(side_effect="read", overwrites=True),
        file_of(step_up={"max_age": "5m", "when": "9**9"}),
        file_of(activity="{a!r}"),
        file_of(input={"type": "strin"}),
        file_of(confirmation={"expires": "36601d"}),
    ],
    ids=str,
)
def test_what_only_the_loader_knows_the_schema_lets_pass(document: Any) -> None:
    assert (loads(document), VALIDATOR.is_valid(document)) == (False, True)
