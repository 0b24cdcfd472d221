"""The commands of `docs/examples.md` run from any folder, and the examples leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from examples.closient.server import build
from mcp import Client

from assent.cli import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "examples.md").read_text("utf-8")
SCRIPTS = re.findall(r"`python (examples/\S+\.py)`", PAGE)
SLOW = {"examples/mcpgate/conversation.py", "examples/estimate_then_place/agent.py"}
"""They have tests of their own, which run them as the page does."""


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PYTHONPATH"))}
    return {**kept, "HOME": str(folder), "TMPDIR": str(folder)}


@pytest.mark.parametrize("script", sorted(set(SCRIPTS) - SLOW))
def test_a_script_of_the_page_runs_in_an_empty_folder_and_leaves_nothing(script: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / script],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert list(tmp_path.iterdir()) == []


SERVERS = ("shop/server.py", "shop/fastmcp_server.py", "geopera/server.py", "epd/server.py", "closient/server.py")


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_over_http_says_where_it_listens_and_leaves_nothing(server: str, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, ROOT / "examples" / server, "http"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert "http://127.0.0.1:8000/mcp" in process.stderr.readline()
    finally:
        interrupt(process)
    assert list(tmp_path.iterdir()) == []


def interrupt(process: subprocess.Popen[str]) -> None:
    """Presses Ctrl-C until the process ends: the first one can come before the server listens for it."""
    for _ in range(30):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=2)
            return
    process.kill()
    process.communicate()
    raise AssertionError("the server did not end")


def test_the_feed_of_closient_has_what_its_server_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOSIENT_STORE", f"sqlite:///{tmp_path}/closient.db")

    async def call() -> None:
        server, assent = build(os.environ["CLOSIENT_STORE"])
        async with Client(server) as client:
            await client.call_tool("ping", {})
        await assent.close()

    asyncio.run(call())
    config = str(ROOT / "examples" / "closient" / "assent.yaml")
    assert "Ping: read" in CliRunner().invoke(cli, ["audit", "tail", "--feed", "-c", config]).output
