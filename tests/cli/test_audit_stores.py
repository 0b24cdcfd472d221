"""Every command on the log does the same on every store that lasts, with every kind of anchor."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result

from assent.audit import checkpoints, verifier
from assent.cli import cli
from assent.core.outcome import Answer
from assent.stores.open import open_store
from assent.testing.world import World
from support.stores.postgres_server import drop_store, new_store_url

CONTRACTS = {
    "orders.place": {
        "title": "Place an order",
        "description": "Places an order.",
        "side_effect": "write",
        "activity": "Ordered {item}",
        "natural": {"by": ["item"]},
        "idempotency": {"recovery": "natural"},
    }
}


@pytest.fixture(params=["sqlite", "postgresql"])
async def config(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Path]:
    """A store in which three orders were placed, and a git repository for its checkpoints."""
    url = f"sqlite:///{tmp_path}/assent.db" if request.param == "sqlite" else await new_store_url()
    store = await open_store(url)
    world = World(CONTRACTS, store=store)
    for number in range(3):
        assert isinstance(await world.call("orders.place", {"item": f"scene {number}"}), Answer)
    await store.close()
    (tmp_path / "contracts.yaml").write_text(json.dumps({"tools": CONTRACTS}))
    await ended("git", "init", "--quiet", str(tmp_path / "repository"))
    path = tmp_path / "assent.yaml"
    anchors = "[{directory: elsewhere}, {git: repository}]"
    path.write_text(f"store: {json.dumps(url)}\ncontracts: [contracts.yaml]\naudit: {{anchors: {anchors}}}\n")
    yield path
    if request.param == "postgresql":
        await drop_store(url)


async def ended(*words: str) -> str:
    """What another program said, which ended well."""
    process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


async def run(config: Path, *words: str, ends: int = 0) -> str:
    """In a thread: a command has a loop of its own."""
    arguments = ["audit", *words, "-c", str(config)]
    result: Result = await asyncio.to_thread(CliRunner().invoke, cli, arguments)
    assert result.exit_code == ends, result.output
    return result.output


async def test_the_log_is_read_proved_anchored_erased_exported_rotated_and_verified(
    config: Path, tmp_path: Path
) -> None:
    assert "6 entries" in await run(config, "verify")
    lines = (await run(config, "tail", "-n", "2")).splitlines()
    assert [line.split("\t")[2] for line in lines] == ["intent", "outcome"]
    assert "Ordered “scene 2”" in (await run(config, "tail", "--feed")).splitlines()[-1]
    assert json.loads(await run(config, "show", "0"))["values"]["arguments"] == {"item": "scene 0"}

    await run(config, "prove", "3", "--output", str(tmp_path / "p.tlog-proof"))
    head, _, note = (tmp_path / "p.tlog-proof").read_bytes().partition(b"\n\n")
    assert b"\nindex 3\n" in head and checkpoints.parse(note)[0].size == 6

    await run(config, "anchor")
    await run(config, "redact", "0", "arguments", "--because", "asked for", "--yes")
    assert "arguments" not in json.loads(await run(config, "show", "0"))["values"]
    assert "scene 0" not in await run(config, "export")
    assert len((await run(config, "export", "--format", "ocsf", "--kind", "outcome")).splitlines()) == 4

    await run(config, "rotate", "--yes")
    said = await run(config, "verify")
    assert "8 entries" in said and "values erased: 1" in said and "no problems found" in said
    await run(config, "export", "--format", "bundle", "--output", str(tmp_path / "bundle.zip"))
    script = tmp_path / "verifier.py"
    shutil.copy(verifier.__file__, script)
    assert "nothing is wrong" in await ended(sys.executable, "-I", str(script), str(tmp_path / "bundle.zip"))
    history = await ended("git", "-C", str(tmp_path / "repository"), "log", "--format=%s")
    assert "at 8" in history.splitlines()[0]


async def test_a_rewritten_entry_is_found_through_what_a_repository_keeps(config: Path) -> None:
    await run(config, "anchor")
    shutil.rmtree(config.parent / ".assent" / "log")
    shutil.rmtree(config.parent / "elsewhere")
    store = await open_store(config.read_text().splitlines()[0].removeprefix("store: ").strip('"'))
    rows = await store.sealed()
    await store.close()
    forged = rows[0].leaf.replace(b'"orders.place"', b'"orders.peace"')
    await _overwrite(config, forged)
    said = await run(config, "verify", ends=1)
    assert "checkpoint.inconsistent: anchors/git-1 #0" in said


async def _overwrite(config: Path, leaf: bytes) -> None:
    url = config.read_text().splitlines()[0].removeprefix("store: ").strip('"')
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file, file:
            file.execute("UPDATE audit_entries SET leaf = ? WHERE idx = 0", (leaf,))
        return
    connection = await asyncpg.connect(url.rpartition("&")[0])
    await connection.execute(f"UPDATE {url.rpartition('=')[2]}.audit_entries SET leaf = $1 WHERE idx = 0", leaf)
    await connection.close()
