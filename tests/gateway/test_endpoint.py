"""The endpoint on a real socket: proper calls, sessions and streams, and everything improper."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx2
import orjson
import pytest

from assent.core.principal import Principal
from assent.gateway.auth.challenges import Challenge
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.dispatch import Dispatcher
from assent.gateway.endpoint import McpEndpoint
from assent.gateway.http_exchange import STREAM, HttpExchange
from assent.gateway.passthrough.non_tool import MergedSession
from assent.gateway.sessions import reauthorize
from assent.gateway.sessions.table import SessionTable
from assent.mcp.channel import CannotAsk
from assent.mcp.jsonrpc import RpcError
from assent.mcp.requests import McpRequest
from assent.mcp.server_identity import ServerIdentity
from assent.mcp.strict_json import JsonLimits
from assent.pipeline.tool_mentions import Mentions
from assent.web.asgi import Headers, Scope
from support.gateway.open_gateway import anybody, nowhere
from support.servers.loopback_server import serving

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN = {**JSON, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo"}
IDENTITY = ServerIdentity({"name": "assent", "version": "0"}, {"tools": {"listChanged": True}}, "Be kind.")
LISTED = b'{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}'


async def echo(mcp_request: McpRequest) -> bytes:
    return orjson.dumps({"content": [], "structuredContent": mcp_request.params.get("arguments")})


async def listing(_: McpRequest) -> bytes:
    return LISTED


async def by_key(headers: Headers, _: Scope) -> Principal:
    """Whoever has a key is its owner; nobody else comes in."""
    for name, value in headers:
        if name == b"authorization":
            return Principal(value.decode(), "agent")
    raise Challenge(401, {"title": "Unauthorized", "status": 401}, [(b"www-authenticate", b"Bearer")])


@asynccontextmanager
async def gateway(
    call: Callable[[McpRequest], Any] = echo, authenticate: Any = anybody, **limits: Any
) -> AsyncIterator[tuple[httpx2.AsyncClient, SessionTable]]:
    numbers = count(1)
    bounds, non_tool_handler, more = (
        limits.pop("bounds", JsonLimits()),
        limits.pop("non_tool_handler", None),
        limits.pop("more", {}),
    )
    sessions = SessionTable(lambda: 0.0, lambda: f"s{next(numbers)}", **limits)
    non_tool_handler = non_tool_handler or MergedSession(lambda: IDENTITY, sessions, lambda _: Mentions(()))
    app = McpEndpoint(
        authenticate, Dispatcher(listing, call, more), non_tool_handler, sessions, nowhere, HostOriginPolicy(), bounds
    )
    async with serving(app) as url, httpx2.AsyncClient(base_url=url, timeout=10) as client:
        yield client, sessions


def call(request_id: int = 1, **params: Any) -> dict[str, Any]:
    body = {"name": "echo", "arguments": {"text": "hi"}, **params}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": body}


def initialize(version: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
    client = {"name": "t", "version": "1"}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


async def begin(client: httpx2.AsyncClient, headers: dict[str, str] = JSON, **capabilities: Any) -> dict[str, str]:
    """Open a session; gives the headers of every request in it."""
    response = await client.post("", json=initialize(**capabilities), headers=headers)
    assert response.status_code == 200, response.text
    session = {"mcp-session-id": response.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await client.post(
        "", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers={**headers, **session}
    )
    return {**headers, **session}


# Proper calls


async def test_a_modern_call_is_answered_with_plain_json() -> None:
    async with gateway() as (client, _):
        response = await client.post("", json=call(_meta=META), headers=MODERN)
        assert response.status_code == 200
        assert response.json() == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"content": [], "structuredContent": {"text": "hi"}},
        }


@pytest.mark.parametrize("headers", [{}, {"mcp-protocol-version": "2025-06-18"}])
async def test_a_plain_curl_can_list_call_and_ping_without_a_session(headers: dict[str, str]) -> None:
    async with gateway() as (client, sessions):
        curl = {"content-type": "application/json", "accept": "*/*", **headers}
        listed = await client.post("", json={"jsonrpc": "2.0", "id": "a", "method": "tools/list"}, headers=curl)
        called = await client.post("", json=call(), headers=curl)
        pinged = await client.post("", json={"jsonrpc": "2.0", "id": 3, "method": "ping"}, headers=curl)
        assert listed.content == b'{"jsonrpc":"2.0","id":"a","result":' + LISTED + b"}"
        assert called.json()["result"]["structuredContent"] == {"text": "hi"}
        assert pinged.json() == {"jsonrpc": "2.0", "id": 3, "result": {}}
        assert len(sessions) == 0


async def test_discover_says_who_we_are() -> None:
    async with gateway() as (client, _):
        message = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}
        headers = {**MODERN, "mcp-method": "server/discover"}
        result = (await client.post("", json=message, headers=headers)).json()["result"]
        assert result["supportedVersions"] == ["2026-07-28"]
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "assent"


async def test_a_jsonrpc_error_has_the_status_of_its_era() -> None:
    async def unknown(mcp_request: McpRequest) -> bytes:
        raise RpcError(-32602, "Unknown tool: echo")

    async with gateway(unknown) as (client, _):
        modern = await client.post("", json=call(_meta=META), headers=MODERN)
        handshake = await client.post("", json=call(), headers=JSON)
        assert (modern.status_code, handshake.status_code) == (400, 200)
        assert modern.json() == handshake.json()


async def test_a_defect_of_ours_answers_json_and_says_nothing_about_itself() -> None:
    async def broken(mcp_request: McpRequest) -> bytes:
        raise KeyError("secret detail")

    async with gateway(broken) as (client, _):
        response = await client.post("", json=call(_meta=META), headers=MODERN)
        assert response.json()["error"] == {"code": -32603, "message": "Internal server error"}
        assert "secret" not in response.text


# Sessions


async def test_a_session_is_opened_used_and_ended() -> None:
    async with gateway() as (client, sessions):
        headers = await begin(client)
        assert (await client.post("", json=call(), headers=headers)).status_code == 200
        assert (await client.delete("", headers=headers)).status_code == 200
        gone = await client.post("", json=call(), headers=headers)
        assert (gone.status_code, gone.json()["error"]["message"]) == (404, "Session not found")
        assert len(sessions) == 0


async def test_initialize_negotiates_a_version_of_the_handshake_era() -> None:
    async with gateway() as (client, _):
        for asked, given in (("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25")):
            response = await client.post("", json=initialize(asked), headers=JSON)
            assert response.json()["result"]["protocolVersion"] == given
            assert response.json()["result"]["instructions"] == "Be kind."


async def test_a_session_id_is_worth_nothing_to_another_caller() -> None:
    async with gateway(authenticate=by_key) as (client, _):
        ann = await begin(client, {**JSON, "authorization": "Bearer ann"})
        bob = {**ann, "authorization": "Bearer bob"}
        missing = {**bob, "mcp-session-id": "made-up"}
        for request in (
            lambda headers: client.post("", json=call(), headers=headers),
            lambda headers: client.get("", headers=headers),
            lambda headers: client.delete("", headers=headers),
        ):
            stolen, unknown = await request(bob), await request(missing)
            assert stolen.status_code == 404
            assert stolen.content == unknown.content
        assert (await client.post("", json=call(), headers=ann)).status_code == 200


async def test_without_a_key_nothing_is_read_not_even_the_body() -> None:
    async with gateway(authenticate=by_key) as (client, _):
        response = await client.post("", content=b"{broken", headers=JSON)
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
        assert response.json()["status"] == 401


async def test_sessions_beyond_the_limit_are_refused_and_the_others_go_on() -> None:
    async with gateway(limit=100, per_owner=100) as (client, sessions):
        first = await begin(client)
        tasks = [client.post("", json=initialize(), headers=JSON) for _ in range(300)]
        statuses = sorted(response.status_code for response in await asyncio.gather(*tasks))
        assert statuses == [200] * 99 + [503] * 201
        assert (await client.post("", json=call(), headers=first)).status_code == 200
        assert len(sessions) == 100


async def test_a_message_for_the_session_arrives_on_its_stream() -> None:
    async with gateway() as (client, sessions):
        headers = await begin(client)
        async with client.stream("GET", "", headers=headers) as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == ": open"
            (session,) = sessions
            session.tell({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            seen = [await anext(lines) for _ in range(3)]
            assert seen[2] == 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
            second = await client.get("", headers=headers)
            assert second.status_code == 409


# Talking while a call is under way


async def progress_then_answer(mcp_request: McpRequest) -> bytes:
    await mcp_request.reply.notify({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}})
    return b'{"content":[]}'


async def test_a_notification_turns_the_answer_into_a_stream() -> None:
    async with gateway(progress_then_answer) as (client, _):
        response = await client.post("", json=call(_meta=META), headers=MODERN)
        assert response.headers["content-type"] == "text/event-stream"
        data = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
        assert [orjson.loads(item).get("method", "answer") for item in data] == [
            "notifications/progress",
            "answer",
        ]


async def test_the_client_is_asked_on_the_stream_and_answers_by_a_post() -> None:
    async def asking(mcp_request: McpRequest) -> bytes:
        answer = await mcp_request.reply.ask("elicitation/create", {"message": "Sure?"})
        return orjson.dumps({"content": [], "structuredContent": answer})

    async with gateway(asking) as (client, _):
        headers = await begin(client, elicitation={})
        async with client.stream("POST", "", json=call(), headers=headers) as stream:
            messages = (orjson.loads(line[6:]) async for line in stream.aiter_lines() if line.startswith("data: "))
            question = await anext(messages)
            assert question["method"] == "elicitation/create"
            reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
            assert (await client.post("", json=reply, headers=headers)).status_code == 202
            assert (await anext(messages))["result"]["structuredContent"] == {"action": "accept"}


@pytest.mark.parametrize("capabilities", [{}, {"sampling": {}}])
async def test_a_client_that_never_said_it_answers_is_not_asked(capabilities: dict[str, Any]) -> None:
    async def asking(mcp_request: McpRequest) -> bytes:
        try:
            await mcp_request.reply.ask("elicitation/create", {"message": "Sure?"})
        except CannotAsk:
            return b'{"content":[],"isError":true}'
        raise AssertionError

    async with gateway(asking) as (client, _):
        headers = await begin(client, **capabilities)
        for sent in (headers, JSON):
            assert (await client.post("", json=call(), headers=sent)).json()["result"]["isError"]


async def test_another_session_cannot_answer_a_question() -> None:
    asked = asyncio.Event()

    async def asking(mcp_request: McpRequest) -> bytes:
        asked.set()
        mcp_request.reply.ask_within = 0.2
        try:
            await mcp_request.reply.ask("elicitation/create", {"message": "Sure?"})
        except CannotAsk:
            return b'{"content":[],"structuredContent":"unanswered"}'
        raise AssertionError

    async with gateway(asking) as (client, _):
        ann, eve = await begin(client, elicitation={}), await begin(client, elicitation={})
        running = asyncio.ensure_future(client.post("", json=call(), headers=ann))
        await asked.wait()
        forged = {"jsonrpc": "2.0", "id": "assent-1", "result": {"action": "accept"}}
        await client.post("", json=forged, headers=eve)
        assert "unanswered" in (await running).text


async def test_hanging_up_cancels_the_call() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def slow(mcp_request: McpRequest) -> bytes:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return b""

    async with gateway(slow) as (client, _):
        running = asyncio.ensure_future(client.post("", json=call(_meta=META), headers=MODERN))
        await started.wait()
        running.cancel()
        await asyncio.wait_for(cancelled.wait(), 5)


async def test_a_cancelled_notification_cancels_the_call_of_its_own_session_only() -> None:
    started = asyncio.Event()

    async def slow(mcp_request: McpRequest) -> bytes:
        started.set()
        await asyncio.Event().wait()
        return b""

    async with gateway(slow) as (client, _):
        ann, eve = await begin(client), await begin(client)
        running = asyncio.ensure_future(client.post("", json=call(5), headers=ann))
        await started.wait()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        await client.post("", json=cancel, headers=eve)
        assert not running.done()
        await client.post("", json=cancel, headers=ann)
        assert (await running).json()["error"] == {"code": -32800, "message": "Request cancelled"}


class Endless:
    """Whatever is passed on becomes a stream without an end."""

    most_streams = 10

    async def forward(self, exchange: HttpExchange, message: Any, session: Any) -> None:
        await exchange.send({"type": "http.response.start", "status": 200, "headers": STREAM})
        await asyncio.Event().wait()


async def listen(mcp_request: McpRequest) -> bytes:
    """The same, where it is not passed on."""
    await mcp_request.reply.open()
    await asyncio.Event().wait()
    return b""


@pytest.mark.parametrize("era", ["handshake", "modern", "modern, served here"])
async def test_a_stream_ends_when_its_listener_would_no_longer_be_let_in(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reauthorize, "EVERY", 0.01)
    asked, revoked, unsure = count(), asyncio.Event(), asyncio.Event()

    async def while_known(headers: Headers, scope: Scope) -> Principal:
        if next(asked) > 6:
            unsure.set()
        if revoked.is_set():
            raise Challenge(401, {"status": 401}, [])
        if unsure.is_set():
            raise Challenge(503, {"status": 503}, [])
        return Principal("ann", "agent")

    non_tool_handler = Endless() if era == "modern" else None
    more = {"subscriptions/listen": listen} if era == "modern, served here" else {}
    async with gateway(authenticate=while_known, non_tool_handler=non_tool_handler, more=more) as (client, _):
        if era == "handshake":
            stream = client.stream("GET", "", headers={**await begin(client), "accept": "text/event-stream"})
        else:
            params = {"_meta": META, "notifications": {"toolsListChanged": True}}
            body = {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}
            headers = {**MODERN, "mcp-method": "subscriptions/listen"}
            stream = client.stream("POST", "", json=body, headers=headers)
        async with stream as response:
            assert response.status_code == 200
            await unsure.wait()  # nobody can say just now: it goes on
            revoked.set()
            assert b"error" not in await response.aread()


async def test_a_stream_ends_when_its_credentials_have_become_somebody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reauthorize, "EVERY", 0.01)
    names = ["ann"]

    async def by_now(headers: Headers, scope: Scope) -> Principal:
        return Principal(names[-1], "agent")

    async with gateway(authenticate=by_now) as (client, _):
        headers = {**await begin(client), "accept": "text/event-stream"}
        async with client.stream("GET", "", headers=headers) as response:
            assert response.status_code == 200
            names.append("bob")
            assert b"error" not in await response.aread()


async def test_a_look_that_fails_does_not_end_the_vigil(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reauthorize, "EVERY", 0.0)
    looks, sent = iter([True, RuntimeError("the pool is closed"), True, False]), []

    async def is_welcome() -> bool:
        if isinstance(found := next(looks), Exception):
            raise found
        return bool(found)

    async def send(message: Any) -> None:
        sent.append(message)

    async with asyncio.timeout(10):
        await reauthorize.end_when_unauthorized(asyncio.Event().wait(), is_welcome, send, asyncio.Event())
    assert sent == [{"type": "http.response.body", "body": b""}]


# Everything improper

REFUSED: dict[str, tuple[bytes, str]] = {
    "half an object": (b'{"jsonrpc"', "Parse error"),
    "a duplicate key": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}',
        "duplicate key 'method'",
    ),
    "a hidden duplicate": (b'{"jsonrpc":"2.0","id":1,"\\u0069d":2,"method":"ping"}', "duplicate key 'id'"),
    "NaN": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', "Parse error"),
    "a lone surrogate": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}', "Parse error"),
    "a huge integer": (b'{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}', "beyond"),
    "deep nesting": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 99 + b"1" + b"}" * 100,
        "deeper",
    ),
}


@pytest.mark.parametrize("title", REFUSED)
@pytest.mark.parametrize("headers", [JSON, MODERN], ids=["handshake", "modern"])
async def test_json_that_could_be_read_two_ways_is_refused(title: str, headers: dict[str, str]) -> None:
    body, words = REFUSED[title]
    async with gateway() as (client, _):
        response = await client.post("", content=body, headers=headers)
        assert response.status_code == 400
        assert response.json()["error"]["code"] == -32700
        assert words in response.json()["error"]["message"]
        assert response.json()["error"]["data"]["code"] == "validate.malformed"


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_of_fifty_megabytes_is_refused_without_being_held(declared: bool) -> None:
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(800):
            sent += 65536
            yield b" " * 65536

    async with gateway(bounds=JsonLimits(size=100_000)) as (client, _):
        headers = {**MODERN, **({"content-length": str(800 * 65536)} if declared else {})}
        try:
            response = await client.post("", content=body(), headers=headers)
            assert response.status_code == 413
        except httpx2.TransportError:
            pass  # the door was closed while we were still sending
        assert sent < 50_000_000
        assert (await client.post("", json=call(_meta=META), headers=MODERN)).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403), ({"origin": "null"}, 403)],
)
async def test_a_rebound_name_is_refused_before_anything_else(headers: dict[str, str], status: int) -> None:
    async with gateway(authenticate=by_key) as (client, _):
        response = await client.post("", json=call(_meta=META), headers={**MODERN, **headers})
        assert response.status_code == status
        assert response.headers["content-type"] == "application/json"
        assert "public_url" in response.json()["detail"], "what to do about it is said"


async def test_two_hundred_broken_requests_do_not_disturb_two_hundred_good_ones() -> None:
    async with gateway() as (client, _):
        bad = [client.post("", content=b'{"a":1,"a":2}', headers=MODERN) for _ in range(200)]
        good = [client.post("", json=call(number, _meta=META), headers=MODERN) for number in range(200)]
        responses = await asyncio.gather(*bad, *good)
        assert [response.status_code for response in responses] == [400] * 200 + [200] * 200
        assert [response.json()["id"] for response in responses[200:]] == list(range(200))
