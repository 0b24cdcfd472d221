"""Keys are made, listed and revoked at the command line, and shown once."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assent.cli.keys import keys
from assent.stores import SqliteStore


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "assent.yaml"
    file.write_text(f"store: sqlite:///{tmp_path}/assent.db\nsecrets: {{directory: {tmp_path}/keys}}\n")
    return file


def run(config: Path, *words: str) -> Result:
    return CliRunner().invoke(keys, [*words, "-c", str(config)])


def listed(config: Path, *words: str) -> list[dict[str, object]]:
    return json.loads(run(config, "list", "--format", "json", *words).stdout)  # type: ignore[no-any-return]


def test_a_key_is_shown_once_and_kept_as_a_digest(config: Path) -> None:
    made = run(
        config, "create", "ann", "--kind", "human", "--tenant", "acme", "--role", "approver", "--scope", "orders:*"
    )
    assert made.exit_code == 0
    key = made.stdout.strip()
    assert key.startswith("assent_")
    assert "not shown again" in made.stderr
    (record,) = listed(config)
    assert record == {
        "start": key[:15],
        "name": "ann",
        "kind": "human",
        "tenant": "acme",
        "scopes": ["orders:*"],
        "roles": ["approver"],
        "mode": "live",
        "asks": None,
        "created_at": record["created_at"],
        "revoked_at": None,
        "expires_at": None,
        "made_by": None,
    }
    database = config.with_name("assent.db")
    assert key.encode()[16:] not in database.read_bytes()
    rows = sqlite3.connect(database)
    log = [json.loads(leaf)["facts"] for (leaf,) in rows.execute("SELECT leaf FROM audit_entries ORDER BY idx")]
    rows.close()
    assert log == [{"event": "key.created", "key": key[:15]}]


async def written(config: Path) -> dict[str, Any]:
    store = SqliteStore(config.with_name("assent.db"))
    [logged] = await store.entries()
    await store.close()
    return logged.entry.values


def test_the_log_says_for_whom_a_key_was_made_and_what_it_lets_them_do(config: Path) -> None:
    run(config, "create", "ci", "--kind", "agent", "--tenant", "acme", "--mode", "test", "--scope", "orders:*")
    values = asyncio.run(written(config))
    said = {name: value for name, value in values.items() if name not in ("principal", "kind", "tenant")}
    granted = {"scopes": ["orders:*"], "roles": []}
    assert said == {"name": "ci", "for_kind": "agent", "for_tenant": "acme", "for_mode": "test", **granted}


def test_a_key_without_scopes_is_made_with_a_warning(config: Path) -> None:
    assert "no scopes" in run(config, "create", "ci", "--kind", "agent").stderr


def test_a_revoked_key_is_listed_only_if_all_are(config: Path) -> None:
    start = run(config, "create", "ci", "--kind", "agent").stdout[:15]
    assert run(config, "revoke", start[:12]).stdout == f"{start} (ci) is revoked.\n"
    assert listed(config) == []
    assert [record["start"] for record in listed(config, "--all")] == [start]
    again = run(config, "revoke", start)
    assert again.exit_code == 1
    assert "No active key" in again.stderr


@pytest.mark.parametrize("meant", ["name", "start", "whole"])
def test_a_key_is_named_by_its_owner_its_start_or_itself(config: Path, meant: str) -> None:
    key = run(config, "create", "ci", "--kind", "agent").stdout.strip()
    run(config, "create", "other", "--kind", "agent")
    assert run(config, "revoke", {"name": "ci", "start": key[:15], "whole": key}[meant]).exit_code == 0
    assert [record["name"] for record in listed(config)] == ["other"]


def test_what_means_several_keys_revokes_none(config: Path) -> None:
    for _ in range(2):
        run(config, "create", "ci", "--kind", "agent")
    refused = run(config, "revoke", "ci")
    assert refused.exit_code == 2
    assert "2 keys match" in refused.stderr
    assert run(config, "revoke", "").exit_code == 1
    assert len(listed(config)) == 2


@pytest.mark.parametrize("name", ["", " ", "a\x00b", "a\nb", "x" * 129, "\u202eevil"])
def test_a_name_that_cannot_be_read_is_refused_before_anything_is_made(config: Path, name: str) -> None:
    refused = run(config, "create", name, "--kind", "agent")
    assert refused.exit_code == 2
    assert "printable" in refused.stderr
    assert listed(config) == []


def test_a_list_for_programs_has_a_line_for_each(config: Path) -> None:
    assert "no keys" in run(config, "list").stderr
    run(config, "create", "ci", "--kind", "service", "--mode", "test")
    assert run(config, "list").stdout.split("\t")[1:4] == ["ci", "service", "local"]


def test_whom_a_client_asks_is_said_of_its_key_and_listed(config: Path) -> None:
    run(config, "create", "ci", "--kind", "agent", "--asks", "nobody")
    assert listed(config)[0]["asks"] == "nobody"
    assert run(config, "list").stdout.rstrip("\n").split("\t")[-1] == "nobody"


def test_keys_in_memory_are_no_keys(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text("store: memory://\n")
    refused = run(file, "create", "ci", "--kind", "agent")
    assert refused.exit_code != 0
    assert "a memory store loses its keys" in str(refused.exception)


def test_a_role_that_means_nothing_is_refused_with_those_there_are(config: Path) -> None:
    made = run(config, "create", "ann", "--kind", "human", "--role", "aprover")
    assert made.exit_code == 2
    assert "'approver', 'operator', 'auditor'" in made.stderr
    assert listed(config) == []


def test_a_terminal_shows_only_the_columns_in_which_keys_differ(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    run(config, "create", "ci", "--kind", "agent", "--scope", "orders:*")
    assert run(config, "list").stdout.splitlines()[0].split() == ["key", "name", "kind", "scopes", "roles", "created"]
    run(config, "create", "ann", "--kind", "human", "--tenant", "acme")
    assert "tenant" in run(config, "list").stdout.splitlines()[0]


def test_roles_of_an_agent_are_said_to_have_no_effect(config: Path) -> None:
    assert "give an agent nothing" in run(config, "create", "ci", "--kind", "agent", "--role", "approver").stderr
    assert "give an agent nothing" not in run(config, "create", "ann", "--kind", "human", "--role", "approver").stderr
