"""Tables of tool definitions with the verdicts that they must get."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from assent.contract.infer import classify

TABLES = sorted(Path(__file__).with_name("verdicts").glob("*.yaml"))
GROUPS = [
    pytest.param(group, id=f"{table.stem}: {group['title']}")
    for table in TABLES
    for group in YAML(typ="safe", pure=True).load(table)
]


def definition(name: str, description: str = "", parameters: dict[str, Any] | None = None) -> dict[str, Any]:
    """The definition that a row of a table stands for."""
    schemas = {key: schema(value) for key, value in (parameters or {}).items()}
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": schemas}}


def schema(value: Any) -> Any:
    if value == "any":
        return {}
    return {"type": value} if isinstance(value, str) else value


@pytest.mark.parametrize("group", GROUPS)
def test_every_tool_of_a_group_gets_the_expected_verdict(group: dict[str, Any]) -> None:
    wrong = {}
    for row in group["tools"]:
        found = classify(definition(*row)).as_json()
        got = {key: found[key] for key in group["expect"]}
        if got != group["expect"]:
            wrong[row[0]] = (got, found["reasons"])
    assert not wrong


def test_no_tool_is_in_two_groups_with_different_expectations() -> None:
    expected: dict[str, dict[str, Any]] = {}
    for group in (parameter.values[0] for parameter in GROUPS):
        assert isinstance(group, dict)
        for row in group["tools"]:
            known = expected.setdefault(repr(row), {})
            clashing = {key for key, value in group["expect"].items() if known.get(key, value) != value}
            assert not clashing, row
            known.update(group["expect"])
