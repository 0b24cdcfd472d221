"""A public server lists some tools by what its client can do: behind us as directly."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning

from support.clients.transports import ERAS, ROOT, over_http
from support.gateway.gateways import Shop, gateway

SERVER = ROOT / ".cache/servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
NODE = ROOT / ".cache/npm/node_modules/node/bin/node"
CONDITIONAL = {"get-roots-list", "trigger-elicitation-request", "trigger-url-elicitation", "trigger-sampling-request"}

pytestmark = [
    pytest.mark.skipif(not SERVER.exists(), reason="run .ci/install-node-tools for the public servers"),
    pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning"),
]


async def fill(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ann"})


async def write(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    text = types.TextContent(type="text", text="a poem")
    return types.CreateMessageResult(role="assistant", content=text, model="m")


async def roots(_: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///srv", name="srv")])  # type: ignore[arg-type]


CLIENTS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "elicitation": {"elicitation_callback": fill},
    "sampling": {"sampling_callback": write},
    "roots": {"list_roots_callback": roots},
    "all": {"elicitation_callback": fill, "sampling_callback": write, "list_roots_callback": roots},
}
LISTED = {
    "nothing": set[str](),
    "elicitation": {"trigger-elicitation-request", "trigger-url-elicitation"},
    "sampling": {"trigger-sampling-request"},
    "roots": {"get-roots-list"},
    "all": CONDITIONAL,
}


def node() -> str:
    program = str(NODE) if NODE.exists() else shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed")
    return program


async def conditional(client: Client) -> set[str]:
    return {tool.name.removeprefix("everything_") for tool in (await client.list_tools()).tools} & CONDITIONAL


async def test_directly_the_server_makes_a_difference() -> None:
    server = StdioServerParameters(command=node(), args=[str(SERVER)])
    async with Client(server, mode="legacy", **CLIENTS["elicitation"]) as client:
        assert await conditional(client) == LISTED["elicitation"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("who", ["nothing", "all"])
async def test_wrap_lists_what_the_server_lists_to_this_client(who: str, era: str, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "s"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    words = ["-c", "from assent.cli import main; main()", "wrap", "--", node(), str(SERVER)]
    server = StdioServerParameters(command=sys.executable, args=words, env=environment)
    async with Client(server, mode=era, **CLIENTS[who]) as client:
        assert await conditional(client) == LISTED[who]


@contextmanager
def everything() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [node(), str(SERVER), "streamableHttp"]
    with subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        try:
            while b"listening" not in (line := process.stderr.readline()):
                assert line, "the server ended"
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


@pytest.mark.parametrize("merged", [False, True])
async def test_the_gateway_lists_what_the_server_lists_to_each_client(merged: bool, tmp_path: Path) -> None:
    with everything() as address:
        async with over_http(Shop().server) as shop:
            upstreams = {"everything": {"url": address}} | ({"shop": {"url": shop}} if merged else {})
            async with gateway(tmp_path, upstreams, mode="observe", contracts=[]) as (url, _):
                for era in ERAS:
                    for who, can in CLIENTS.items():
                        async with Client(url, mode=era, **can) as client:
                            assert await conditional(client) == LISTED[who], (era, who)
                name = "everything_trigger-sampling-request" if merged else "trigger-sampling-request"
                async with Client(url, mode="legacy", **CLIENTS["all"]) as client:
                    called = await client.call_tool(name, {"prompt": "p", "maxTokens": 5})
    assert "a poem" in called.content[0].text  # type: ignore[union-attr]
