"""`assent contract`: contracts as people read them, and the schema editors use."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.contract.yaml_document import YamlDocument, write_yaml
from assent.errors import FaultsError

GOOD = "tools:\n  place_order: {side_effect: external_spend}\n  list_orders: {side_effect: read}\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["contract", *arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(GOOD)
    return path


def test_a_contract_is_shown_with_what_follows_from_its_tier(file: Path) -> None:
    result = run("show", str(file), "--tool", "place_order")
    assert result.exit_code == 0
    assert "critical (4 of 5)" in result.stdout
    assert "list_orders" not in result.stdout


def test_as_json_it_is_a_contract_file_again(file: Path, tmp_path: Path) -> None:
    said = json.loads(run("show", str(file), "--format", "json").stdout)
    again = tmp_path / "again.yaml"
    again.write_text(write_yaml(said))
    assert json.loads(run("show", str(again), "--format", "json").stdout) == said


def test_the_schema_takes_the_file_and_refuses_a_typo() -> None:
    schema = json.loads(run("schema").stdout)
    validator = jsonschema_rs.validator_for(schema)
    assert validator.is_valid(YamlDocument(GOOD).value)
    assert not validator.is_valid(YamlDocument(GOOD.replace("side_effect", "side_efect")).value)


def test_a_tool_without_a_contract_is_named(file: Path) -> None:
    result = run("show", str(file), "--tool", "plase_order")
    assert isinstance(result.exception, FaultsError)
    assert "plase_order" in str(result.exception)


def test_every_fault_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("tools:\n  a: {side_effect: reed}\n  b: {side_effect: read, rsik: low}\n")
    result = run("show", str(path))
    assert isinstance(result.exception, FaultsError)
    assert [(fault.line, fault.field) for fault in result.exception.faults] == [(2, "a.side_effect"), (3, "b.rsik")]


def test_a_name_at_which_nobody_can_look_is_told_in_a_sentence() -> None:
    result = run("show", "x" * 5000)
    assert isinstance(result.exception, FaultsError)
    assert "cannot be read: File name too long" in str(result.exception)


def test_the_schema_of_the_configuration_is_printed() -> None:
    printed = json.loads(run("schema", "--config").output)
    assert printed["title"] == "Assent configuration" and "upstreams" in printed["properties"]


def test_a_contract_is_shown_as_a_profile_reads_it(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("tools: {add_note: {side_effect: write}}")
    by_profile = {one: run("show", str(tmp_path / "c.yaml"), "--profile", one).output for one in ("spec", "closient")}
    assert "Hints" not in run("show", str(tmp_path / "c.yaml")).output
    assert "destructiveHint false" in by_profile["spec"] and "(profile spec)" in by_profile["spec"]
    assert "(profile closient)" in by_profile["closient"] and by_profile["closient"] != by_profile["spec"]
