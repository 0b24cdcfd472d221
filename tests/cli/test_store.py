"""What does `assent store` say of a store, and what does it change?"""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.core.claims import Settlement, State
from assent.errors import StoreError
from assent.stores import SqliteStore
from assent.stores.migrations import migrations
from assent.stores.sqlite.database_file import APPLICATION, split
from support.store_suite.drafts import NOW, claim_draft, entry
from support.stores.postgres_server import drop_store, new_store_url

NEWEST = len(migrations("sqlite"))


def run(folder: Path, *arguments: str, url: str = "sqlite:///assent.db") -> Result:
    config = folder / "assent.yaml"
    config.write_text(f"store: {url}\n")
    return CliRunner().invoke(cli, ["store", *arguments, "-c", str(config)], standalone_mode=False)


def test_a_new_store_is_made_and_a_current_one_left_alone(tmp_path: Path) -> None:
    assert run(tmp_path, "migrate").output == f"schema 0 -> {NEWEST}\n"
    assert run(tmp_path, "migrate").output == f"schema {NEWEST}: nothing to do\n"
    assert "is current" in run(tmp_path, "check").output


def test_an_older_schema_is_found_by_check_and_brought_up_to_date_by_migrate(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "assent.db")
    for statement in split(migrations("sqlite")[0].sql):
        connection.execute(statement)
    connection.execute("PRAGMA user_version = 1")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.close()
    found = run(tmp_path, "check")
    assert f"the schema is 1 and {NEWEST} is current: run assent store migrate" in found.output
    assert found.return_value == 1
    assert run(tmp_path, "migrate").output == f"schema 1 -> {NEWEST}\n"
    assert "is current" in run(tmp_path, "check").output


def test_check_makes_nothing(tmp_path: Path) -> None:
    run(tmp_path, "check")
    assert not (tmp_path / "assent.db").exists()


def test_gaps_and_doubts_are_named(tmp_path: Path) -> None:
    async def fill() -> None:
        store = SqliteStore(tmp_path / "assent.db")
        for name in "abc":
            await store.claim(claim_draft(name), entry(), None, NOW)
        await store.settle("a", 1, Settlement(State.IN_DOUBT, NOW), [])
        await store.close()

    asyncio.run(fill())
    connection = sqlite3.connect(tmp_path / "assent.db")
    connection.execute("DELETE FROM audit_entries WHERE idx = 1")
    connection.commit()
    connection.close()
    said = run(tmp_path, "check").output
    assert "gap after entry -1" in said
    assert "1 claim is in doubt" in said


@pytest.mark.parametrize("command", ["migrate", "check"])
def test_a_newer_schema_is_refused(tmp_path: Path, command: str) -> None:
    run(tmp_path, "migrate")
    connection = sqlite3.connect(tmp_path / "assent.db")
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    ended = run(tmp_path, command)
    assert isinstance(ended.exception, StoreError) and "Upgrade Assent" in str(ended.exception)


def test_postgres_is_migrated_and_checked_the_same_way(tmp_path: Path) -> None:
    url = asyncio.run(new_store_url())
    newest = len(migrations("postgres"))
    assert "assent store migrate" in run(tmp_path, "check", url=url).output
    assert run(tmp_path, "migrate", url=url).output == f"schema 0 -> {newest}\n"
    assert "is current" in run(tmp_path, "check", url=url).output
    asyncio.run(drop_store(url))
