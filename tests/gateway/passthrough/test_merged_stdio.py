"""Several upstreams behind one endpoint, one of them a process: what it has beside tools, in every pair of eras."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning

from assent.gateway.app import GatewayApp
from support.clients.transports import ERAS, ROOT, connect
from support.gateway.gateways import ANN_KEY, CI, gateway, post, rpc
from support.servers.library_server import Library
from support.servers.loopback_server import serving

pytestmark = pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
UPSTREAM_ERAS = ("modern", "handshake")
TOOLS = ("find_words", "get_news")


@asynccontextmanager
async def library(folder: Path, era: str, **more: Any) -> AsyncIterator[tuple[str, GatewayApp]]:
    """`alpha` behind a URL, `beta` a process."""
    alpha = Library("alpha")
    contracts = {f"{name}_{tool}": {"side_effect": "read"} for name in ("alpha", "beta") for tool in TOOLS}
    (folder / "read.yaml").write_text(json.dumps({"tools": contracts}))
    async with serving(alpha.server.streamable_http_app()) as url:
        beta = {
            "command": [sys.executable, str(ROOT / "tests" / "support" / "servers" / "library_server.py"), "beta", era]
        }
        upstreams = {"alpha": {"url": url}, "beta": beta}
        async with gateway(folder, upstreams, contracts=[str(folder / "read.yaml")], **more) as (url, gateway_app):
            yield url, gateway_app


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=UPSTREAM_ERAS)
def upstream(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_process_offers_its_resources_templates_prompts_and_completions(
    era: str, upstream: str, tmp_path: Path
) -> None:
    async with library(tmp_path, upstream) as (url, _), connect(url, era, None) as client:
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]

        async def read(uri: str) -> str:
            return (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]

        assert await read("beta://books/1") == "book one of beta"
        assert await read("shared://motto") == "motto of alpha"
        assert await read("beta://pages/7") == "page 7 of beta"
        greeting = await client.get_prompt("beta_greet", {"who": "Ann"})
        assert greeting.messages[0].content.text == "beta greets Ann"  # type: ignore[union-attr]
        reference = types.PromptReference(type="ref/prompt", name="beta_greet")
        assert (await client.complete(reference, {"name": "who", "value": "a"})).completion.values == ["beta-a"]
    assert prompts == ["alpha_greet", "beta_greet"]
    assert resources == ["alpha://books/1", "shared://motto", "beta://books/1"]
    assert templates == ["alpha://pages/{number}", "beta://pages/{number}"]


class Heard:
    """What a client hears while its call runs."""

    def __init__(self) -> None:
        self.progress: list[float] = []
        self.logged: list[str] = []

    async def on_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.progress.append(done)

    async def on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logged.append(str(params.data))

    async def find_words(self, url: str, era: str, level: Any = "info") -> None:
        client = Client(url, mode=era, logging_callback=self.on_log, log_level=level)  # type: ignore[arg-type]
        async with client:
            if era == "legacy":
                await client.set_logging_level(level)
            await client.call_tool("beta_find_words", {}, progress_callback=self.on_progress)


async def test_progress_and_log_messages_of_a_process_arrive_while_its_tool_runs(
    era: str, upstream: str, tmp_path: Path
) -> None:
    heard = Heard()
    async with library(tmp_path, upstream) as (url, _):
        await heard.find_words(url, era)
    assert (heard.progress, heard.logged) == ([1], ["log of beta"])


async def test_a_client_hears_no_more_than_it_asked_for_whatever_another_wants(era: str, tmp_path: Path) -> None:
    curious, calm = Heard(), Heard()
    async with library(tmp_path, "handshake") as (url, gateway_app):
        await calm.find_words(url, era, "error")
        await curious.find_words(url, era, "debug")
        await calm.find_words(url, era, "error")
        level = gateway_app.current.links["beta"].upstream.level  # type: ignore[union-attr]
    assert (curious.logged, calm.logged) == (["log of beta"], [])
    assert level == ("debug" if era == "legacy" else None)


async def test_a_subscriber_hears_of_its_resource_at_a_process_and_of_no_other(
    era: str, upstream: str, tmp_path: Path
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.put_nowait(str(message.params.uri))

    mine = "beta://books/1"
    async with library(tmp_path, upstream) as (url, _):
        async with Client(url, mode=era, message_handler=on_message) as client:  # type: ignore[arg-type]
            if era == "legacy":
                await client.subscribe_resource(mine)
                for uri in ("beta://pages/3", mine):
                    await client.call_tool("beta_get_news", {"uri": uri})
                async with asyncio.timeout(10):
                    assert await heard.get() == mine
                await client.unsubscribe_resource(mine)
            else:
                async with client.listen(resource_subscriptions=[mine, "other://x"]) as stream:
                    for uri in ("beta://pages/3", mine):
                        await client.call_tool("beta_get_news", {"uri": uri})
                    async with asyncio.timeout(10):
                        event = await anext(stream)
                    assert event.uri == mine
    while not heard.empty():
        assert heard.get_nowait() == mine


async def test_what_a_process_logs_is_nobodys_once_two_principals_use_it(tmp_path: Path) -> None:
    keys = [
        {"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]},
        {"name": "ann", "key": ANN_KEY, "kind": "human", "scopes": ["*"]},
    ]
    async with library(tmp_path, "modern", auth={"api_keys": keys}) as (url, _):
        said = [await logged(url, key) for key in (CI, CI, ANN_KEY, CI)]
    assert said == [True, True, False, False]


async def logged(url: str, key: str) -> bool:
    """Whether the answer to one call of the new era brings what the tool logs."""
    envelope = {
        types.PROTOCOL_VERSION_META_KEY: "2026-07-28",
        types.CLIENT_INFO_META_KEY: {"name": "test", "version": "1"},
        types.CLIENT_CAPABILITIES_META_KEY: {},
        types.LOG_LEVEL_META_KEY: "info",
    }
    fields = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "beta_find_words"}
    body = rpc("tools/call", name="beta_find_words", arguments={}, _meta=envelope)
    answer = await post(url, body, authorization=f"Bearer {key}", **fields)
    assert "words" in answer.text
    return "log of beta" in answer.text
