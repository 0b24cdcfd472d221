"""No page, list, text or completion tells an agent of a tool that is forbidden for AI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp_types import Completion, PromptReference

from assent import Assent, contract
from assent.contract.yaml_document import write_yaml
from assent.fastmcp import Assent as FastMCPAssent
from assent.pipeline.tool_mentions import Mentions
from support.clients.transports import connect, over_http
from support.gateway.gateways import ANN_KEY, CI, gateway, post, rpc

SECRET = "read_private_key"
TEXT = f"Lists orders. Unlike {SECRET}, it changes nothing. Up to ten."
CONTRACTS = {
    "list_orders": {"side_effect": "read", "permissions": ["orders:read"]},
    SECRET: {"side_effect": "read", "risk": "forbidden", "permissions": ["keys:export"]},
}
AUTH = {
    "api_keys": [
        {"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]},
        {"name": "ann", "key": ANN_KEY, "kind": "human", "scopes": ["*"]},
    ]
}


def shop() -> MCPServer:
    server = MCPServer("shop", instructions=f"Sells scenes.\nUse {SECRET} for keys.\nBe polite.", log_level="ERROR")

    @server.tool(description=TEXT)
    def list_orders(limit: int = 2) -> list[str]:
        return ["o-1"][:limit]

    @server.tool(name=SECRET)
    def secret() -> str:
        """Reads the private key."""
        return "key"

    @server.prompt(description=f"Explains a tool. See `{SECRET}`.")
    def explain(tool: str) -> str:
        return f"Explain {tool}."

    @server.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=["list_orders", SECRET], total=2)

    return server


@asynccontextmanager
async def front(folder: Path, upstreams: int, **more: Any) -> AsyncIterator[str]:
    """A gateway before one server, or before two."""
    (folder / "own.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    async with over_http(shop()) as one, over_http(MCPServer("other", log_level="ERROR")) as other:
        configured = {"shop": {"url": one, "prefix": ""}, "other": {"url": other}}
        served = dict(list(configured.items())[:upstreams])
        settings = {"auth": AUTH, "contracts": [str(folder / "own.yaml")], **more}
        async with gateway(folder, served, **settings) as (url, _):
            yield url


async def everything_said(url: str, era: str, key: str) -> str:
    """All that a client is told of the server beside the results of calls."""
    headers = {"authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with connect(streamable_http_client(url, http_client=http), era, None) as client:
            tools, prompts = await client.list_tools(), await client.list_prompts()
            reference = PromptReference(name=prompts.prompts[0].name)
            completed = await client.complete(reference, {"name": "tool", "value": ""})
            parts = [tools, prompts, completed]
            return (client.instructions or "") + "".join(part.model_dump_json() for part in parts)


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("upstreams", [1, 2], ids=["one", "two"])
async def test_an_agent_is_told_nothing_of_it_and_everything_else(era: str, upstreams: int, tmp_path: Path) -> None:
    async with front(tmp_path, upstreams) as url:
        told = await everything_said(url, era, CI)
    assert SECRET not in told
    for kept in ("Sells scenes.", "Be polite.", "Lists orders.", "Up to ten.", "Explains a tool.", "list_orders"):
        assert kept in told


async def test_a_person_is_told_of_it(tmp_path: Path) -> None:
    async with front(tmp_path, 1) as url:
        told = await everything_said(url, "legacy", ANN_KEY)
    assert told.count(SECRET) >= 4


async def test_metrics_do_not_name_it_after_a_person_used_it(tmp_path: Path) -> None:
    async with front(tmp_path, 1) as url, httpx2.AsyncClient(timeout=60) as client:
        for name in (SECRET, "list_orders"):
            answered = await post(url, rpc("tools/call", name=name, arguments={}), authorization=f"Bearer {ANN_KEY}")
            assert answered.status_code == 200
        page = (await client.get(url.replace("/mcp", "/metrics"))).text
    assert 'assent_calls_total{tool="list_orders",outcome="answered"} 1' in page
    assert SECRET not in page
    assert "assent_tools 1\n" in page


async def test_metadata_does_not_publish_its_permissions(tmp_path: Path) -> None:
    auth = {"jwt": {"issuer": "http://127.0.0.1:1", "audience": "x"}}
    async with front(tmp_path, 1, auth=auth) as url, httpx2.AsyncClient(timeout=60) as client:
        said = (await client.get(url.replace("/mcp", "/.well-known/oauth-protected-resource"))).json()
        refused = await post(url, rpc("tools/list"))
    assert said["scopes_supported"] == ["orders:read"]
    assert "keys:export" not in refused.headers["www-authenticate"]


def tool_loader(server: Any) -> None:
    @server.tool(description=TEXT)
    @contract(side_effect="read")
    def list_orders(limit: int = 2) -> list[str]:
        return ["o-1"][:limit]

    @server.tool(name=SECRET)
    @contract(side_effect="read", risk="forbidden")
    def secret() -> str:
        """Reads the private key."""
        return "key"


async def test_a_library_server_does_not_mention_it_either() -> None:
    assent = Assent()
    server = MCPServer("shop", extensions=[assent.extension()], log_level="ERROR")
    tool_loader(server)
    assent.apply(server)
    async with connect(server, "legacy", None) as client:
        (tool,) = (await client.list_tools()).tools
    assert tool.description == "Lists orders. Up to ten."


async def test_nor_does_a_server_on_fastmcp() -> None:
    assent = FastMCPAssent()
    server: FastMCP = FastMCP("shop")
    tool_loader(server)
    assent.apply(server)
    async with FastMCPClient(server) as client:
        (tool,) = await client.list_tools()
    assert tool.description == "Lists orders. Up to ten."


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Run it now. Call `run` first.", "Run it now."),
        ("They run fast.", "They run fast."),
        ("See orders.delete for more. Good.", "Good."),
        ("See orders.delete.", ""),
        ("my_orders.delete is another.", "my_orders.delete is another."),
    ],
)
def test_a_name_that_is_an_ordinary_word_counts_only_as_code(text: str, left: str) -> None:
    assert Mentions(["run", "orders.delete"]).strip(text) == left
