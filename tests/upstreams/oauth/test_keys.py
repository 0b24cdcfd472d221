"""Upstreams behind a URL with a key of each person: `assent login` keeps the key that lists the tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from assent.cli.login import login
from assent.config.load import parse_settings
from assent.contract.yaml_document import write_yaml
from assent.errors import FaultsError
from assent.upstreams.credentials import PersonOwner
from assent.web.asgi import App, Receive, Scope, Send
from support.decisions.problems import problem
from support.gateway.gateways import configuration, gateway
from support.servers.loopback_server import serving
from upstreams.oauth.test_gateway import read

KEYS = {b"key-that-lists": "team", b"key-at-notes": "ann"}


def notes_server(calls: list[str]) -> App:
    """A server that answers nobody without a known key."""
    server = MCPServer("notes", log_level="ERROR")

    @server.tool()
    def read_note(name: str, ctx: Context[Any, Any]) -> str:
        """Reads a note."""
        calls.append(KEYS[ctx.request_context.request.headers["x-api-key"].encode()])
        return f"{name} of {calls[-1]}"

    inner = server.streamable_http_app()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"x-api-key") not in KEYS:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            return await send({"type": "http.response.body", "body": b""})
        return await inner(scope, receive, send)

    return app


async def test_an_operator_gives_the_key_that_lists_and_each_person_calls_with_their_own(tmp_path: Path) -> None:
    calls: list[str] = []
    people = [{"name": name, "key": f"key-of-{name}", "kind": "agent", "scopes": ["*"]} for name in ("ann", "ben")]
    async with serving(notes_server(calls)) as address:
        own = {"auth": "key", "identity": "per_user", "key_header": "X-Api-Key", "key_prefix": ""}
        settings = {"upstreams": {"notes": {"url": address, **own}}, "auth": {"api_keys": people}, "contracts": []}
        config = tmp_path / "assent.yaml"
        config.write_text(configuration(tmp_path, **settings))

        def assent_login(*more: str, key: str = "") -> Result:
            return CliRunner().invoke(login, ["notes", "-c", str(config), *more], input=f"{key}\n")

        async with gateway(tmp_path, **settings) as (url, app), httpx2.AsyncClient() as http:
            assert "assent login notes" in str(app.tools.troubles["notes"])
            done = await asyncio.to_thread(assent_login, key="key-that-lists")
            assert "notes is connected." in done.output and "key-that-lists" not in done.output
            await app.reload("notes")
            assert app.tools.troubles == {}
            await app.runtime.vault.put("notes", PersonOwner("local", "ann"), {"key": "key-at-notes"})
            served, refused = await read(http, url, "ann", "plan"), await read(http, url, "ben", "plan")
        gone = await asyncio.to_thread(assent_login, "--logout")
    assert served["content"][0]["text"] == "plan of ann"
    assert problem(refused)["code"] == "guard.not_connected"
    assert calls == ["ann"], "the key that lists gets no call"
    assert "notes is disconnected." in gone.output


def test_a_key_that_cannot_be_sent_is_refused_in_words(tmp_path: Path) -> None:
    config = tmp_path / "assent.yaml"
    upstreams = {
        "notes": {"url": "https://notes.example/mcp", "auth": "key", "identity": "per_user"},
        "tickets": {"command": ["x"], "auth": "key", "identity": "per_user", "key_env": "TICKETS_TOKEN"},
        "plain": {"url": "https://plain.example/mcp"},
    }
    config.write_text(configuration(tmp_path, upstreams))

    def refusal(name: str, given: str) -> str:
        return str(CliRunner().invoke(login, [name, "-c", str(config)], input=given).exception)

    assert "not printable ASCII" in refusal("notes", "\n")
    assert "not printable ASCII" in refusal("notes", "ké\n")
    assert "key in `env`" in refusal("tickets", "a\n")
    assert "neither OAuth nor keys" in refusal("plain", "a\n")


@pytest.mark.parametrize("auth", ["key", "oauth"])
def test_a_test_address_that_no_connection_could_serve_is_said_at_load(auth: str) -> None:
    one = {"url": "https://a.example/mcp", "auth": auth, "identity": "per_user", "test": {"url": "https://b.example/"}}
    with pytest.raises(FaultsError, match="connections are live accounts"):
        parse_settings(write_yaml({"upstreams": {"notes": one}}))
