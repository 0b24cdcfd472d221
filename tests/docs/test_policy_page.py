"""Is what the page on policies shows what the program takes?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from assent.cli import cli
from assent.config.load import parse_settings
from assent.rules.policy.schema import reference_table

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "policy.md").read_text("utf-8")
CEDAR = re.findall(r"```cedar\n(.*?)```", PAGE, re.DOTALL)
YAML = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
AMOUNT = {"type": "object", "properties": {"amount": {"type": "number"}}}
TOOLS = {
    "place_order": {"side_effect": "external_spend", "input": AMOUNT},
    "refund": {"side_effect": "write", "input": {**AMOUNT, "required": ["amount"]}},
    "delete_order": {
        "side_effect": "destructive",
        "input": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    },
    "export": {"side_effect": "share_export"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "agents.cedar").write_text("\n".join(CEDAR))
    billing = {"upstream": "billing", "tools": {"list_invoices": {"side_effect": "read"}}}
    contracts = {"sections": [{"upstream": "shop", "tools": TOOLS}, billing]}
    (tmp_path / "contracts.yaml").write_text(yaml.safe_dump(contracts))
    absent = {"command": ["no-such-program-of-this-name"], "prefix": ""}
    settings = {
        "store": "memory://",
        "policies": ["policies/*.cedar"],
        "contracts": ["contracts.yaml"],
        "upstreams": {"billing": absent, "shop": absent},
    }
    (tmp_path / "assent.yaml").write_text(yaml.safe_dump(settings))
    (tmp_path / "cases.yaml").write_text(next(block for block in YAML if "cases:" in block))
    return tmp_path


def test_the_table_of_attributes_is_the_schema_and_the_page_leads_to_it() -> None:
    assert reference_table() in (DOCS / "reference" / "policy.md").read_text("utf-8")
    assert "(reference/policy.md#attributes)" in PAGE


def test_the_settings_shown_are_settings() -> None:
    assert parse_settings(YAML[0]).policies == ("policies/*.cedar",)


def test_every_policy_shown_fits_and_applies_to_something(folder: Path) -> None:
    ran = CliRunner().invoke(cli, ["policy", "check", "-c", str(folder / "assent.yaml"), "--json"])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert len(found["policies"]) == len(re.findall(r"^@id", "\n".join(CEDAR), re.MULTILINE)) == 8


def test_the_cases_shown_hold(folder: Path) -> None:
    config = str(folder / "assent.yaml")
    ran = CliRunner().invoke(cli, ["policy", "test", str(folder / "cases.yaml"), "-c", config])
    assert ran.exit_code == 0, ran.output
    assert "4 cases, 0 failed" in ran.stderr


@pytest.mark.parametrize("name", ["missing", "missing.yaml"])
def test_a_side_of_a_comparison_that_does_not_exist_is_named_with_what_it_may_be(folder: Path, name: str) -> None:
    for sides in ((name, "policies/"), (str(folder / "assent.yaml"), name)):
        ran = CliRunner().invoke(cli, ["policy", "diff", *sides, "-c", str(folder / "assent.yaml")])
        assert str(ran.exception).startswith(f"{name}: ")
        assert str(ran.exception).endswith("Correct the path: OLD and NEW are configurations (.yaml) or policies"
                                           " (a file, a folder, a pattern)")  # fmt: skip


def test_a_changed_limit_shows_as_on_the_page(folder: Path) -> None:
    (folder / "new").mkdir()
    (folder / "new" / "agents.cedar").write_text("\n".join(CEDAR).replace('decimal("100.0")', 'decimal("200.0")'))
    config = str(folder / "assent.yaml")
    ran = CliRunner().invoke(cli, ["policy", "diff", str(folder / "policies"), str(folder / "new"), "-c", config])
    assert ran.exit_code == 1, ran.output
    shown = re.search(r"^approve \(large-refunds\).*?live$", PAGE, re.DOTALL | re.MULTILINE)
    assert shown is not None
    assert shown[0] in ran.stdout
