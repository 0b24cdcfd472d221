"""What the commands that only check say of a store of the version before, and what they leave as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from cli.test_client_files import assent as run
from support.stores.earlier_versions import SCHEMA_OF_0_2_0, make_store_of_0_2_0, schema_in

WARNING = f"warning: the store has schema {SCHEMA_OF_0_2_0}. This version migrates it to "


def assent(folder: Path, *words: str, auth: str = "auth: {anonymous: {kind: agent}}\n") -> Result:
    file = folder / "assent.yaml"
    upstreams = "upstreams:\n  dead: {url: 'http://127.0.0.1:9/mcp', auth: oauth}\n"
    file.write_text(f"store: sqlite:///{folder}/assent.db\nsecrets: {{directory: keys}}\n{upstreams}{auth}")
    return CliRunner().invoke(cli, [*words, "-c", str(file)])


@pytest.mark.parametrize("more", [(), ("--host", "0.0.0.0")])
def test_a_check_leaves_the_store_so_that_0_2_0_can_still_open_it(tmp_path: Path, more: tuple[str, ...]) -> None:
    make_store_of_0_2_0(tmp_path / "assent.db")
    # At an address that others reach, the key in the store is what callers authenticate with.
    result = assent(tmp_path, "serve", "--check", *more, auth="" if more else "auth: {anonymous: {kind: agent}}\n")
    assert result.exit_code == 0, result.output
    assert WARNING in result.stderr and "Copy the database first" in result.stderr
    assert schema_in(tmp_path / "assent.db") == SCHEMA_OF_0_2_0


def test_doctor_leaves_the_store_and_says_what_a_migration_means(tmp_path: Path) -> None:
    make_store_of_0_2_0(tmp_path / "assent.db")
    report = assent(tmp_path, "doctor").output
    assert WARNING.replace(": ", "  ", 1) in report and "copy the database (docs/upgrade.md)" in report
    assert "upstream dead: not contacted" in report  # Its credentials are in the store.
    assert "no gateway runs" not in report
    assert schema_in(tmp_path / "assent.db") == SCHEMA_OF_0_2_0


@pytest.mark.parametrize("words", ["audit tail", "claims list", "approvals list"])
def test_a_command_that_only_looks_says_once_that_it_migrated_the_store(tmp_path: Path, words: str) -> None:
    make_store_of_0_2_0(tmp_path / "assent.db")
    said = [run(tmp_path, *words.split(), "--store", "sqlite:///assent.db").stderr for _ in range(2)]
    line = f"assent.db was migrated from schema {SCHEMA_OF_0_2_0} to {schema_in(tmp_path / 'assent.db')}: earlier"
    assert [one.count(line) for one in said] == [1, 0]
    assert line not in run(tmp_path, "claims", "list", "--store", "sqlite:///new.db").stderr
