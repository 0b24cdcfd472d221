"""Public servers behind `assent wrap`, met by the official client as it is: its probe, its time-outs, its questions."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning

from servers.test_public_servers import NODE, PROGRAMS
from support.gateway.wrap_process import ASSENT, home

pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "mcp-server-memory").exists(), reason="run .ci/install-node-tools for the public servers"
)
ASKING = {"trigger-elicitation-request", "trigger-sampling-request"}


async def decline(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="decline")


async def sample(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    words = types.TextContent(type="text", text="sampled here")
    return types.CreateMessageResult(role="assistant", content=words, model="m")


def wrapped(folder: Path, name: str, *arguments: str) -> StdioServerParameters:
    path = f"{NODE}{os.pathsep}{os.environ['PATH']}"
    environment = {**home(folder), "PATH": path, "MEMORY_FILE_PATH": str(folder / "memory.json")}
    command = [str(PROGRAMS / f"mcp-server-{name}"), *arguments]
    return StdioServerParameters(command=ASSENT[0], args=[*ASSENT[1:], "wrap", "--", *command], env=environment)


@pytest.mark.parametrize("name", ["everything", "filesystem", "memory"])
async def test_a_public_server_is_met_by_the_handshake_it_speaks(name: str, tmp_path: Path) -> None:
    server = wrapped(tmp_path, name, *([str(tmp_path)] if name == "filesystem" else []))
    async with Client(server) as client:
        version, listed = client.protocol_version, (await client.list_tools()).tools
    assert version == "2025-11-25"
    assert len(listed) >= 9


async def test_a_public_server_asks_the_user_and_the_model_of_the_client(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        async with Client(
            wrapped(tmp_path, "everything"), elicitation_callback=decline, sampling_callback=sample
        ) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            sampled = await client.call_tool("trigger-sampling-request", {"prompt": "x"})
            asked = await client.call_tool("trigger-elicitation-request", {})
    assert listed >= ASKING
    assert "sampled here" in sampled.content[0].text  # type: ignore[union-attr]
    assert "declined" in asked.content[0].text  # type: ignore[union-attr]
