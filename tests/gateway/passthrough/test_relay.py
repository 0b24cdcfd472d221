"""What of a request reaches the upstream, what of its answer the caller, and what happens when it fails."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
import pytest

from assent.gateway.passthrough.relay import Relay
from assent.mcp.strict_json import JsonLimits
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool
from support.servers.loopback_server import serving
from support.servers.scripted_server import Conversation, Script, ScriptedServer, echo

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
MESSAGE = {"jsonrpc": "2.0", "id": 4, "method": "resources/list"}


@asynccontextmanager
async def relayed(
    script: Script, limits: Limits | None = None, headers: dict[str, str] | None = None
) -> AsyncIterator[tuple[httpx2.AsyncClient, ScriptedServer]]:
    async with ScriptedServer(script) as upstream, relay_to(upstream.url, limits, headers) as client:
        yield client, upstream


@asynccontextmanager
async def relay_to(
    url: str, limits: Limits | None = None, headers: dict[str, str] | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    target, limits = UpstreamAddress.of(url, headers), limits or Limits()
    pools = [Pool("shop", target, limits, CircuitBreaker("shop", lambda: 0.0, threshold=10**6)) for _ in range(2)]
    relay = Relay(*pools, bounds=JsonLimits(size=100_000))
    async with serving(relay) as front, httpx2.AsyncClient(base_url=front, timeout=10) as client:
        yield client
    for pool in pools:
        await pool.close()


async def test_the_callers_credentials_never_reach_the_upstream_and_the_configured_ones_do() -> None:
    secrets = {
        "authorization": "Bearer callers-secret",
        "x-api-key": "callers-secret",
        "cookie": "session=callers-secret",
        "proxy-authorization": "Basic callers-secret",
        "x-auth-token": "callers-secret",
        "x-forwarded-for": "callers-secret",
        "origin": "http://localhost",
    }
    async with relayed(echo, headers={"Authorization": "Bearer upstreams-own"}) as (client, upstream):
        await client.post("", json=MESSAGE, headers={**JSON, **secrets})
        head = upstream.requests[0][0]
        assert b"callers-secret" not in head
        assert b"Authorization: Bearer upstreams-own" in head
        assert head.lower().count(b"authorization") == 1
        assert b"origin" not in head.lower()
        assert b"host: 127.0.0.1:%d\r\n" % upstream.port in head


async def test_the_protocols_own_headers_go_through_as_they_are() -> None:
    sent = {
        "mcp-session-id": "abc",
        "mcp-protocol-version": "2025-11-25",
        "mcp-method": "resources/list",
        "last-event-id": "7",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    async with relayed(echo) as (client, upstream):
        await client.post("", json=MESSAGE, headers={**JSON, **sent})
        head = upstream.requests[0][0]
        assert all(f"{name}: {value}\r\n".encode() in head for name, value in sent.items())


async def test_headers_beside_the_fixed_list_stay_behind() -> None:
    sent = {"mcp-param-region": "eu", "mcp-tomorrow": "1", "x-method": "tools/call"}
    async with relayed(echo) as (client, upstream):
        await client.post("", json=MESSAGE, headers={**JSON, **sent, "content-type": "application/json; charset=utf-7"})
        head = upstream.requests[0][0]
        assert not any(name.encode() in head for name in sent)
        assert b"content-type: application/json\r\n" in head


async def test_what_was_understood_is_written_out_anew() -> None:
    async with relayed(echo) as (client, upstream):
        await client.post("", content=b'{ "b": [1.0, "\\u00e4"],\n "a": null }', headers=JSON)
        assert upstream.requests[0][1] == '{"b":[1.0,"ä"],"a":null}'.encode()


async def test_json_that_could_be_read_two_ways_never_reaches_the_upstream() -> None:
    async with relayed(echo) as (client, upstream):
        response = await client.post("", content=b'{"a":1,"a":2}', headers=JSON)
        assert (response.status_code, response.json()["error"]["code"]) == (400, -32700)
        assert upstream.requests == []


async def test_answer_headers_of_the_protocol_come_back_and_others_stay_behind() -> None:
    async def talkative(conversation: Conversation) -> None:
        await conversation.read_request()
        fields = b"mcp-session-id: s1\r\nset-cookie: a=b\r\nserver: secret/1.0\r\nwww-authenticate: Bearer\r\n"
        await conversation.answer(b"{}", fields=fields)

    async with relayed(talkative) as (client, _):
        response = await client.post("", json=MESSAGE, headers=JSON)
        assert response.headers["mcp-session-id"] == "s1"
        assert not {"set-cookie", "server", "www-authenticate"} & set(response.headers)


async def test_events_arrive_one_by_one_before_the_stream_ends() -> None:
    more = asyncio.Event()

    async def stream(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        await conversation.write(b"9\r\ndata: 1\n\n\r\n")
        await more.wait()
        await conversation.write(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")

    async with relayed(stream) as (client, _), client.stream("GET", "") as response:
        lines = response.aiter_lines()
        assert await anext(lines) == "data: 1"
        more.set()
        assert [line async for line in lines if line] == ["data: 2"]


async def test_hanging_up_ends_the_upstreams_stream_too() -> None:
    ended = asyncio.Event()

    async def endless(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        await conversation.write(b"9\r\ndata: 1\n\n\r\n")
        await conversation.ended_by_peer()
        ended.set()

    async with relayed(endless) as (client, _):
        async with client.stream("GET", "", headers={"accept": "text/event-stream"}) as response:
            await anext(response.aiter_lines())
        await asyncio.wait_for(ended.wait(), 5)


async def test_streams_do_not_take_the_connections_of_calls() -> None:
    async def stream_or_echo(conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            if head.startswith(b"GET"):
                await conversation.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n")
                await conversation.ended_by_peer()
            await conversation.answer(body)

    async with (
        relayed(stream_or_echo, Limits(connections=2)) as (client, _),
        client.stream("GET", "") as first,
        client.stream("GET", "") as second,
    ):
        assert [first.status_code, second.status_code] == [200, 200]
        assert (await client.post("", json=MESSAGE, headers=JSON)).json() == MESSAGE


async def html(conversation: Conversation) -> None:
    await conversation.read_request()
    body = b"<html>oops</html>"
    await conversation.write(
        b"HTTP/1.1 500 Oops\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    )


async def unauthorized(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.answer(b"{}", status=b"401 No", fields=b"www-authenticate: Bearer realm=upstream\r\n")


async def redirect(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.answer(b"", status=b"307 Go", fields=b"location: http://169.254.169.254/\r\n")


async def compressed(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.answer(gzip.compress(b"{}"), fields=b"content-encoding: gzip\r\n")


async def garbage(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.write(b"\x00\x01\x02 not http\r\n\r\n")


async def slam(conversation: Conversation) -> None:
    await conversation.read_request()
    conversation.reset()


async def silence(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.ended_by_peer()


FAILURES: dict[str, tuple[Script, int, str]] = {
    "html": (html, 502, "execute.upstream_garbled"),
    "401": (unauthorized, 502, "execute.upstream_garbled"),
    "307": (redirect, 502, "execute.upstream_garbled"),
    "gzip": (compressed, 502, "execute.upstream_garbled"),
    "garbage": (garbage, 502, "execute.upstream_garbled"),
    "reset": (slam, 502, "execute.upstream_lost"),
    "silence": (silence, 504, "execute.upstream_timed_out"),
}


@pytest.mark.parametrize("title", FAILURES)
async def test_a_failing_upstream_is_answered_in_json_with_the_id_a_code_and_a_remedy(title: str) -> None:
    script, status, code = FAILURES[title]
    async with relayed(script, Limits(silence=0.05)) as (client, upstream):
        response = await client.post("", json=MESSAGE, headers=JSON)
        problem: dict[str, Any] = response.json()["error"]["data"]
        assert (response.status_code, response.json()["id"]) == (status, 4)
        assert (problem["code"], problem["status"], bool(problem["remedy"])) == (code, status, True)
        assert str(upstream.port) not in response.text
        assert "www-authenticate" not in response.headers


async def test_an_upstream_that_is_down_is_unreachable_and_the_call_may_be_repeated() -> None:
    async with ScriptedServer(echo) as upstream:
        url = upstream.url
    async with relay_to(url) as client:
        response = await client.post("", json=MESSAGE, headers=JSON)
        problem = response.json()["error"]["data"]
        assert (response.status_code, problem["code"], problem["retryable"]) == (
            503, "execute.upstream_unreachable", True,
        )  # fmt: skip


async def test_a_json_error_of_the_upstream_is_passed_on_as_it_is() -> None:
    async def failing(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.answer(b'{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"x"}}', status=b"500 Oops")

    async with relayed(failing) as (client, _):
        response = await client.post("", json=MESSAGE, headers=JSON)
        assert (response.status_code, response.json()["error"]["code"]) == (500, 1)


async def test_an_answer_that_breaks_off_is_not_passed_off_as_whole() -> None:
    async def half(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{")

    async with relayed(half) as (client, _):
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post("", json=MESSAGE, headers=JSON)


async def test_an_endless_answer_is_held_back_to_the_callers_pace() -> None:
    written = 0

    async def flood(conversation: Conversation) -> None:
        nonlocal written
        await conversation.read_request()
        await conversation.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        while True:
            await conversation.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            written += 65536

    async with relayed(flood) as (client, _), client.stream("GET", "") as response:
        pieces = response.aiter_raw()  # kept: a reader that is dropped hangs up, and then nothing holds the flood back
        await anext(pieces)
        for _ in range(300):
            await asyncio.sleep(0)
        assert written < 64 * 1024 * 1024
        await pieces.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["host", "origin"])
async def test_the_relay_checks_host_and_origin_itself(name: str) -> None:
    async with relayed(echo) as (client, upstream):
        response = await client.post("", json=MESSAGE, headers={**JSON, name: "http://evil.example"})
        assert response.status_code in (421, 403)
        assert upstream.requests == []


async def test_a_body_beyond_the_limit_never_reaches_the_upstream() -> None:
    async with relayed(echo) as (client, upstream):
        response = await client.post("", content=b'"' + b"x" * 200_000 + b'"', headers=JSON)
        assert response.status_code == 413
        assert upstream.requests == []


async def test_a_dead_upstream_takes_no_other_down() -> None:
    async with relayed(silence, Limits(silence=0.2)) as (dead, _), relayed(echo) as (alive, _):
        hanging = [asyncio.ensure_future(dead.post("", json=MESSAGE, headers=JSON)) for _ in range(50)]
        answers = await asyncio.gather(*(alive.post("", json=MESSAGE, headers=JSON) for _ in range(100)))
        assert all(orjson.loads(answer.content) == MESSAGE for answer in answers)
        assert {response.status_code for response in await asyncio.gather(*hanging)} == {504}
