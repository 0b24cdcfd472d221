"""After a 503 of a service that honours keys, the caller repeats with the same key, and nobody is asked twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp import Client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assent import GovernedClient
from assent.client.question import Answer
from support.gateway.gateways import gateway
from support.openapi.documents import ok, sending
from support.openapi.service import serving

KEY = "dev.assent/idempotencyKey"
ORDER = {
    "operationId": "orders.place",
    "x-side-effect": "external_spend",
    "parameters": [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}],
    "requestBody": sending({"type": "object", "properties": {"item": {"type": "string"}}}),
    "responses": ok(),
}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "market", "version": "1"},
    "paths": {"/orders": {"post": ORDER}, "/unkeyed": {"post": {**ORDER, "operationId": "pay", "parameters": []}}},
}


class Market:
    """Charges once per key; its first answers are lost in a 503."""

    def __init__(self, outages: int) -> None:
        self.outages, self.charged = outages, list[str]()
        routes = [Route(path, self.place, methods=["POST"]) for path in ("/orders", "/unkeyed")]
        self.app = Starlette(routes=routes)

    async def place(self, request: Request) -> Response:
        key = request.headers.get("idempotency-key", f"none-{len(self.charged)}")
        if key not in self.charged:
            self.charged.append(key)
        if self.outages:
            self.outages -= 1
            return JSONResponse({"title": "Service Unavailable", "status": 503}, 503)
        return JSONResponse({"order": self.charged.index(key)})


BY_USER: dict[str, Any] = {
    "defaults": {"confirmation": {"critical": "user"}},
    "auth": {"anonymous": {"kind": "agent", "scopes": ["*"], "asks": "person"}},
}


async def no_time(seconds: float) -> None:
    return None


def upstreams(folder: Path, base: str) -> dict[str, Any]:
    (folder / "api.json").write_text(json.dumps(DOCUMENT))
    return {"market": {"openapi": str(folder / "api.json"), "base_url": base}}


async def test_the_client_repeats_with_the_same_key_and_the_person_is_asked_once(tmp_path: Path) -> None:
    market, asked = Market(outages=2), list[Any]()

    def yes(question: Any) -> Answer:
        asked.append(question)
        return Answer("accept")

    async with serving(market.app) as base, gateway(tmp_path, upstreams(tmp_path, base), **BY_USER) as (url, _):
        async with GovernedClient(url, trusted=True, asker=yes, sleep=no_time) as client:
            result = await client.call_tool("orders.place", {"item": "x"})
    assert result.structured_content == {"order": 0}
    assert (len(market.charged), len(asked)) == (1, 1)


async def test_an_agent_reads_that_the_same_key_works_and_it_does(tmp_path: Path) -> None:
    market = Market(outages=1)
    free = {"side_effect": "external_spend", "confirmation": {"by": "none", "because": "a test"}}
    (tmp_path / "own.yaml").write_text(json.dumps({"tools": {"orders.place": free}}))
    more = {"contracts": [str(tmp_path / "own.yaml")]}
    async with serving(market.app) as base, gateway(tmp_path, upstreams(tmp_path, base), **more) as (url, _):
        async with Client(url) as client:
            lost = await client.call_tool("orders.place", {"item": "x"}, meta={KEY: "k-1"})
            again = await client.call_tool("orders.place", {"item": "x"}, meta={KEY: "k-1"})
    problem = lost.structured_content or {}
    assert (problem["code"], problem["status"], problem["retryable"]) == ("execute.in_doubt", 502, True)
    assert "same idempotency key" in lost.content[0].text  # type: ignore[union-attr]
    assert "operator" not in lost.content[0].text  # type: ignore[union-attr]
    assert again.structured_content == {"order": 0}
    assert len(market.charged) == 1


async def test_without_a_key_at_the_service_the_call_stays_in_doubt_and_is_not_repeated(tmp_path: Path) -> None:
    market = Market(outages=1)
    async with serving(market.app) as base, gateway(tmp_path, upstreams(tmp_path, base), **BY_USER) as (url, _):
        async with GovernedClient(url, asker=lambda _: Answer("accept"), sleep=no_time) as client:
            result = await client.call_tool("pay", {"item": "x"})
    problem = result.structured_content or {}
    assert (problem["code"], problem["retryable"]) == ("execute.in_doubt", False)
    assert len(market.charged) == 1
