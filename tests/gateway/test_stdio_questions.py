"""What a handshake server behind `command:` asks reaches its caller, alone and among several upstreams."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from support.clients.transports import ROOT, over_http
from support.gateway.gateways import Shop, gateway

HANDSHAKE_ONLY = (
    "from mcp.server import runner; runner._has_modern_envelope = lambda params: False;"
    "from support.servers import talking_server; talking_server.server.run()"
)
TALKER = {"command": [sys.executable, "-c", HANDSHAKE_ONLY], "env": {"PYTHONPATH": str(ROOT / "tests")}}
MODES = ("legacy", "auto", "2026-07-28")


class Host:
    """A client's user and model."""

    def __init__(self, colour: str) -> None:
        self.colour, self.asked = colour, asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def elicit(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.set()
        await self.may_answer.wait()
        return types.ElicitResult(action="accept", content={"colour": self.colour})

    async def sample(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        words = types.TextContent(type="text", text=f"hello from {self.colour}")
        return types.CreateMessageResult(role="assistant", content=words, model="m")


@asynccontextmanager
async def connected(url: str, mode: str, host: Host) -> AsyncIterator[Client]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        async with Client(url, mode=mode, elicitation_callback=host.elicit, sampling_callback=host.sample) as client:
            yield client


async def said(client: Client, tool: str) -> str:
    (block,) = (await client.call_tool(tool, {})).content
    return str(block.text)  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", MODES)
async def test_a_command_upstream_asks_the_user_and_the_model_of_its_caller(mode: str, tmp_path: Path) -> None:
    async with gateway(tmp_path, {"talker": TALKER}, mode="observe") as (url, _):
        async with connected(url, mode, Host("green")) as client:
            answers = [await said(client, tool) for tool in ("get_colour", "get_summary")]
    assert answers == ["accept green", "hello from green"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_command_upstream_among_several_asks_too(mode: str, tmp_path: Path) -> None:
    async with over_http(Shop().server) as shop:
        upstreams = {"talker": TALKER, "shop": {"url": shop}}
        async with gateway(tmp_path, upstreams, mode="observe") as (url, _):
            async with connected(url, mode, Host("green")) as client:
                answers = [await said(client, tool) for tool in ("talker_get_colour", "talker_get_summary")]
    assert answers == ["accept green", "hello from green"]


async def test_a_question_while_calls_of_two_clients_are_under_way_is_asked_of_neither(tmp_path: Path) -> None:
    slow, other = Host("green"), Host("blue")
    slow.may_answer.clear()
    async with gateway(tmp_path, {"talker": TALKER}, mode="observe") as (url, _):
        async with connected(url, "legacy", slow) as one, connected(url, "legacy", other) as two:
            first = asyncio.create_task(said(one, "get_colour"))
            await slow.asked.wait()
            with pytest.raises(MCPError, match="the client cannot be asked"):
                await said(two, "get_colour")
            slow.may_answer.set()
            answers = [await first, await said(two, "get_colour")]
    assert answers == ["accept green", "accept blue"]


async def test_a_client_that_cannot_be_asked_is_not_asked(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"talker": TALKER}, mode="observe") as (url, _):
        async with Client(url, mode="legacy") as client:
            with pytest.raises(MCPError, match="the client cannot be asked"):
                await said(client, "get_colour")
