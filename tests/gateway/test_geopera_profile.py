"""An API of operations with tiers, scopes and keys, under the profile `geopera`, from the client to the service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assent.config.load import load_settings
from assent.contract.yaml_document import write_yaml
from assent.gateway.app import open_gateway
from assent.gateway.status_pages import StatusPages
from support.clients.transports import ERAS, Person, connect
from support.decisions.problems import problem as problem_of
from support.openapi.documents import document, ok, parameter, problem, sending
from support.openapi.service import serving as serving_api
from support.servers.loopback_server import serving

KEY = "dev.assent/idempotencyKey"
SCENES = {"scenes": {"type": "array", "items": {"type": "string"}}}


def operation(name: str, tier: str, body: Any, *, header: bool = False, media: str = "application/json") -> Any:
    """One as the vendor's generator writes it: a POST under its own name, the gateway's credential a parameter."""
    described = {
        "operationId": name,
        "summary": name,
        "x-side-effect": tier,
        "x-required-scope": f"{name.split('.')[0]}:write",
        "x-produces": ["order"] if tier == "external_spend" else [],
        "x-raw-response": False,
        "parameters": [parameter("x-api-key", "header")] + ([parameter("Idempotency-Key", "header")] if header else []),
        "requestBody": sending(body, required=False),
        "responses": {**ok({"type": "object"}, media), "403": problem("Forbidden"), "500": problem("Broken")},
    }
    return {f"/v1/op/{name}": {"post": described}}


def typed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


KERNEL = document(
    {
        **operation("credits.balance", "read", typed()),
        **operation("bands.validate", "compute", typed(formula={"type": "string"})),
        **operation("orders.estimate", "read", typed(**SCENES)),
        **operation("orders.place", "external_spend", {"anyOf": [{"type": "object"}, {"type": "null"}]}),
        **operation("billing.topup", "external_spend", typed(amount={"type": "integer"}), header=True),
        **operation("keys.revoke", "destructive", typed(id={"type": "string"})),
        **operation("events.list", "read", typed(), media="application/x-ndjson"),
    }
)


class Kernel:
    """The service: what it was sent, and what it did."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any, str | None]] = []

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/op/{name}", self.answer, methods=["POST"])])

    async def answer(self, request: Request) -> Response:
        name, body = request.path_params["name"], json.loads(await request.body() or b"{}")
        self.sent.append((name, body, request.headers.get("idempotency-key")))
        if request.headers["x-api-key"] != "the-gateways":
            return JSONResponse({"title": "Who are you?"}, 401, media_type="application/problem+json")
        if name == "orders.estimate":
            return JSONResponse({"price": 50 * len(body["scenes"])})
        if name == "orders.place" and "dear" in body["scenes"]:
            poor = {"type": "https://errors.example/credits", "status": 402, "detail": "Top up first."}
            return JSONResponse(poor, 402, media_type="application/problem+json")
        if name == "events.list":
            return Response("".join(f'{{"n": {n}}}\n' for n in range(1200)), media_type="application/x-ndjson")
        return JSONResponse({"done": name})

    def times(self, name: str) -> int:
        return sum(1 for one in self.sent if one[0] == name)


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def kernel_gateway(folder: Path) -> AsyncIterator[tuple[str, Kernel]]:
    kernel = Kernel()
    (folder / "kernel.json").write_text(json.dumps(KERNEL))
    priced = {"side_effect": "external_spend", "estimate": {"tool": "orders.estimate", "amount": "/price"}}
    (folder / "contracts.yaml").write_text(write_yaml({"tools": {"orders.place": priced}}))
    async with serving_api(kernel.app()) as base:
        upstream = {"openapi": "kernel.json", "base_url": base, "profile": "geopera", "prefix": ""}
        settings = {
            "upstreams": {"kernel": {**upstream, "headers": {"x-api-key": "the-gateways"}}},
            "contracts": ["contracts.yaml"],
            "auth": {"anonymous": {"kind": "agent", "scopes": ["*"], "asks": "person"}},
            "defaults": {"confirmation": {"critical": "user"}},
        }
        (folder / "assent.yaml").write_text(write_yaml(settings))
        gateway_app = await open_gateway(load_settings(folder / "assent.yaml"))
        await gateway_app.start()
        try:
            async with serving(gateway_app.app(StatusPages(gateway_app))) as url:
                yield url, kernel
        finally:
            await gateway_app.stop()


async def test_operations_are_listed_with_the_hints_and_meta_of_the_profile(era: str, tmp_path: Path) -> None:
    async with kernel_gateway(tmp_path) as (url, _), connect(url, era, None) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(listed) == [path.removeprefix("/v1/op/") for path in KERNEL["paths"]]
    topup = listed["billing.topup"]
    assert list(topup.input_schema["properties"]) == ["amount"], "neither the key nor the credential is an argument"
    meta = dict(topup.meta or {})
    assert meta.pop("dev.assent/contract")["idempotency"]["key"] == "required"
    assert meta == {"x-side-effect": "external_spend", "x-required-scope": "billing:write", "x-produces": ["order"]}
    hints = listed["keys.revoke"].annotations
    assert (hints.destructive_hint, hints.read_only_hint) == (True, False)  # type: ignore[union-attr]


async def test_reads_and_computations_are_free_and_lines_of_json_are_bounded(era: str, tmp_path: Path) -> None:
    person = Person()
    async with kernel_gateway(tmp_path) as (url, _), connect(url, era, person) as client:
        balance = await client.call_tool("credits.balance", {})
        computed = await client.call_tool("bands.validate", {"formula": "B1/B2"})
        events = await client.call_tool("events.list", {})
    assert (balance.structured_content, computed.structured_content) == (
        {"done": "credits.balance"},
        {"done": "bands.validate"},
    )
    assert (len(events.structured_content["items"]), events.structured_content["count"]) == (500, 1200)
    assert (events.meta or {})["dev.assent/truncated"]["length"] > 0
    assert person.asked == []


async def test_an_order_is_priced_by_its_own_body_then_asked_about_and_placed_once(era: str, tmp_path: Path) -> None:
    person = Person(["accept"])
    order = {"body": {"scenes": ["a", "b"], "note": "for the estimate to ignore"}}
    async with kernel_gateway(tmp_path) as (url, kernel), connect(url, era, person) as client:
        placed = await client.call_tool("orders.place", order, meta={KEY: "k"})
        again = await client.call_tool("orders.place", order, meta={KEY: "k"})
    assert placed.structured_content == again.structured_content == {"done": "orders.place"}
    assert (again.meta or {})["dev.assent/replayed"] is True
    assert "Price: 100" in person.asked[0]
    assert kernel.times("orders.place") == len(person.asked) == 1
    assert ("orders.estimate", {"scenes": ["a", "b"]}, None) in kernel.sent


async def test_an_order_that_cannot_be_priced_is_not_placed(era: str, tmp_path: Path) -> None:
    person = Person()
    async with kernel_gateway(tmp_path) as (url, kernel), connect(url, era, person) as client:
        refused = await client.call_tool("orders.place", {"body": {"pictures": ["a"]}}, meta={KEY: "k"})
    assert problem_of(refused)["code"] == "rehearse.estimate_failed"
    assert (kernel.sent, person.asked) == ([], [])


async def test_want_of_money_comes_back_as_the_problem_it_is(era: str, tmp_path: Path) -> None:
    person = Person(["accept"])
    async with kernel_gateway(tmp_path) as (url, _), connect(url, era, person) as client:
        poor = await client.call_tool("orders.place", {"body": {"scenes": ["dear"]}}, meta={KEY: "k"})
    said = problem_of(poor)
    assert (poor.is_error, said["code"], said["status"]) == (True, "payment_required", 402)
    assert said["detail"] == "Top up first."


async def test_a_key_is_required_where_the_service_honours_one_and_ours_is_sent(era: str, tmp_path: Path) -> None:
    person = Person(["accept"])
    async with kernel_gateway(tmp_path) as (url, kernel), connect(url, era, person) as client:
        without = await client.call_tool("billing.topup", {"amount": 5})
        topped = await client.call_tool("billing.topup", {"amount": 5}, meta={KEY: "mine"})
        again = await client.call_tool("billing.topup", {"amount": 5}, meta={KEY: "mine"})
    assert problem_of(without)["code"] == "recall.key_required"
    assert topped.structured_content == again.structured_content
    ((_, _, sent),) = kernel.sent
    assert sent
    assert sent != "mine"


async def test_what_destroys_is_asked_about_and_a_no_reaches_nothing(era: str, tmp_path: Path) -> None:
    person = Person(["decline", "accept"])
    async with kernel_gateway(tmp_path) as (url, kernel), connect(url, era, person) as client:
        declined = await client.call_tool("keys.revoke", {"id": "k1"})
        revoked = await client.call_tool("keys.revoke", {"id": "k2"})
    assert problem_of(declined)["code"] == "confirm.declined"
    assert revoked.structured_content == {"done": "keys.revoke"}
    assert kernel.sent == [("keys.revoke", {"id": "k2"}, None)]
