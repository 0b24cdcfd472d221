"""An HTTP API behind the gateway: its description gives the tools, its contracts are kept on every call."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from mcp.shared.exceptions import MCPError

from assent.cli.contract import contract
from assent.config.load import load_settings
from assent.contract.yaml_document import write_yaml
from assent.core.shown_definition import UNUSABLE, is_clean
from assent.errors import FaultsError
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.status_pages import StatusPages
from support.clients.transports import ERAS, Person, connect
from support.decisions.problems import problem
from support.openapi.documents import ORDERS, document, ok, ref, sending
from support.openapi.service import Orders
from support.openapi.service import serving as serving_api
from support.servers.loopback_server import serving

KEY = "dev.assent/idempotencyKey"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def configured(folder: Path, base: str, described: Any = ORDERS, **more: Any) -> Path:
    (folder / "orders.json").write_text(json.dumps(described))
    settings = {
        "upstreams": {"orders": {"openapi": "orders.json", "base_url": base, "headers": {"X-Api-Key": "the-gateways"}}},
        "auth": {"anonymous": {"kind": "agent", "scopes": ["*"], "asks": "person"}},
        "defaults": {"confirmation": {"critical": "user"}},
        **more,
    }
    (folder / "assent.yaml").write_text(write_yaml(settings))
    return folder / "assent.yaml"


@asynccontextmanager
async def orders_gateway(folder: Path, **more: Any) -> AsyncIterator[tuple[str, GatewayApp, Orders]]:
    service = Orders()
    async with serving_api(service.app()) as base:
        gateway_app = await open_gateway(load_settings(configured(folder, base, **more)))
        await gateway_app.start()
        try:
            async with serving(gateway_app.app(StatusPages(gateway_app))) as url:
                yield url, gateway_app, service
        finally:
            await gateway_app.stop()


async def test_operations_are_tools_and_a_placed_order_is_asked_about_and_charged_once(
    era: str, tmp_path: Path
) -> None:
    person = Person(["accept"])
    async with orders_gateway(tmp_path) as (url, _, service), connect(url, era, person) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        first = await client.call_tool("place_order", {"item": "print"}, meta={KEY: "k"})
        again = await client.call_tool("place_order", {"item": "print"}, meta={KEY: "k"})
        found = await client.call_tool("get_order", {"id": "o1"})
    assert listed["place_order"].meta["dev.assent/contract"]["tier"] == "external_spend"  # type: ignore[index]
    assert first.structured_content == again.structured_content == found.structured_content
    assert (again.meta or {})["dev.assent/replayed"] is True
    assert [one[0] for one in service.requests] == ["POST", "GET"]
    assert len(person.asked) == 1


async def test_the_gateways_credentials_travel_and_the_callers_do_not(tmp_path: Path) -> None:
    async with orders_gateway(tmp_path) as (url, _, service), httpx2.AsyncClient(timeout=60) as client:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_orders", "arguments": {}}}
        headers = {"accept": "application/json, text/event-stream", "cookie": "a=b"}
        answer = (await client.post(url, json=body, headers=headers)).json()
    assert "isError" not in answer["result"]
    assert service.requests[0][2]["x-api-key"] == "the-gateways"
    assert "cookie" not in service.requests[0][2]


async def test_a_contract_file_is_laid_over_the_document_and_the_rest_of_it_stands(tmp_path: Path) -> None:
    overlay = {"tools": {"list_orders": {"side_effect": "read", "title": "See the orders", "permissions": ["o:read"]}}}
    (tmp_path / "contracts.yaml").write_text(write_yaml(overlay))
    async with orders_gateway(tmp_path, contracts=["contracts.yaml"]) as (_, gateway_app, _service):
        listed = gateway_app.current.catalogue.tools["list_orders"]
        placed = gateway_app.current.catalogue.tools["place_order"]
    assert (listed.contract.title, listed.contract.permissions) == ("See the orders", ("o:read",))
    assert listed.contract.category == read_fields("list_orders").get("category")
    assert placed.contract.title == read_fields("place_order")["title"]


def read_fields(name: str) -> Any:
    from assent.upstreams.openapi.document import library_of
    from assent.upstreams.openapi.tools import read_api

    return read_api(library_of(json.dumps(ORDERS))).tools[name].fields


async def test_a_document_that_changes_changes_the_tools(tmp_path: Path) -> None:
    async with orders_gateway(tmp_path) as (_, gateway_app, _service):
        less = {**ORDERS, "paths": {"/orders": {"get": ORDERS["paths"]["/orders"]["get"]}}}
        (tmp_path / "orders.json").write_text(json.dumps(less))
        await gateway_app.reload("orders")
        assert list(gateway_app.current.catalogue.tools) == ["list_orders"]
        (tmp_path / "orders.json").write_text("{")
        await gateway_app.reload("orders")
        assert list(gateway_app.current.catalogue.tools) == ["list_orders"], "what was understood last stands"
        assert "not valid JSON" in gateway_app.tools.troubles["orders"]


async def test_what_the_author_did_not_declare_is_withheld_where_contracts_are_wanted(tmp_path: Path) -> None:
    paths = {
        "/a": {"get": {"operationId": "get_a", "responses": ok({"type": "object"}), "x-side-effect": "read"}},
        "/b": {"get": {"operationId": "get_b", "responses": ok({"type": "object"})}},
    }
    more = {"described": document(paths), "without_contract": "withhold"}
    async with orders_gateway(tmp_path, **more) as (url, gateway_app, _service):
        assert list(gateway_app.current.catalogue.tools) == ["get_a"]
        assert gateway_app.current.catalogue.withheld["get_b"] == "it has no contract"
        async with connect(url, ERAS[0], None) as client:
            with pytest.raises(MCPError, match="Unknown tool: get_b"):
                await client.call_tool("get_b", {})


async def test_a_missing_document_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    path = configured(tmp_path, "http://127.0.0.1:9")
    (tmp_path / "orders.json").unlink()
    with pytest.raises(FaultsError, match="cannot be read: No such file"):
        await open_gateway(load_settings(path))


def test_operations_without_a_tool_are_listed_with_their_reason(tmp_path: Path) -> None:
    image = {"/tile": {"get": {"operationId": "tile", "responses": ok({"type": "string"}, "image/png")}}}
    path = tmp_path / "api.yaml"
    path.write_text(write_yaml(document(image)))
    result = CliRunner().invoke(contract, ["show", str(path), "--excluded"])
    assert "GET /tile: it answers with an image or a tile (image/png)" in result.stdout
    as_json = CliRunner().invoke(contract, ["show", str(path), "--excluded", "--format", "json"])
    assert [one["name"] for one in json.loads(as_json.stdout)] == ["tile"]


def test_the_contracts_of_a_document_are_shown_like_those_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text(json.dumps(ORDERS))
    result = CliRunner().invoke(contract, ["show", str(tmp_path / "orders.json"), "--tool", "place_order"])
    assert result.stdout.startswith("place_order: ")
    assert "external_spend" in result.stdout


AWKWARD = document(
    {
        "/trees": {
            "post": {"operationId": "plant", "requestBody": sending(ref("Node")), "responses": ok({"type": "object"})}
        },
        "/a": {"get": {"operationId": "same", "responses": ok({"type": "object"})}},
        "/b": {"get": {"operationId": "same", "responses": ok({"type": "object"})}},
        "/odd": {"get": {"operationId": "größe / of\nall?", "responses": ok({"type": "object"})}},
        "/far": {"get": {"operationId": "far", "responses": ok({"$ref": "https://elsewhere.example/s.json#/Far"})}},
        "/file": {
            "post": {"operationId": "file", "requestBody": sending({"$ref": "../../etc/passwd"}), "responses": ok()}
        },
        "/loop": {"post": {"operationId": "loop", "requestBody": sending(ref("Loop")), "responses": ok({})}},
    },
    components={
        "schemas": {
            "Node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": ref("Node")}},
                "required": ["name"],
                "additionalProperties": False,
            },
            "Loop": ref("Loop"),
        }
    },
)


async def test_an_awkward_document_is_served_for_what_can_be_served(era: str, tmp_path: Path) -> None:
    tree = {"name": "oak", "kids": [{"name": "twig", "kids": []}]}
    async with (
        orders_gateway(tmp_path, described=AWKWARD) as (url, gateway_app, _),
        connect(url, era, Person(["accept"])) as client,
    ):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        planted = await client.call_tool("plant", tree)
        refused = await client.call_tool("plant", {"name": "oak", "kids": [{"kids": []}]})
        withheld = gateway_app.current.catalogue.withheld
    assert list(tools)[:3] == ["plant", "get_a", "get_b"], "operations that share an id are named after their places"
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in tools)
    assert json.loads(planted.structured_content["body"]) == tree
    assert problem(refused)["code"] == "validate.arguments_invalid"
    assert tools["far"].output_schema is None, "what lies elsewhere is not fetched, and not promised"
    assert tools.keys().isdisjoint(withheld)
    assert "passwd" in withheld["file"]
    assert "loop" in withheld


async def test_operations_that_can_be_no_tool_are_counted_in_the_log_and_are_no_errors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with orders_gateway(tmp_path, described=AWKWARD) as (_, gateway_app, _):
        excluded = gateway_app.current.served.excluded(gateway_app.current.links)["orders"]
    lines = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert not [line for line in lines if "is withheld" in line]
    assert f"orders: {len(excluded)} operations get no tool; `assent contract show FILE --excluded`" in caplog.text


async def test_hidden_characters_of_a_document_reach_no_agent(tmp_path: Path) -> None:
    described = copy.deepcopy(ORDERS)
    described["paths"]["/orders/{id}"]["get"] |= {"summary": "One\u200b order", "description": "Gets.\U000e0041"}
    way = {"name": "way", "in": "query", "schema": {"enum": ["up", "up\u200b"]}}
    described["paths"]["/odd"] = {"get": {"operationId": "odd", "parameters": [way], "responses": ok()}}
    async with (
        orders_gateway(tmp_path, described=described) as (url, gateway_app, _),
        connect(url, ERAS[0], None) as client,
    ):
        tools = {tool.name: tool.model_dump(mode="json") for tool in (await client.list_tools()).tools}
    assert is_clean(tools) and tools["get_order"]["title"] == "One order" and "odd" not in tools
    assert gateway_app.current.catalogue.withheld["odd"].startswith(UNUSABLE)
    assert "/title: \\u{200b}" in gateway_app.runtime.hidden_text.of_tool("orders", "get_order")
