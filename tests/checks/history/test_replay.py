"""Recorded calls are decided again under other settings, at their recorded times, and the difference is shown."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.core.quotas import RateLimit
from assent.testing import AGENT
from support.audit.recorded_histories import Step, record_history

CONTRACTS: dict[str, dict[str, Any]] = {
    "send_mail": {"side_effect": "write"},
    "pay": {
        "side_effect": "external_spend",
        "risk": "medium",
        "cost": {"amount": "/amount", "currency": "EUR"},
        "idempotency": {"key": "auto"},
    },
    "wipe": {"side_effect": "destructive"},
    "look": {"side_effect": "read"},
}


def configure(folder: Path, name: str = "assent.yaml", contracts: Any = None, **settings: Any) -> Path:
    file = folder / name
    written = folder / f"{name}.contracts.yaml"
    written.write_text(yaml.safe_dump({"tools": contracts or CONTRACTS}))
    body = {"store": "sqlite:///a.db", "contracts": [written.name], "auth": {"stdio": {"kind": "agent"}}, **settings}
    file.write_text(yaml.safe_dump(body))
    return file


def run(config: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["policy", "replay", "-c", str(config), *options])


def replayed(config: Path, *options: str) -> dict[str, Any]:
    result = run(config, "--json", *options)
    assert result.exit_code in (0, 1), result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["changed"] == len(found["decisions"])
    return found


def changes(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["tool"], one["recorded"], one["now"]) for one in found["decisions"]]


def record(config: Path, contracts: Any, steps: Sequence[Step], **options: Any) -> None:
    asyncio.run(record_history(config, contracts, steps, **options))


def history(folder: Path, steps: Sequence[Step], **options: Any) -> None:
    record(configure(folder), CONTRACTS, steps, **options)


MAILS = [Step("send_mail", {"to": f"{who}@{where}"}) for who, where in (("ann", "example.com"), ("eve", "evil.test"))]


def test_the_same_settings_change_nothing_and_say_so(tmp_path: Path) -> None:
    history(tmp_path, [*MAILS, Step("look", {}), Step("pay", {"amount": 5}), Step("wipe", {}, approved=True)])
    found = replayed(tmp_path / "assent.yaml")
    assert (found["examined"], found["changed"], found["not_replayable"]) == (6, 0, 0)
    assert found["verified"] is True
    assert run(tmp_path / "assent.yaml").exit_code == 0


def test_a_new_guard_refuses_what_it_would_have_refused(tmp_path: Path) -> None:
    history(tmp_path, [*MAILS, Step("look", {})])
    guard = {"match": {"tool": "send_mail"}, "rule": "allow_domains", "fields": ["to"], "domains": ["example.com"]}
    found = replayed(configure(tmp_path, "new.yaml", guards=[guard]))
    assert changes(found) == [("send_mail", "runs", "refused guard.denied")]
    [one] = found["decisions"]
    assert (one["rule"], one["principal"], one["index"]) == ("allow_domains", "agent", 2)
    assert "allowed domains" in one["detail"]
    text = run(tmp_path / "new.yaml")
    assert text.exit_code == 1
    assert "send_mail: runs → refused guard.denied" in text.stdout
    assert "examined        3" in text.stdout


def test_a_guard_that_is_taken_away_lets_the_call_run(tmp_path: Path) -> None:
    guard = {"match": {"tool": "send_mail"}, "rule": "block_keywords", "keywords": ["evil"]}
    history(tmp_path, MAILS, guards=[guard])
    assert changes(replayed(tmp_path / "assent.yaml")) == [("send_mail", "refused guard.denied", "runs")]


def test_a_stricter_contract_asks_a_person_and_a_forbidden_tool_is_unknown(tmp_path: Path) -> None:
    history(tmp_path, [*MAILS, Step("look", {})])
    stricter = {**CONTRACTS, "send_mail": {"side_effect": "write", "risk": "high"}}
    stricter["look"] = {"side_effect": "read", "risk": "forbidden"}
    found = replayed(configure(tmp_path, "new.yaml", stricter))
    assert changes(found) == [
        ("send_mail", "runs", "asks"),
        ("send_mail", "runs", "asks"),
        ("look", "runs", "refused discover.unknown_tool"),
    ]


@pytest.mark.parametrize(("after", "refused"), [(10.0, 3), (60.0, 0)], ids=["within the minute", "one a minute"])
def test_limits_count_at_the_recorded_times(tmp_path: Path, after: float, refused: int) -> None:
    history(tmp_path, [Step("send_mail", {"n": n}, after) for n in range(4)])
    new = configure(tmp_path, "new.yaml", limits=[{"calls": 1, "per": "1m"}])
    assert changes(replayed(new)) == [("send_mail", "runs", "refused claim.rate_limited")] * refused


def test_a_wider_limit_lets_recorded_refusals_run(tmp_path: Path) -> None:
    history(tmp_path, [Step("send_mail", {"n": n}) for n in range(3)], limits=[RateLimit(calls=1, per="1h")])
    found = replayed(tmp_path / "assent.yaml")
    assert changes(found) == [("send_mail", "refused claim.rate_limited", "runs")] * 2


def test_budgets_are_spent_by_what_would_have_run_and_by_what_a_person_approved(tmp_path: Path) -> None:
    steps = [Step("pay", {"amount": amount}) for amount in (60, 30, 20)]
    history(tmp_path, [*steps, Step("pay", {"amount": 9}, after=90_000)])
    new = configure(tmp_path, "new.yaml", budgets=[{"amount": 100, "currency": "eur", "per": "1d"}])
    found = replayed(new)
    assert changes(found) == [("pay", "runs", "refused claim.budget_exceeded")]
    asked = {**CONTRACTS, "pay": {**CONTRACTS["pay"], "risk": "critical"}}
    new = configure(tmp_path, "asked.yaml", asked, budgets=[{"amount": 100, "currency": "eur", "per": "1d"}])
    endings = [now for _, _, now in changes(replayed(new))]
    assert endings == ["asks", "asks", "refused claim.budget_exceeded", "asks"]


def test_from_observe_to_enforce_shows_what_would_stop(tmp_path: Path) -> None:
    history(tmp_path, [Step("wipe", {}), Step("look", {})], mode="observe")
    assert changes(replayed(configure(tmp_path, mode="observe"))) == []
    found = replayed(configure(tmp_path, "new.yaml", mode="enforce"))
    assert changes(found) == [("wipe", "runs (would stop: confirm.confirmation_required)", "asks")]


def test_a_dry_run_in_history_satisfies_a_contract_that_now_requires_it(tmp_path: Path) -> None:
    offered = {"mail": {"side_effect": "write", "dry_run": {"mode": "offered"}}}
    config = configure(tmp_path, contracts=offered)
    steps = [Step("mail", {"n": 1, "dryRun": True}), Step("mail", {"n": 1}), Step("mail", {"n": 2})]
    record(config, offered, steps)
    required = {"mail": {"side_effect": "write", "dry_run": {"mode": "required"}}}
    found = replayed(configure(tmp_path, "new.yaml", required))
    assert changes(found) == [("mail", "runs", "refused rehearse.dry_run_required")]


def test_what_was_erased_or_never_stored_is_counted_and_not_guessed(tmp_path: Path) -> None:
    narrow = {**CONTRACTS, "send_mail": {"side_effect": "write", "permissions": ["mail:send"]}}
    stranger = AGENT.__class__("stranger", "agent")
    config = configure(tmp_path)
    steps = [*MAILS, Step("send_mail", {"to": "x"}, by=stranger), Step("no_such_tool", {}), Step("look", {})]
    record(config, narrow, steps)
    erase = ["audit", "redact", "2", "arguments", "--because", "asked for", "-c", str(config), "--yes"]
    erased = CliRunner().invoke(cli, erase)
    assert erased.exit_code == 0, erased.output
    found = replayed(config)
    assert (found["examined"], found["not_replayable"]) == (2, 3)
    gaps = found["coverage"]["not_replayable"]
    assert gaps == {"the arguments were never stored": 2, "the arguments or the caller were erased": 1}


def test_an_altered_log_is_read_and_said_not_to_verify(tmp_path: Path) -> None:
    history(tmp_path, MAILS)
    with closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        db.execute("UPDATE audit_entries SET leaf = CAST(replace(leaf, 'write', 'wrote') AS BLOB) WHERE idx = 2")
    found = replayed(tmp_path / "assent.yaml")
    assert found["verified"] is False
    assert "does not verify" in found["log"]
    assert run(tmp_path / "assent.yaml").exit_code == 1


def test_since_leaves_older_calls_out(tmp_path: Path) -> None:
    history(tmp_path, [*MAILS, Step("look", {}, after=86_400 * 2)])
    assert replayed(tmp_path / "assent.yaml", "--since", "2027-01-16")["examined"] == 1
    assert run(tmp_path / "assent.yaml", "--since", "yesterday").exit_code == 2


def test_a_tool_without_a_written_contract_is_judged_by_the_log_and_counted(tmp_path: Path) -> None:
    history(tmp_path, [*MAILS, Step("wipe", {}, approved=True)])
    guard = {"match": {"tier": "write"}, "rule": "block_keywords", "keywords": ["evil"]}
    found = replayed(configure(tmp_path, "new.yaml", {"look": CONTRACTS["look"]}, guards=[guard]))
    assert changes(found) == [("send_mail", "runs", "refused guard.denied")]
    assert found["coverage"]["contract_from_log"] == {"send_mail": 2, "wipe": 2}


def test_narrower_scopes_of_a_configured_caller_are_replayed(tmp_path: Path) -> None:
    needed = {**CONTRACTS, "send_mail": {"side_effect": "write", "permissions": ["mail:send"]}}
    record(configure(tmp_path, contracts=needed), needed, [MAILS[0]])
    key = {"name": "agent", "key": "12345678", "kind": "agent", "scopes": ["mail:read"]}
    found = replayed(configure(tmp_path, "new.yaml", needed, auth={"api_keys": [key]}))
    assert changes(found) == [("send_mail", "runs", "refused authorize.missing_permissions")]
    unknown = replayed(configure(tmp_path, "other.yaml", needed))
    assert unknown["changed"] == 0
    assert unknown["coverage"]["scopes_not_recorded"] == {"agent": 1}


def test_replaying_writes_nothing(tmp_path: Path) -> None:
    history(tmp_path, [*MAILS, Step("pay", {"amount": 1})])
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        before = list(db.iterdump())
    replayed(configure(tmp_path, "new.yaml", limits=[{"calls": 1, "per": "1h"}]))
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        assert list(db.iterdump()) == before


@pytest.mark.parametrize("command", ["replay", "suggest"])
@pytest.mark.parametrize(("store", "says"), [("memory://", "memory"), ("sqlite:///gone.db", "does not exist yet")])
def test_without_a_store_there_is_no_history_and_none_is_made(
    tmp_path: Path, command: str, store: str, says: str
) -> None:
    config = configure(tmp_path, store=store)
    result = CliRunner().invoke(cli, ["policy", command, "-c", str(config)])
    assert result.exit_code != 0
    assert says in result.output + str(result.exception)
    assert not (tmp_path / "gone.db").exists()


def test_the_history_of_another_configuration_is_read(tmp_path: Path) -> None:
    history(tmp_path, MAILS)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    guard = {"rule": "block_keywords", "keywords": ["evil"]}
    new = configure(elsewhere, "new.yaml", guards=[guard])
    found = replayed(new, "--history", str(tmp_path / "assent.yaml"))
    assert (found["examined"], found["changed"], found["verified"]) == (2, 1, True)
    assert not (elsewhere / "a.db").exists()


def test_a_guard_that_asks_for_an_approval_says_so(tmp_path: Path) -> None:
    history(tmp_path, MAILS)
    guard = {"rule": "allow_domains", "fields": ["to"], "domains": ["example.com"], "action": "approve"}
    [one] = replayed(configure(tmp_path, "new.yaml", guards=[guard]))["decisions"]
    assert (one["now"], one["rule"]) == ("asks", "allow_domains")
    assert "allowed domains" in one["detail"]


def test_a_guard_that_counts_calls_counts_at_the_recorded_times(tmp_path: Path) -> None:
    history(tmp_path, [Step("send_mail", {"n": n}, after=20.0) for n in range(6)])
    guard = {"rule": "call_rate", "calls": 2, "per": "1m"}
    found = replayed(configure(tmp_path, "new.yaml", guards=[guard]))
    assert {now for _, _, now in changes(found)} == {"refused guard.denied"}
    assert 0 < found["changed"] < 5


def test_the_addresses_of_a_host_are_not_looked_up_anew(tmp_path: Path) -> None:
    history(tmp_path, [Step("look", {"url": "https://gone.invalid/x"}), Step("look", {})])
    found = replayed(configure(tmp_path, "new.yaml", guards=[{"rule": "block_private_hosts"}]))
    assert (found["examined"], found["changed"]) == (1, 0)
    assert found["coverage"]["not_replayable"] == {"it depends on the addresses that a host had": 1}


POLICY = """@id("small-payments")
@reason("Payments above 50 need a person.")
@effect("approve")
forbid (principal is Assent::Agent, action == Assent::Action::"pay", resource) when { context.input.amount > 50 };
"""


@pytest.mark.parametrize("typed", [True, False])
def test_a_new_policy_is_replayed_where_the_types_of_arguments_are_known(tmp_path: Path, typed: bool) -> None:
    (tmp_path / "small.cedar").write_text(POLICY)
    history(tmp_path, [Step("pay", {"amount": 50}), Step("pay", {"amount": 51}), Step("look", {})])
    schema = {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "integer"}}}
    contracts = {**CONTRACTS, "pay": {**CONTRACTS["pay"], "input": schema}} if typed else CONTRACTS
    found = replayed(configure(tmp_path, "new.yaml", contracts, policies=["*.cedar"]))
    if not typed:
        assert (found["examined"], found["changed"], found["not_replayable"]) == (1, 0, 2)
        return
    [one] = found["decisions"]
    assert (one["now"], one["rule"], one["arguments"]) == ("asks", "small-payments", {"amount": 51})
    assert one["detail"] == "Payments above 50 need a person."
