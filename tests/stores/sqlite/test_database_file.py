"""Is a file used only if it is ours and usable, and is it said what to do if not?"""

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from assent.core.claims import State
from assent.errors import StoreError
from assent.stores import SqliteStore
from assent.stores.migrations import migrations
from assent.stores.sqlite.database_file import APPLICATION, open_writer, split
from support.store_suite.drafts import NOW, claim_draft, entry


def schema(path: Path) -> set[tuple[str, str]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return set(rows)


async def made(path: Path) -> Path:
    store = SqliteStore(path)
    await store.claim(claim_draft(), entry(), None, NOW)
    await store.close()
    return path


async def test_the_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "assent.db")
        await store.claim(claim_draft(), entry(), None, NOW)
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    await store.close()
    assert modes == dict.fromkeys(("assent.db", "assent.db-wal", "assent.db-shm"), 0o600)


async def test_closing_leaves_one_file(tmp_path: Path) -> None:
    await made(tmp_path / "assent.db")
    assert [file.name for file in tmp_path.iterdir()] == ["assent.db"]


async def test_a_commit_is_synced_to_the_disk(tmp_path: Path) -> None:
    connection = open_writer(tmp_path / "assent.db")
    settings = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")}
    connection.close()
    assert settings == {"journal_mode": "wal", "synchronous": 2}


@pytest.mark.parametrize("version", range(1, len(migrations("sqlite"))))
async def test_a_file_of_an_earlier_version_keeps_what_it_holds(version: int, tmp_path: Path) -> None:
    earlier = sqlite3.connect(tmp_path / "assent.db")
    for step in migrations("sqlite")[:version]:
        earlier.executescript(step.sql)
    held = "'held', 'local', 'agent', 'send', 'k', 'f', 'c', 'in_doubt', 3, 1.0, 1.0, 2.0"
    columns = (
        "id, tenant, principal, tool, key, fingerprint, contract, state, epoch, lease_until, created_at, expires_at"
    )
    earlier.execute(f"INSERT INTO claims ({columns}) VALUES ({held})")
    earlier.execute(f"PRAGMA application_id = {APPLICATION}")
    earlier.execute(f"PRAGMA user_version = {version}")
    earlier.commit()
    earlier.close()
    store = SqliteStore(tmp_path / "assent.db")
    record = await store.claim_by_id("held")
    assert record is not None and (record.state, record.epoch, record.charges) == (State.IN_DOUBT, 3, ())
    await store.close()
    assert schema(tmp_path / "assent.db") == schema(await made(tmp_path / "new.db"))


async def test_the_schema_is_all_migrations(tmp_path: Path) -> None:
    stepwise = sqlite3.connect(tmp_path / "stepwise.db")
    for step in migrations("sqlite"):
        stepwise.executescript(step.sql)
    stepwise.close()
    assert schema(await made(tmp_path / "assent.db")) == schema(tmp_path / "stepwise.db")


async def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = await made(tmp_path / "assent.db")
    before = path.read_bytes()
    await SqliteStore(path).close()
    assert schema(path)
    assert len(path.read_bytes()) == len(before)


async def test_a_newer_schema_is_left_alone(tmp_path: Path) -> None:
    path = await made(tmp_path / "assent.db")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(StoreError, match=r"has schema 999, .* Upgrade Assent"):
        SqliteStore(path)


async def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (title)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="belongs to another program"):
        SqliteStore(path)
    assert {name for name, _ in schema(path)} == {"songs"}


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 1000)
    with pytest.raises(StoreError, match=r"notes\.txt is not an SQLite database"):
        SqliteStore(path)
    assert path.read_text() == "Dear diary, " * 1000


async def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    path.touch()
    await made(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        SqliteStore(tmp_path)


def test_a_file_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be created: Not a directory"):
        SqliteStore(tmp_path / "file" / "assent.db")


async def test_a_locked_database_is_named(tmp_path: Path) -> None:
    path = await made(tmp_path / "assent.db")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked by another process"):
        SqliteStore(path, busy=0.0)
    other.close()


async def test_a_corrupt_database_is_named_by_whatever_meets_the_corruption(tmp_path: Path) -> None:
    path = await made(tmp_path / "assent.db")
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    store = SqliteStore(path)
    with pytest.raises(StoreError, match=r"is corrupt\. Restore it from a backup"):
        await store.claim_by_id("claim")
    with pytest.raises(StoreError, match="is corrupt"):
        await store.claim(claim_draft("other"), entry(), None, NOW)
    await store.close()


async def test_nothing_is_written_into_a_file_that_was_removed_until_it_is_put_back(tmp_path: Path) -> None:
    path, aside = tmp_path / "assent.db", tmp_path / "aside.db"
    store = SqliteStore(path)
    await store.claim(claim_draft("one"), entry(), None, NOW)
    path.rename(aside)
    for _ in range(2):
        with pytest.raises(StoreError, match="was removed or replaced"):
            await store.claim(claim_draft("two"), entry(), None, NOW)
        path.touch()  # another file of that name is not it either
    aside.replace(path)
    await store.claim(claim_draft("two"), entry(), None, NOW)
    assert [one.index for one in await store.entries()] == [0, 1]
    await store.close()


async def test_a_log_that_is_emptied_under_a_process_begins_anew_at_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "assent.db"
    store = SqliteStore(path)
    for name in ("one", "another"):
        await store.claim(claim_draft(name), entry(), None, NOW)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("DELETE FROM audit_entries")
    other.close()
    with pytest.raises(StoreError, match="The log was emptied"):
        await store.claim(claim_draft("two"), entry(), None, NOW)
    for number in range(2):
        await store.claim(claim_draft(f"three {number}"), entry(), None, NOW)
    assert await store.claim_by_id("two") is None
    assert [one.index for one in await store.entries()] == [0, 1]
    await store.close()


def test_a_script_is_split_into_its_statements() -> None:
    script = "-- one; two\nCREATE TABLE a (x);\nCREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM a;\nEND;\n"
    assert len(split(script)) == 2


def test_a_sqlite_that_is_too_old_is_named_and_no_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 1))
    with pytest.raises(StoreError, match=r"Install one with SQLite 3\.33\.0 or newer"):
        SqliteStore(tmp_path / "assent.db")
    assert list(tmp_path.iterdir()) == []


async def test_dry_runs_that_an_earlier_version_kept_are_deleted_like_other_old_records(tmp_path: Path) -> None:
    path = await made(tmp_path / "assent.db")
    earlier = sqlite3.connect(path)
    earlier.execute("INSERT INTO rehearsals (digest, preview, at) VALUES ('old', '{}', 1.0), ('new', '{}', ?)", (NOW,))
    earlier.commit()
    store = SqliteStore(path)
    assert (await store.prune(NOW, NOW - 1)).documents == 1
    await store.close()
    assert earlier.execute("SELECT digest FROM rehearsals").fetchall() == [("new",)]
    earlier.close()
