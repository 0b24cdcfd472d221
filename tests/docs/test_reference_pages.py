"""The reference pages are what the code says, and say something about every key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from docs.site.reference.keys import ReferenceKey, keys_of
from docs.site.reference.pages import PAGES, SECTIONS

from assent.config.load import parse_settings
from assent.config.schema import settings_schema
from assent.contract.schema import contract_schema
from assent.errors import SettingsError

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    text = (REFERENCE / name).read_text(encoding="utf-8")
    assert text == PAGES[name](), "run: make docs-reference"


def test_no_page_is_left_over() -> None:
    assert {path.name for path in REFERENCE.iterdir()} == set(PAGES)


def test_one_command_writes_all_pages_and_checks_them(tmp_path: Path) -> None:
    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "docs.site.reference", str(tmp_path), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run("--check").returncode == 1
    assert run().returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == set(PAGES)
    assert run("--check").returncode == 0


def keys(schema: dict[str, Any]) -> list[ReferenceKey]:
    return list(keys_of(schema, schema["$defs"]))


def test_every_key_at_the_top_of_the_configuration_is_in_one_section() -> None:
    named = [key for _, keys in SECTIONS.values() for key in keys]
    assert sorted(named) == sorted(settings_schema()["properties"])
    rows = (REFERENCE / "configuration.md").read_text("utf-8").count("\n| `")
    titled = (REFERENCE / "configuration.md").read_text("utf-8").count("\n### `")
    assert rows + titled == len(keys(settings_schema())), "a key is a row, or the title of its own table"


def test_every_key_of_the_configuration_has_a_type_and_a_sentence() -> None:
    found = keys(settings_schema())
    assert len(found) > 100
    assert [key.path for key in found if not key.sentence.endswith(".") or not key.type] == []


def test_every_field_of_a_contract_has_a_type_and_a_sentence() -> None:
    schema = contract_schema()
    found = keys({**schema["$defs"]["Contract"], "$defs": schema["$defs"]})
    assert {"side_effect", "dry_run.simulated", "confirmation.because"} <= {key.path for key in found}
    assert [key.path for key in found if not key.sentence.endswith((".", "100", "code.")) or not key.type] == []


WORKS = """
store: sqlite:///a.db
upstreams:
  files: {command: [server, /srv], timeout: 30s}
  billing: {url: "http://127.0.0.1:9000/mcp", test: {url: "http://127.0.0.1:9001/mcp"}, profile: epd}
auth:
  api_keys: [{name: ci, key: "0123456789", kind: agent, scopes: ["orders:*"], mode: test}]
  jwt: {issuer: "https://id.example.com", audience: "https://mcp.example.com/mcp", mode: test}
limits: [{match: {tier: compute}, calls: 100, per: 1m}]
budgets: [{match: {tool: "orders_*"}, amount: 12.50, currency: eur, per: 1d}]
guards: [{match: {tool: "gmail_*"}, rule: allow_domains, domains: [example.com]}]
defaults: {step_up: {callers: none, max_age: 10m}}
audit: {anchors: [{directory: /srv/anchors}], sign_every: 60}
console: {oidc: {issuer: "https://id.example.com", client_id: a, groups: {approvers: approver}}}
notify: [{webhook: "https://hooks.example.com/a", secret: "0123456789abcdef"}]
"""


def test_the_schema_accepts_what_the_loader_accepts() -> None:
    parse_settings(WORKS)
    assert list(jsonschema_rs.validator_for(settings_schema()).iter_errors(yaml.safe_load(WORKS))) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "stor: sqlite:///a.db",
        "mode: maybe",
        "profile: unknown",
        "upstreams: {a: {ur: x}}",
        "limits: [{calls: 0, per: 1m}]",
        "defaults: {step_up: {callers: some}}",
        "guards: [{rule: no_such_guard}]",
        "budgets: [{amount: 1, per: soon}]",
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(wrong: str) -> None:
    with pytest.raises(SettingsError):
        parse_settings(wrong)
    assert not jsonschema_rs.validator_for(settings_schema()).is_valid(yaml.safe_load(wrong))
