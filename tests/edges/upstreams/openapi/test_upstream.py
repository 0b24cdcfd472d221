"""Calls to a real service on a loopback address."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from assent.contract.profiles import profile
from assent.core.catalogue import catalogue_of
from assent.core.outcome import Answer, Refusal
from assent.edges.upstreams.openapi.api import Api, compile_tools, read_api, server_findings
from assent.edges.upstreams.openapi.library import library_of
from assent.edges.upstreams.openapi.shaping import Bounds
from assent.edges.upstreams.openapi.upstream import OpenApiUpstream
from assent.errors import SettingsError
from assent.ports import Lost, Unreached
from assent.testing import World
from edges.upstreams.openapi.documents import ORDERS, api, document, ok, parameter, sending
from edges.upstreams.openapi.service import Orders, sender, serving

FREE = {"risk": "low", "autonomous": True, "confirmation": {"by": "none"}}


def world_of(read: Api, upstream: OpenApiUpstream, **overlays: Any) -> World:
    world = World({})
    world.catalogue = catalogue_of(compile_tools(read, profile=profile("spec"), upstream="shop", overlays=overlays))
    world.but(upstream=upstream)
    return world


@asynccontextmanager
async def shop(**overlays: Any) -> AsyncIterator[tuple[Orders, World]]:
    """The orders service behind the whole sentence."""
    service = Orders()
    read = read_api(library_of(json.dumps(ORDERS)))
    async with serving(service.app()) as url, sender() as send:
        overlays.setdefault("place_order", FREE)
        overlays.setdefault("delete_order", FREE)
        yield service, world_of(read, OpenApiUpstream(read, url, send), **overlays)


def structured(outcome: Any) -> Any:
    assert isinstance(outcome, Answer), outcome
    return outcome.result["structuredContent"]


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


async def test_a_key_is_needed_where_the_document_needs_one() -> None:
    async with shop() as (service, world):
        refused = await world.call("place_order", {"item": "tea"})
        assert isinstance(refused, Refusal)
        assert refused.code == "recall.key_required"
        assert service.requests == []


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


async def test_a_value_of_several_segments_stays_below_its_operation() -> None:
    spans = parameter("path", "path", **{"x-multi-segment": True})
    read = api(
        {
            "/files/{path}": {"get": {"operationId": "it", "parameters": [spans], "responses": ok()}},
            "/files/{id}/secret": {"get": {"operationId": "secret", "responses": ok()}},
            "/files/{id}/remove": {"delete": {"operationId": "remove", "responses": ok()}},
        }
    )
    send = Scripted([b"{}"])
    world = world_of(read, OpenApiUpstream(read, "http://service.example/v1", send))
    for path in ("a b/c.txt", "a", "a/remove"):
        structured(await world.call("it", {"path": path}))
    assert [url for _, url, _, _ in send.sent] == [
        f"http://service.example/v1/files/{path}" for path in ("a%20b/c.txt", "a", "a/remove")
    ]
    for path in ("a/secret", "../a", "a//b", "a/./b", "/a", "a/", "a/..", "a\\b"):
        refused = await world.call("it", {"path": path})
        assert isinstance(refused, Refusal)
        assert refused.code == "validate.arguments_invalid"
    assert len(send.sent) == 3


async def test_when_only_observing_what_cannot_be_written_is_still_refused() -> None:
    async with shop() as (service, world):
        world.but(mode="observe")
        outcome = await world.call("get_order", {"id": "a/b"})
        assert isinstance(outcome, Refusal)
        assert outcome.code == "validate.arguments_invalid"
        assert "one segment" in outcome.detail
        assert service.requests == []


async def test_lines_of_json_are_collected_within_bounds() -> None:
    async with shop() as (_, world):
        events = structured(await world.call("list_events"))
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
        found = await upstream.read("get_order", {"id": "o1", "item": "tea"}, None)
        assert found["structuredContent"] == placed
        assert (await upstream.read("get_order", {"id": "o9"}, None))["isError"] is True
        with pytest.raises(Unreached):
            await upstream.read("get_order", {"id": ".."}, None)
        with pytest.raises(Unreached):
            await upstream.read("nothing", {}, None)
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


@dataclass
class Scripted:
    """A service in a few words: what it answers, or what happens instead."""

    answer: Any
    status: int = 200
    headers: list[tuple[bytes, bytes]] = field(default_factory=lambda: [(b"Content-Type", b"application/json")])
    sent: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    closed: bool = False

    async def __call__(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> Scripted:
        self.sent.append((method, url, dict(headers), body))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self

    async def pieces(self) -> AsyncIterator[bytes]:
        for piece in self.answer:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def close(self) -> None:
        self.closed = True


async def scripted(
    answer: Any, method: str = "post", bounds: Bounds | None = None, **more: Any
) -> tuple[Any, Scripted]:
    read = api({"/x": {method: {"operationId": "it", "responses": ok()}}})
    send = Scripted(answer, **more)
    upstream = OpenApiUpstream(read, "http://service.example/", send, bounds)
    return await world_of(read, upstream, it=FREE).call("it", {}), send


@pytest.mark.parametrize("error", [TimeoutError(), OSError("reset"), Lost("gone"), RuntimeError("anything")])
async def test_whatever_breaks_after_sending_leaves_a_doubt(error: Exception) -> None:
    for answer in (error, [b'{"a"', error]):
        outcome, _ = await scripted(answer)
        assert isinstance(outcome, Refusal)
        assert outcome.code == "execute.in_doubt"
        outcome, _ = await scripted(answer, "get")
        assert isinstance(outcome, Refusal)
        assert outcome.code == "execute.failed"


async def test_an_endless_answer_is_left_after_so_many_bytes() -> None:
    bounds = Bounds(body=100, items=5, characters=1000)
    media = [(b"content-type", b"application/x-ndjson")]
    outcome, send = await scripted([b'{"n":1}\n'] * 10_000, "get", bounds, headers=media)
    assert structured(outcome) == {"items": [{"n": 1}] * 5, "count": 12, "truncated": True}
    assert send.closed
    outcome, send = await scripted([b'["x"' + b"y" * 1000], "get", bounds)
    assert outcome.result["isError"] is True
    assert "longer than 100 bytes" in outcome.result["content"][0]["text"]


async def test_a_mutation_that_answers_too_much_has_still_been_done() -> None:
    outcome, _ = await scripted([b'["x"' + b"y" * 1000], "post", Bounds(body=100))
    assert structured(outcome) == {"status": 200, "truncated": True}


async def test_redirects_are_not_followed() -> None:
    headers = [(b"location", b"http://169.254.169.254/latest")]
    outcome, send = await scripted([b""], "get", status=302, headers=headers)
    assert "redirects are not followed" in outcome.result["content"][0]["text"]
    assert len(send.sent) == 1


async def test_an_answer_that_breaks_its_schema_is_reported_as_such() -> None:
    read = api({"/x": {"get": {"operationId": "it", "responses": ok({"type": "object", "required": ["id"]})}}})
    upstream = OpenApiUpstream(read, "http://service.example", Scripted([b"[]"]))
    outcome = await world_of(read, upstream).call("it", {})
    assert isinstance(outcome, Refusal)
    assert outcome.code == "execute.output_invalid"


async def test_arguments_that_are_ours_stay_here_and_the_key_goes_where_the_contract_says() -> None:
    body = sending({"type": "object", "properties": {"item": {"type": "string"}}})
    read = api({"/x": {"post": {"operationId": "it", "requestBody": body, "responses": ok()}}})
    send = Scripted([b"{}"])
    upstream = OpenApiUpstream(read, "http://service.example", send)
    ours = {
        "dry_run": {"mode": "offered"},
        "idempotency": {"recovery": "keyed", "argument": "key", "forward": "header"},
    }
    await world_of(read, upstream, it={**FREE, **ours}).call("it", {"item": "a", "dryRun": False, "key": "mine"})
    assert send.sent[0][3] == b'{"item":"a"}'
    assert send.sent[0][2]["Idempotency-Key"].startswith("key-of-")
    theirs = {"idempotency": {"recovery": "keyed", "argument": "item", "forward": "argument"}}
    await world_of(read, upstream, it={**FREE, **theirs}).call("it", {"item": "mine"})
    assert json.loads(send.sent[1][3])["item"].startswith("key-of-")
    assert "Idempotency-Key" not in send.sent[1][2]


async def test_where_the_document_says_its_servers_are_decides_nothing() -> None:
    servers = [{"url": "http://evil.example/v2"}]
    paths = {"/x": {"servers": servers, "get": {"operationId": "it", "servers": servers, "responses": ok()}}}
    text = json.dumps(document(paths, servers=servers))
    read = read_api(library_of(text))
    send = Scripted([b"{}"])
    await world_of(read, OpenApiUpstream(read, "http://service.example/v1", send)).call("it", {})
    assert send.sent[0][1] == "http://service.example/v1/x"
    assert "'/v2'" in server_findings(library_of(text), "http://service.example/v1")[0].message
    assert server_findings(library_of(text), "http://service.example/v2/") == []


def test_an_upstream_needs_an_address() -> None:
    with pytest.raises(SettingsError, match="base_url"):
        OpenApiUpstream(Api({}), "service.example", Scripted([]))
