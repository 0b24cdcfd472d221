"""An upstream that cannot be reached or wants credentials: the operator learns what is missing and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assent.core.claims import State
from support.clients.transports import over_http
from support.decisions.problems import problem
from support.gateway.gateways import KEY, Shop, gateway, post, rpc
from support.servers.scripted_server import Conversation, ScriptedServer

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
            trouble = gateway_app.tools.troubles["shop"]
    assert trouble == (
        f"answered 401. {server.url.removesuffix('/mcp')} {missing};"
        " tokens come from the authorization server that it names (OAuth)"
    )
    assert f"upstream shop: {trouble}" in caplog.text
    assert "secret" not in caplog.text and "canary" not in caplog.text


class ExpiringCredentials:
    """The shop behind a check that accepts our credentials until a tool is called."""

    def __init__(self, status: int, body: bytes) -> None:
        self.shop, self.status, self.body = Shop(), status, body
        self._app = self.shop.server.streamable_http_app()

    def http_app(self) -> Any:
        return self

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        message = await receive()
        if b'"tools/call"' not in message.get("body", b""):
            return await self._app(scope, _beginning_with(message, receive), send)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(self.body))]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def _beginning_with(message: Any, receive: Any) -> Any:
    messages = [message]

    async def receive_again() -> Any:
        return messages.pop() if messages else await receive()

    return receive_again


REFUSED = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "token expired"}}'


@pytest.mark.parametrize("body", [b"", REFUSED])
@pytest.mark.parametrize("status", [401, 403])
async def test_a_call_whose_credentials_the_upstream_refuses_has_not_begun(
    status: int, body: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    upstream = ExpiringCredentials(status, body)
    contracts = tmp_path / "writing.yaml"
    contracts.write_text("tools:\n  place_order: {side_effect: write}\n")
    async with (
        over_http(upstream) as address,
        gateway(tmp_path, {"shop": {"url": address}}, contracts=[str(contracts)]) as (url, gateway_app),
    ):
        call = rpc("tools/call", name="place_order", arguments={"item": "tea"}, _meta={KEY: "k-1"})
        answers = [problem((await post(url, call)).json()["result"]) for _ in range(2)]
        claims = await gateway_app.store.claims()
    assert [one["code"] for one in answers] == ["execute.unavailable"] * 2, "the key is free for another attempt"
    assert {claim.state for claim in claims} == {State.FAILED_NO_EFFECT}
    assert upstream.shop.effects == []
    assert f"upstream shop refused place_order: answered {status}" in caplog.text, "the operator learns why"


async def test_an_upstream_that_refuses_connections_is_reported_with_its_address(tmp_path: Path) -> None:
    async with gateway(tmp_path, {"shop": {"url": "http://127.0.0.1:9/mcp?key=secret"}}) as (url, gateway_app):
        trouble = gateway_app.tools.troubles["shop"]
        called = await post(url, rpc("resources/list"))
    assert trouble == (
        "no connection (ConnectionRefusedError). Nothing answers at http://127.0.0.1:9:"
        " start the server, or correct the address at `upstreams.shop`"
    )
    assert "127.0.0.1:9" not in called.text, "a caller does not learn where an upstream is"
