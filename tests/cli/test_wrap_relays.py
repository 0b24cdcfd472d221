"""What a server behind `assent wrap` says and asks by itself reaches the client as it is, and back, in both eras."""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning

from support.clients.transports import ERAS, ROOT

ASSENT = ["-c", "from assent.cli import main; main()", "wrap", "--"]
TALKING = str(ROOT / "tests" / "support" / "servers" / "talking_server.py")


@dataclass
class Host:
    """The client's own side: a model, some roots, a user, and ears."""

    logged: list[Any] = field(default_factory=list)
    progress: list[float] = field(default_factory=list)
    heard: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)

    async def sample(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        words = types.TextContent(type="text", text=f"heard: {params.messages[0].content.text}")  # type: ignore[union-attr]
        return types.CreateMessageResult(role="assistant", content=words, model="m")

    async def roots(self, _: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///home/ann")])  # type: ignore[arg-type]

    async def elicit(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert params.message == "Which colour?"
        return types.ElicitResult(action="accept", content={"colour": "green"})

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logged.append(params.data)

    async def on_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.progress.append(done)

    async def on_message(self, message: Any) -> None:
        self.heard.put_nowait(message)


@asynccontextmanager
async def wrapped(folder: Path, era: str, host: Host) -> AsyncIterator[Client]:
    mine = {"XDG_STATE_HOME": str(folder / "s"), "XDG_CONFIG_HOME": str(folder / "c")}
    arguments = [*ASSENT, sys.executable, TALKING, str(folder / "told")]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ, **mine})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        async with Client(
            server,
            mode=era,
            sampling_callback=host.sample,
            list_roots_callback=host.roots,
            elicitation_callback=host.elicit,
            logging_callback=host.log,
            log_level="info",
            message_handler=host.on_message,
        ) as client:
            yield client


def words(result: types.CallToolResult) -> str:
    (block,) = result.content
    return str(block.text)  # type: ignore[union-attr]


@pytest.mark.parametrize("era", ERAS)
async def test_what_the_server_asks_and_tells_passes_both_ways(era: str, tmp_path: Path) -> None:
    host = Host()
    async with wrapped(tmp_path, era, host) as client:
        assert client.protocol_version == (era if era != "legacy" else "2025-11-25")
        summary = await client.call_tool("get_summary", {})
        roots = await client.call_tool("list_client_roots", {})
        colour = await client.call_tool("get_colour", {})
        report = await client.call_tool("get_report", {}, progress_callback=host.on_progress)
        assert await watched(client, era, host) == "note://one"
        (content,) = (await client.read_resource("note://one")).contents
    assert [words(one) for one in (summary, roots, colour)] == [
        "heard: Say hello",
        "file:///home/ann",
        "accept green",
    ]
    assert (words(report), host.progress, host.logged) == ("read", [1, 2], ["reading"])
    assert content.text == "a note"  # type: ignore[union-attr]


async def watched(client: Client, era: str, host: Host) -> str:
    """The resource that we are told has changed, after we said that we want to know."""
    async with asyncio.timeout(20):
        if era != "legacy":
            async with client.listen(resource_subscriptions=["note://one"]) as stream:
                await client.call_tool("get_note", {})
                return str((await anext(stream)).uri)  # type: ignore[union-attr]
        await client.set_logging_level("info")
        await client.subscribe_resource("note://one")
        await client.call_tool("get_note", {})
        while type(message := await host.heard.get()).__name__ != "ResourceUpdatedNotification":
            pass
        await client.unsubscribe_resource("note://one")
        return str(message.params.uri)


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_the_client_gives_up_is_cancelled_at_the_server(era: str, tmp_path: Path) -> None:
    began = asyncio.Event()
    told = tmp_path / "told"
    os.mkfifo(told)

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        began.set()

    async with wrapped(tmp_path, era, Host()) as client:
        calling = asyncio.create_task(client.call_tool("get_nothing", {}, progress_callback=on_progress))
        await began.wait()
        calling.cancel()
        async with asyncio.timeout(20):
            assert await asyncio.to_thread(told.read_text) == "cancelled"
        await asyncio.gather(calling, return_exceptions=True)
