"""Calls to a real service on a loopback address."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from assent.core.outcome import Answer, Refusal
from assent.ports import NotReached
from assent.testing import World
from assent.upstreams.openapi.document import library_of
from assent.upstreams.openapi.link import OpenApiUpstream
from assent.upstreams.openapi.tools import read_api
from support.decisions.calls import call_of
from support.openapi.documents import ORDERS, api, ok, parameter, sending
from support.openapi.service import Orders, sender, serving
from support.openapi.worlds import FREE, structured, world_of


@asynccontextmanager
async def shop(**overlays: Any) -> AsyncIterator[tuple[Orders, World]]:
    """The orders service behind the whole sentence."""
    service = Orders()
    read = read_api(library_of(json.dumps(ORDERS)))
    async with serving(service.app()) as url, sender() as send:
        overlays.setdefault("place_order", FREE)
        overlays.setdefault("delete_order", FREE)
        yield service, world_of(read, OpenApiUpstream(read, url, send), **overlays)


async def test_an_operation_is_called_and_its_answer_structured() -> None:
    async with shop() as (service, world):
        placed = structured(await world.call("place_order", {"item": "tea", "amount": 2}, key="k1"))
        assert placed == {"id": "o1", "item": "tea", "amount": 2, "status": "open"}
        assert structured(await world.call("get_order", {"id": "o1"})) == placed
        assert structured(await world.call("list_orders", {"status": ["open", "sent"]})) == {
            "items": [placed],
            "count": 1,
        }
        assert structured(await world.call("list_orders", {"status": ["sent"]})) == {"items": [], "count": 0}
        gone = await world.call("delete_order", {"id": "o1"})
        assert isinstance(gone, Answer)
        assert "204" in gone.result["content"][0]["text"]
        assert service.orders == {}


async def test_the_key_that_is_forwarded_is_ours_and_stays_the_same() -> None:
    async with shop() as (service, world):
        await world.call("place_order", {"item": "tea"}, key="k1")
        replay = await world.call("place_order", {"item": "tea"}, key="k1")
        assert isinstance(replay, Answer)
        assert replay.replayed
        sent = [headers.get("idempotency-key") for method, _, headers in service.requests if method == "POST"]
        assert len(sent) == 1
        assert sent[0] is not None
        assert sent[0].startswith("key-of-")
        await world.call("place_order", {"item": "tea"}, key="k2")
        assert len({headers["idempotency-key"] for _, _, headers in service.requests}) == 2


async def test_a_read_carries_no_key() -> None:
    async with shop() as (service, world):
        await world.call("list_orders", {}, key="k1")
        assert "idempotency-key" not in service.requests[0][2]


async def test_a_service_that_needs_a_key_gets_ours_where_the_caller_sends_none() -> None:
    async with shop() as (service, world):
        await world.call("place_order", {"item": "tea"})
        again = await world.call("place_order", {"item": "tea"})
        assert isinstance(again, Answer)
        assert again.replayed
        [(_, _, headers)] = service.requests
        assert headers["idempotency-key"].startswith("key-of-")


@pytest.mark.parametrize(("item", "code"), [("gold", "card_declined"), ("rare", "conflict")])
async def test_a_declared_problem_comes_back_under_its_code(item: str, code: str) -> None:
    async with shop() as (_, world):
        outcome = await world.call("place_order", {"item": item}, key="k1")
        assert isinstance(outcome, Answer)
        assert outcome.result["isError"] is True
        assert structured(outcome)["code"] == code


async def test_an_unknown_order_is_a_declared_failure_of_a_read() -> None:
    async with shop() as (_, world):
        outcome = await world.call("get_order", {"id": "o9"})
        assert structured(outcome)["code"] == "not_found"
        assert structured(outcome)["detail"] == "No order of that id."


@pytest.mark.parametrize("item", ["cursed", "portal"])
async def test_a_spend_whose_end_nobody_knows_is_in_doubt(item: str) -> None:
    async with shop() as (_, world):
        outcome = await world.call("place_order", {"item": item}, key="k1")
        assert isinstance(outcome, Refusal)
        assert outcome.code == "execute.in_doubt"


@pytest.mark.parametrize("identity", ["o1/secret", "..", "o1%2Fsecret", "../orders/o1/secret", "", "."])
async def test_a_path_value_never_reaches_another_operation(identity: str) -> None:
    async with shop() as (service, world):
        await world.call("get_order", {"id": identity})
        world.but(mode="observe")
        await world.call("get_order", {"id": identity})
        assert [path for _, path, _ in service.requests] in ([], ["/orders/o1%2Fsecret"] * 2)


async def test_when_only_observing_what_cannot_be_written_is_still_refused() -> None:
    async with shop() as (service, world):
        world.but(mode="observe")
        outcome = await world.call("get_order", {"id": "a/b"})
        assert isinstance(outcome, Refusal)
        assert outcome.code == "validate.arguments_invalid"
        assert "one segment" in outcome.detail
        assert service.requests == []


async def test_lines_of_json_are_collected_within_bounds() -> None:
    read = api({"/events": ORDERS["paths"]["/events"]})  # alone, because in a marked document it has no tool
    async with serving(Orders().app()) as url, sender() as send:
        events = structured(await world_of(read, OpenApiUpstream(read, url, send)).call("list_events"))
        assert (len(events["items"]), events["count"], events["truncated"]) == (500, 1200, True)


async def test_a_service_that_is_not_there_did_nothing() -> None:
    read = read_api(library_of(json.dumps(ORDERS)))
    async with sender() as send:
        world = world_of(read, OpenApiUpstream(read, "http://127.0.0.1:1", send), place_order=FREE)
        outcome = await world.call("place_order", {"item": "tea"}, key="k1")
        assert isinstance(outcome, Refusal)
        assert outcome.code == "execute.unavailable"


async def test_an_estimate_is_read_with_the_arguments_it_knows() -> None:
    async with shop() as (service, world):
        placed = structured(await world.call("place_order", {"item": "tea"}, key="k1"))
        upstream: Any = world.ports.upstream
        call = call_of(name="place_order")
        found = await upstream.read("get_order", {"id": "o1", "item": "tea"}, call)
        assert found["structuredContent"] == placed
        assert (await upstream.read("get_order", {"id": "o9"}, call))["isError"] is True
        with pytest.raises(NotReached):
            await upstream.read("get_order", {"id": ".."}, call)
        with pytest.raises(NotReached):
            await upstream.read("nothing", {}, call)
        assert len(service.requests) == 3


async def echoed(
    operation: dict[str, Any], arguments: dict[str, Any], path: str = "/echo", method: str = "post"
) -> Any:
    """What a service saw of one call."""
    paths = {path: {method: {"operationId": "it", "responses": ok(), "x-side-effect": "compute", **operation}}}
    read = api(paths)
    assert not read.excluded, read.excluded
    async with serving(Orders().app()) as url, sender() as send:
        return structured(await world_of(read, OpenApiUpstream(read, url + "/v1", send)).call("it", arguments))


async def test_every_location_arrives() -> None:
    operation = {
        "parameters": [
            parameter("id", "path"),
            parameter("q", "query"),
            parameter("X-Trace", "header"),
            parameter("theme", "cookie"),
        ],
        "requestBody": sending({"type": "object", "properties": {"id": {"type": "integer"}}}),
    }
    given = {"id__path": "a b?#ü", "q": "x&y=z", "X-Trace": "t", "theme": "dark", "id": 7}
    seen = await echoed(operation, given, "/echo/{id}/end")
    assert seen["path"] == "/v1/echo/a b?#ü/end"
    assert seen["query"] == [["q", "x&y=z"]]
    assert seen["cookies"] == {"theme": "dark"}
    assert seen["headers"]["x-trace"] == "t"
    assert seen["headers"]["accept"] == "application/json, application/problem+json;q=0.9"
    assert json.loads(seen["body"]) == {"id": 7}


async def test_a_form_arrives() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}}
    operation = {"requestBody": sending(schema, "application/x-www-form-urlencoded")}
    seen = await echoed(operation, {"a": "x&y=é", "b": [1, 2], "c": {"k": True}})
    assert seen["form"] == {"a": ["x&y=é"], "b": ["1", "2"], "c": ['{"k":true}']}


async def test_a_form_with_files_arrives() -> None:
    schema = {
        "type": "object",
        "properties": {
            "note": {"type": "string"},
            "file": {"type": "string", "format": "binary"},
            "more": {"type": "object"},
        },
    }
    operation = {"requestBody": sending(schema, "multipart/form-data")}
    content = b"\x00\r\n--boundary\r\n\xff"
    seen = await echoed(operation, {"note": 'a "b"\r\nc', "file": base64.b64encode(content).decode(), "more": {"x": 1}})
    assert seen["form"] == {"note": ['a "b"\r\nc'], "file": [f"file:{content.hex()}"], "more": ['{"x":1}']}


async def test_plain_text_arrives() -> None:
    seen = await echoed({"requestBody": sending({"type": "string"}, "text/plain")}, {"body": "hé\n"})
    assert seen["body"] == "hé\n"
