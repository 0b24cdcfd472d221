"""Every answered call is in the log, also if the client leaves at once: real processes over stdio."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from assent.cli import cli
from assent.stores import SqliteStore

SDK = """
from mcp.server import MCPServer
from assent import Assent, contract

assent = Assent(store="sqlite:///notes.db")
server = MCPServer("notes", extensions=[assent.extension()], log_level="ERROR")
"""
FASTMCP = """
from fastmcp import FastMCP
from assent.fastmcp import Assent, contract

assent = Assent(store="sqlite:///notes.db")
server = FastMCP("notes")
"""
REST = """

@server.tool()
@contract(side_effect="read")
def look() -> str:
    return "notes"

assent.apply(server)
"""
RUN = 'server.run("stdio")'
RUN_QUIETLY = 'server.run("stdio", show_banner=False, log_level="ERROR")'
IN_PROCESS = """
import asyncio
from mcp import Client

async def main():
    async with Client(server) as client:
        for _ in range(3):
            await client.call_tool("look", {})

asyncio.run(main())
"""


async def logged(folder: Path) -> list[str]:
    store = SqliteStore(folder / "notes.db")
    try:
        return [entry.entry.kind for entry in await store.entries()]
    finally:
        await store.close()


@pytest.mark.parametrize("run", range(3))
@pytest.mark.parametrize("framework", ["sdk", "fastmcp"])
async def test_three_reads_are_in_the_log_of_a_process_whose_client_leaves_at_once(
    framework: str, run: int, tmp_path: Path
) -> None:
    script = SDK + REST + RUN if framework == "sdk" else FASTMCP + REST + RUN_QUIETLY
    (tmp_path / "notes.py").write_text(script)
    process = StdioServerParameters(command=sys.executable, args=["notes.py"], cwd=str(tmp_path))
    async with Client(stdio_client(process)) as client:
        for _ in range(3):
            assert not (await client.call_tool("look", {})).is_error
    assert await logged(tmp_path) == ["read"] * 3


def test_three_reads_are_in_the_log_of_a_program_that_never_closes_its_store(tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text(SDK + REST + IN_PROCESS)
    subprocess.run([sys.executable, "notes.py"], cwd=tmp_path, check=True, timeout=60)
    assert asyncio.run(logged(tmp_path)) == ["read"] * 3


def test_the_activity_of_a_decorated_function_is_the_sentence_of_the_feed(tmp_path: Path) -> None:
    link = "\n\n@server.tool()\n@contract(side_effect='read', activity='Made a link for {gtin}')\n"
    link += "def make_link(gtin: str) -> str:\n"
    calls = IN_PROCESS.replace('call_tool("look", {})', 'call_tool("make_link", {"gtin": "400"})')
    (tmp_path / "notes.py").write_text(SDK + link + "    return gtin\n" + REST + calls)
    subprocess.run([sys.executable, "notes.py"], cwd=tmp_path, check=True, timeout=60)
    (tmp_path / "assent.yaml").write_text(f"store: sqlite:///{tmp_path}/notes.db\n")
    shown = CliRunner().invoke(cli, ["audit", "tail", "--feed", "-c", str(tmp_path / "assent.yaml")]).output
    assert shown.count("Made a link for 400: read") == 3, shown


def test_an_entry_of_a_program_that_ends_with_its_event_loop_is_written_at_exit(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(
        "import asyncio, sys\n"
        "from assent.core.audit import Entry\n"
        "from assent.stores import SqliteStore\n"
        "from pathlib import Path\n"
        "async def main():\n"
        "    SqliteStore(Path('notes.db')).append(Entry('read', 1.0, {}, {}))\n"
        "    sys.exit(3)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "ends.py"], cwd=tmp_path, timeout=60).returncode == 3
    assert asyncio.run(logged(tmp_path)) == ["read"]
