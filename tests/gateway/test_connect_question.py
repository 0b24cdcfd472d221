"""Clients that can open a page are led to the connect page; the call goes on when the person has connected."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ElicitRequestURLParams, ElicitResult

import assent.gateway.connections
from assent.gateway.app import GatewayApp
from assent.upstreams.credentials import SHARED
from support.decisions.problems import problem
from support.gateway.gateways import gateway, post, rpc
from support.identity.oauth_server import OAuthServer, oauth_server
from upstreams.oauth.test_gateway import connect, settings
from upstreams.oauth.test_tokens import sign_in

MODES = ["legacy", "auto"]


class Host:
    """A client's host that opens the page, where the person does what the test says."""

    def __init__(self, app: GatewayApp, server: OAuthServer, action: str = "accept", connects: bool = True) -> None:
        self.app, self.server, self.action, self.connects = app, server, action, connects
        self.asked: list[ElicitRequestURLParams] = []

    async def elicit(self, _: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        self.asked.append(params)
        if self.connects:
            await connect(self.app, self.server, "ann")
        return ElicitResult(action=self.action)  # type: ignore[arg-type]


@asynccontextmanager
async def notes(folder: Path) -> AsyncIterator[tuple[str, GatewayApp, OAuthServer]]:
    async with oauth_server() as server, gateway(folder, **settings(server, "per_user")) as (url, app):
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "operator")).as_json())
        await app.reload("notes")
        yield url, app, server


async def read_note(url: str, mode: str, host: Host) -> str:
    headers = {"authorization": "Bearer key-of-ann"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=host.elicit) as client:
                block = (await client.call_tool("read_note", {"name": "plan"})).content[0]
    return str(block.text)  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_connects_on_the_page_and_the_call_goes_on(mode: str, tmp_path: Path) -> None:
    async with notes(tmp_path) as (url, app, server):
        host = Host(app, server)
        assert await read_note(url, mode, host) == "plan of ann"
        assert await read_note(url, mode, host) == "plan of ann"
    (asked,) = host.asked
    assert asked.url.endswith("/console/connections?upstream=notes")
    assert asked.message == "notes is not connected. Nothing has run."
    assert server.calls == [("ann", "plan")] * 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["decline", "cancel", "accept"])
async def test_a_person_who_does_not_connect_gets_the_link_as_text(
    mode: str, action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assent.gateway.connections, "WITHIN", 0.0)
    async with notes(tmp_path) as (url, app, server):
        host = Host(app, server, action, connects=False)
        text = await read_note(url, mode, host)
    assert "/console/connections?upstream=notes" in text
    assert len(host.asked) == 1, "nobody is asked twice in one call"
    assert server.calls == []


async def test_a_client_without_the_capability_gets_the_link_as_text(tmp_path: Path) -> None:
    async with notes(tmp_path) as (url, _, _):
        called = rpc("tools/call", name="read_note", arguments={"name": "plan"})
        answer = await post(url, called, authorization="Bearer key-of-ann")
    result = answer.json()["result"]
    assert problem(result)["connect_url"] in result["content"][0]["text"]
