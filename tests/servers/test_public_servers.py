"""Public servers nobody here wrote, behind `assent wrap`: listed with the right hints, called in both eras."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from support.clients.transports import ERAS, ROOT

PROGRAMS = ROOT / ".cache" / "servers" / "node_modules" / ".bin"
NODE = ROOT / ".cache" / "npm" / "node_modules" / "node" / "bin"
ASSENT = ["-c", "from assent.cli import main; main()", "wrap", "--"]
READS = {
    "filesystem": {
        "read_file", "read_text_file", "read_media_file", "read_multiple_files", "list_directory",
        "list_directory_with_sizes", "directory_tree", "search_files", "get_file_info", "list_allowed_directories",
    },
    "memory": {"read_graph", "search_nodes", "open_nodes"},
    "everything": {
        "echo", "get-annotated-message", "get-resource-links", "get-resource-reference",
        "get-structured-content", "get-sum", "get-tiny-image",
    },
}  # fmt: skip
DESTROYS = {
    "filesystem": {"write_file", "edit_file", "move_file"},
    "memory": {"delete_entities", "delete_observations", "delete_relations"},
    "everything": None,
}

pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "mcp-server-memory").exists(), reason="run .ci/install-node-tools for the public servers"
)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", sorted(READS))
async def test_a_public_server_is_listed_with_the_right_hints_and_called(name: str, era: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    path = f"{NODE}{os.pathsep}{os.environ['PATH']}"
    mine = {"XDG_STATE_HOME": str(tmp_path / "s"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    environment = {**os.environ, **mine, "PATH": path, "MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    command = [str(PROGRAMS / f"mcp-server-{name}"), *([str(tmp_path)] if name == "filesystem" else [])]
    server = StdioServerParameters(command=sys.executable, args=[*ASSENT, *command], env=environment)
    call = {
        "filesystem": ("read_text_file", {"path": str(tmp_path / "a.txt")}, "hello"),
        "memory": ("read_graph", {}, "entities"),
        "everything": ("echo", {"message": "hello"}, "Echo: hello"),
    }[name]
    async with Client(server, mode=era) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        called = await client.call_tool(call[0], call[1])  # type: ignore[arg-type]
    assert {tool for tool, said in hints.items() if said and said.read_only_hint} == READS[name]
    assert "get-env" not in hints, "the environment holds credentials, and an agent asks"
    if DESTROYS[name] is not None:
        assert {tool for tool, said in hints.items() if said and said.destructive_hint} == DESTROYS[name]
    assert call[2] in called.content[0].text  # type: ignore[union-attr]
