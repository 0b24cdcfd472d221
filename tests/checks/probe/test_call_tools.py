"""Tools called over a URL, in memory, and where nobody answers."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

from assent.checks.probe.call_tools import ToolCaller, calling
from assent.errors import AssentError, EndedError, UnansweredError
from support.clients.transports import ROOT
from support.servers.loopback_server import serving


def echo_server() -> MCPServer:
    server = MCPServer("echo", log_level="ERROR")

    @server.tool()
    def echo(text: str) -> dict[str, str]:
        """Returns the text."""
        return {"text": text}

    return server


async def test_a_server_object_and_a_url_answer_alike() -> None:
    server = echo_server()
    async with calling(server) as inside:
        near = await inside.call("echo", {"text": "hi"})
    async with (
        serving(server.streamable_http_app(stateless_http=True)) as url,
        calling(url=url, headers={"X-Test": "1"}) as outside,
    ):
        far = await outside.call("echo", {"text": "hi"})
    assert near["structuredContent"] == far["structuredContent"] == {"text": "hi"}


async def test_a_protocol_error_is_not_an_answer() -> None:
    async def broken(context: Any, params: Any) -> Any:
        raise RuntimeError("out of order")

    said = ""
    async with calling(Server("broken", on_call_tool=broken)) as session:
        try:
            await session.call("anything", {})
        except UnansweredError as error:
            said = str(error)
    assert "Internal" in said


async def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AssentError):
        async with calling(url="http://127.0.0.1:9/mcp"):
            pass


@pytest.mark.parametrize("code", [CONNECTION_CLOSED, REQUEST_TIMEOUT])
async def test_a_servers_own_error_is_not_taken_for_its_end_or_its_silence(code: int) -> None:
    async def broken(context: Any, params: Any) -> Any:
        raise MCPError(code=code, message="no such item")

    server = Server("broken", on_call_tool=broken)
    async with calling(server) as session:
        near = await refused(session)
    async with serving(server.streamable_http_app(stateless_http=True)) as url, calling(url=url) as session:
        far = await refused(session)
    assert near == far == (UnansweredError, "no such item")


async def refused(session: ToolCaller) -> tuple[type[Exception], str]:
    with pytest.raises(UnansweredError) as caught:
        await session.call("anything", {})
    return caught.type, str(caught.value)


@pytest.mark.parametrize("kind", ["torn", "bare", "null"])
async def test_an_answer_that_cannot_be_read_is_told_at_once(kind: str) -> None:
    command = (sys.executable, str(ROOT / "tests" / "support" / "servers" / "forging_server.py"), kind)
    async with calling(command=command, patience=600) as caller:
        with pytest.raises(UnansweredError, match="its answer could not be read"):
            await caller.call("list_things", {})
        assert await caller.responds()


async def test_a_server_that_dies_while_it_answers_has_ended() -> None:
    command = (sys.executable, str(ROOT / "tests" / "support" / "servers" / "forging_server.py"), "dying")
    async with calling(command=command, patience=600) as caller:
        with pytest.raises(EndedError):
            await caller.call("list_things", {})
