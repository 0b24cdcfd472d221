"""An upstream that cannot be reached or wants credentials: the operator learns what is missing and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.gateways import gateway, post, rpc
from support.scripted_server import Conversation, ScriptedServer

CHALLENGE = b'www-authenticate: Bearer resource_metadata="https://auth.example/canary"\r\n'


async def denying(conversation: Conversation) -> None:
    while True:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 401 Unauthorized\r\n%bcontent-length: 0\r\n\r\n" % CHALLENGE)


@pytest.mark.parametrize(
    ("headers", "missing"),
    [
        ({}, "needs credentials: write `headers: {Authorization: Bearer ...}` at `upstreams.shop`"),
        (
            {"Authorization": "Bearer old"},
            "did not accept the Authorization header of `upstreams.shop.headers`: correct or renew the token",
        ),
    ],
)
async def test_an_upstream_that_answers_401_is_reported_with_what_is_missing(
    headers: dict[str, str], missing: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ScriptedServer(denying) as server:
        upstream: dict[str, Any] = {"url": f"{server.url}?key=secret", "headers": headers}
        async with gateway(tmp_path, {"shop": upstream}) as (_, gateway_app):
            trouble = gateway_app.troubles()["shop"]
    assert trouble == (
        f"answered 401. {server.url.removesuffix('/mcp')} {missing};"
        " tokens come from the authorization server that it names (OAuth)"
    )
    assert f"upstream shop: {trouble}" in caplog.text
    assert "secret" not in caplog.text and "canary" not in caplog.text


async def test_an_upstream_that_refuses_connections_is_reported_with_its_address(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"shop": {"url": "http://127.0.0.1:9/mcp?key=secret"}}) as (url, gateway_app):
        trouble = gateway_app.troubles()["shop"]
        called = await post(url, rpc("resources/list"))
    assert trouble == (
        "no connection (ConnectionRefusedError). Nothing answers at http://127.0.0.1:9:"
        " start the server, or correct the address at `upstreams.shop`"
    )
    assert "127.0.0.1:9" not in called.text, "a caller does not learn where an upstream is"
