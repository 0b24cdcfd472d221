"""Disguises of what guards must find: each row of `evasions/*.yaml` gets the verdict that is written beside it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from assent.rules.guards import build_guard
from assent.rules.guards.context import Context
from assent.rules.guards.evaluate import NOT_CHECKED, objection_to
from assent.rules.guards.lookups import look_up, lookup_needs

HOME = Path(__file__).parent / "evasions"
TABLES = [
    (file.stem, table) for file in sorted(HOME.glob("*.yaml")) for table in yaml.safe_load(file.read_text("utf-8"))
]
ROWS = [
    pytest.param(table, row, id=f"{name}-{table['rule']}-{number}")
    for name, table in TABLES
    for number, row in enumerate(table["rows"])
]
MOST_SECONDS = 1.0


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files with links that lead out of it."""
    home = tmp_path_factory.mktemp("tree").resolve()
    for folder in ("files/sub", "private/.ssh"):
        (home / folder).mkdir(parents=True)
    (home / "files/a.txt").write_text("a")
    (home / "private/secret.txt").write_text("secret")
    (home / "files/out").symlink_to(home / "private")
    (home / "files/secret").symlink_to(home / "private/secret.txt")
    (home / "files/chain").symlink_to(home / "files/out")
    (home / "files/inside").symlink_to(home / "files/sub")
    (home / "alias").symlink_to(home / "files")
    return home


def filled(value: Any, tree: Path) -> Any:
    if isinstance(value, str):
        return value.replace("{tree}", str(tree))
    if isinstance(value, list):
        return [filled(item, tree) for item in value]
    return {key: filled(item, tree) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(("table", "row"), ROWS)
async def test_a_disguise_gets_the_verdict_that_is_written_down(table: Any, row: Any, tree: Path) -> None:
    given, verdict, why = row
    rule = build_guard({"rule": table["rule"], **filled(table["options"], tree)})
    arguments = given if table.get("field") is None else {table["field"]: filled(given, tree)}

    async def resolve(host: str) -> tuple[str, ...]:
        return tuple(table.get("addresses", {}).get(host, ()))

    context = Context(tool="tool")
    context = await look_up(lookup_needs(rule, arguments, context), context, resolve)
    started = time.process_time()
    found = objection_to(rule, arguments, context)
    assert time.process_time() - started < MOST_SECONDS, "it takes too long"
    assert (found is None) == (verdict == "pass"), f"{why}: {found}"
    assert found is None or found[1] != NOT_CHECKED


def test_every_row_says_what_it_is() -> None:
    for name, table in TABLES:
        for given, verdict, why in table["rows"]:
            assert verdict in ("pass", "deny") and len(why) > 2, (name, given)


def test_there_are_at_least_300_disguises() -> None:
    assert len(ROWS) >= 300
    denied = {table["rule"] for _, table in TABLES for row in table["rows"] if row[1] == "deny"}
    assert denied >= {"allow_domains", "block_domains", "allow_paths", "block_paths", "sql_read_only", "shell_commands"}
