"""Suggestions keep to what history has always kept to, carry their evidence, and change no recorded decision."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from assent.checks.history.suggest import common_folders
from assent.cli import cli
from assent.core.principal import Principal
from support.audit.recorded_histories import Step, record_history

CONTRACTS: dict[str, dict[str, Any]] = {
    "send_mail": {"side_effect": "write", "permissions": ["mail:send"]},
    "pay": {"side_effect": "external_spend", "risk": "medium", "cost": {"amount": "/invoice/value", "currency": "EUR"}},
    "read_file": {"side_effect": "read"},
}
CI = Principal("ci", "agent", scopes=frozenset({"mail:*", "orders:write"}))


def configure(folder: Path, name: str = "assent.yaml", **settings: Any) -> Path:
    (folder / "contracts.yaml").write_text(yaml.safe_dump({"tools": CONTRACTS}))
    key = {"name": "ci", "key": "12345678", "kind": "agent", "scopes": sorted(CI.scopes)}
    body = {"store": "sqlite:///a.db", "contracts": ["contracts.yaml"], "auth": {"api_keys": [key]}, **settings}
    (folder / name).write_text(yaml.safe_dump(body))
    return folder / name


def steps() -> list[Step]:
    mails = [
        Step("send_mail", {"to": [f"p{n}@example.com", "ops@mail.partner.test"], "n": n}, by=CI) for n in range(12)
    ]
    spends = [Step("pay", {"invoice": {"value": 5 * n}}, by=CI) for n in range(1, 12)]
    files = [Step("read_file", {"path": f"/srv/files/{n % 3}/a.txt"}, by=CI) for n in range(12)]
    rare = [Step("send_mail", {"to": "x@example.com", "cc": "boss@example.com"}, by=CI)]
    return [*mails, *spends, *files, *rare]


def invoke(*command: str) -> Result:
    return CliRunner().invoke(cli, ["policy", *command])


@pytest.fixture
def suggested(tmp_path: Path) -> str:
    config = configure(tmp_path)
    asyncio.run(record_history(config, CONTRACTS, steps(), mode="observe"))
    result = invoke("suggest", "-c", str(config))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_domains_folders_and_amounts_become_guards(suggested: str) -> None:
    guards = yaml.safe_load(suggested)["guards"]
    assert {"tool": "send_mail"} in [guard["match"] for guard in guards]
    by_rule = {guard["rule"]: guard for guard in guards}
    assert by_rule["allow_domains"]["domains"] == ["example.com", "mail.partner.test"]
    assert by_rule["allow_domains"]["fields"] == ["to"]
    assert (by_rule["bounds"]["fields"], by_rule["bounds"]["most"]) == (["/invoice/value"], 55)
    assert by_rule["allow_paths"]["paths"] == ["/srv/files/0", "/srv/files/1", "/srv/files/2"]


def test_the_evidence_is_beside_each_guard(suggested: str) -> None:
    assert "# Suggested from 36 calls from 2027-01-15" in suggested
    assert "the log verifies" in suggested
    assert "# send_mail, to: 13 calls from" in suggested
    assert "domains example.com (13), mail.partner.test (12)" in suggested


def test_an_argument_that_was_rarely_seen_is_left_alone(suggested: str) -> None:
    assert "boss" not in suggested and "cc" not in str(yaml.safe_load(suggested))


def test_scopes_that_no_call_needed_are_named(suggested: str) -> None:
    assert "#   ci: 36 calls from" in suggested
    assert 'has ["mail:*", "orders:write"], of which unused: ["orders:write"]' in suggested
    assert 'its calls needed only: ["mail:send"]' in suggested


def test_the_suggested_guards_change_nothing_in_the_history_they_came_from(tmp_path: Path, suggested: str) -> None:
    found = yaml.safe_load(suggested)["guards"]
    # Paths are looked up on this machine, where the recorded folders do not exist.
    guards = [guard for guard in found if guard["rule"] != "allow_paths"]
    result = invoke("replay", "-c", str(configure(tmp_path, "new.yaml", guards=guards, mode="observe")), "--json")
    assert '"changed": 0' in result.stdout and '"examined": 36' in result.stdout


def test_without_history_nothing_is_suggested(tmp_path: Path) -> None:
    config = configure(tmp_path)
    asyncio.run(record_history(config, CONTRACTS, []))
    result = invoke("suggest", "-c", str(config))
    assert yaml.safe_load(result.stdout)["guards"] == []


def test_a_folder_inside_another_one_is_covered_by_it() -> None:
    assert common_folders({"/srv/a": 1, "/srv/a/b": 2, "/srv/ab": 3}) == ["/srv/a", "/srv/ab"]
