"""Calls to services in a few words: what they answer, or what happens instead."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assent.core.outcome import Refusal
from assent.errors import SettingsError
from assent.ports import OutcomeUnknown
from assent.upstreams.openapi.document import library_of
from assent.upstreams.openapi.link import OpenApiUpstream
from assent.upstreams.openapi.result import ResultLimits
from assent.upstreams.openapi.tools import ApiDescription, read_api
from support.openapi.documents import api, document, ok, parameter, sending
from support.openapi.worlds import FREE, Scripted, structured, world_of


async def scripted(
    answer: Any, method: str = "post", bounds: ResultLimits | None = None, **more: Any
) -> tuple[Any, Scripted]:
    read = api({"/x": {method: {"operationId": "it", "responses": ok()}}})
    send = Scripted(answer, **more)
    upstream = OpenApiUpstream(read, "http://service.example/", send, bounds)
    return await world_of(read, upstream, it=FREE).call("it", {}), send


@pytest.mark.parametrize("error", [TimeoutError(), OSError("reset"), OutcomeUnknown("gone"), RuntimeError("anything")])
async def test_whatever_breaks_after_sending_leaves_a_doubt(error: Exception) -> None:
    for answer in (error, [b'{"a"', error]):
        outcome, _ = await scripted(answer)
        assert isinstance(outcome, Refusal)
        assert outcome.code == "execute.in_doubt"
        outcome, _ = await scripted(answer, "get")
        assert isinstance(outcome, Refusal)
        assert outcome.code == "execute.failed"


async def test_an_endless_answer_is_left_after_so_many_bytes() -> None:
    bounds = ResultLimits(body=100, items=5, characters=1000)
    media = [(b"content-type", b"application/x-ndjson")]
    outcome, send = await scripted([b'{"n":1}\n'] * 10_000, "get", bounds, headers=media)
    assert structured(outcome) == {"items": [{"n": 1}] * 5, "count": 12, "truncated": True}
    assert send.closed
    outcome, send = await scripted([b'["x"' + b"y" * 1000], "get", bounds)
    assert outcome.result["isError"] is True
    assert "longer than 100 bytes" in outcome.result["content"][0]["text"]


async def test_a_mutation_that_answers_too_much_has_still_been_done() -> None:
    outcome, _ = await scripted([b'["x"' + b"y" * 1000], "post", ResultLimits(body=100))
    assert structured(outcome) == {"status": 200, "truncated": True}


async def test_a_compressed_answer_nobody_asked_for_is_named() -> None:
    headers = [(b"content-type", b"application/json"), (b"Content-Encoding", b"GZIP")]
    outcome, send = await scripted([b"{}"], "get", headers=headers)
    assert "gzip encoding, where JSON was expected" in outcome.result["content"][0]["text"]
    assert send.sent[0][2]["Accept-Encoding"] == "identity"


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


def test_an_upstream_needs_an_address() -> None:
    with pytest.raises(SettingsError, match="base_url"):
        OpenApiUpstream(ApiDescription({}), "service.example", Scripted([]))


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


@pytest.mark.parametrize("identity", ["all", "ALL", "%61ll"])
async def test_a_value_that_is_the_name_of_a_neighbour_is_refused(identity: str) -> None:
    one = {"parameters": [parameter("id", "path")], "delete": {"operationId": "it", "responses": ok()}}
    read = api({"/orders/{id}": one, "/orders/%61ll": {"delete": {"operationId": "purge", "responses": ok()}}})
    send = Scripted([b"{}"])
    world = world_of(read, OpenApiUpstream(read, "http://service.example", send), it=FREE)
    structured(await world.call("it", {"id": "o1"}))
    outcome = await world.call("it", {"id": identity})
    assert isinstance(outcome, Refusal) == (identity != "%61ll")
    assert len(send.sent) == (1 if isinstance(outcome, Refusal) else 2)
    structured(
        await world_of(read, OpenApiUpstream(read, "http://service.example", send), purge=FREE).call("purge", {})
    )
