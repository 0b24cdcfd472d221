"""Our client of either era against upstreams that follow the protocol, and those that do not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from assent.mcp.jsonrpc import RpcError
from assent.upstreams.errors import ConnectionLost, Oversized, ProtocolViolation, SessionLost, TimedOut
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.client import HttpUpstream
from assent.upstreams.http.pool import Limits, Pool
from assent.upstreams.http.sessions import SessionContext
from assent.upstreams.http.sse_server import SseUpstream
from support.servers.scripted_server import Conversation, Script, ScriptedServer

MODERN = SessionContext("2026-07-28", None, {"elicitation": {}})
SESSION = SessionContext("2025-11-25", "s1")
CALL = {"name": "echo", "arguments": {"text": "hi"}}


@asynccontextmanager
async def upstream(script: Script, limits: Limits | None = None) -> AsyncIterator[tuple[HttpUpstream, ScriptedServer]]:
    async with ScriptedServer(script) as server:
        pool = Pool(
            "shop",
            UpstreamAddress.of(server.url),
            limits or Limits(),
            CircuitBreaker("shop", lambda: 0.0, threshold=99),
        )
        try:
            yield HttpUpstream(pool, {"name": "assent", "version": "0"}, first_id=1), server
        finally:
            await pool.close()


def answering(respond: Callable[[dict[str, Any]], dict[str, Any]]) -> Script:
    """Answer every request with what `respond` makes of it."""

    async def script(conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = orjson.loads(body)
            if "id" not in message or "method" not in message:
                await conversation.answer(b"", status=b"202 Accepted")
                continue
            await conversation.answer(orjson.dumps({"jsonrpc": "2.0", "id": message["id"], **respond(message)}))

    return script


def streaming(*events: bytes) -> Script:
    """Answer with events; %ID% stands for the request's id."""

    async def script(conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = orjson.loads(body)
            if "method" not in message:
                await conversation.answer(b"", status=b"202 Accepted")
                continue
            whole = b"".join(events).replace(b"%ID%", orjson.dumps(message["id"]))
            await conversation.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%b"
                % (len(whole), whole)
            )

    return script


ANSWER = b'data: {"jsonrpc":"2.0","id":%ID%,"result":{"content":[]}}\n\n'


async def test_a_modern_request_carries_its_envelope_and_mirrors_it_in_headers() -> None:
    async with upstream(answering(lambda _: {"result": {"content": []}})) as (client, server):
        params = {**CALL, "name": "größe", "_meta": {"progressToken": 5}}
        assert await client.request("tools/call", params, MODERN) == {"content": []}
        head, body = server.requests[0]
        meta = orjson.loads(body)["params"]["_meta"]
        assert meta["progressToken"] == 5
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {"elicitation": {}}
        assert b"mcp-method: tools/call\r\nmcp-name: =?base64?Z3LDtsOfZQ==?=\r\n" in head


async def test_a_caller_cannot_speak_for_us_in_the_envelope() -> None:
    async with upstream(answering(lambda _: {"result": {}})) as (client, server):
        forged = {"_meta": {"io.modelcontextprotocol/clientInfo": {"name": "someone-else", "version": "9"}}}
        await client.request("tools/call", {**CALL, **forged}, MODERN)
        assert b"someone-else" not in server.requests[0][1]


async def test_a_session_request_carries_the_session_and_no_envelope() -> None:
    async with upstream(answering(lambda _: {"result": {}})) as (client, server):
        await client.request("tools/call", CALL, SESSION)
        head, body = server.requests[0]
        assert b"mcp-session-id: s1\r\n" in head
        assert b"mcp-method" not in head
        assert orjson.loads(body)["params"] == CALL


async def test_every_page_is_listed_and_every_definition_kept_as_it_was_written() -> None:
    tools = [{"name": f"t{n}", "annotations": {"readOnly": True}, "x-unknown": {"n": n}} for n in range(5)]

    def page(message: dict[str, Any]) -> dict[str, Any]:
        start = int(message["params"].get("cursor", 0))
        more = {"nextCursor": str(start + 2)} if start + 2 < 5 else {}
        return {"result": {"tools": tools[start : start + 2], **more}}

    async with upstream(answering(page)) as (client, _):
        assert await client.list_all("tools/list", "tools", MODERN) == tools


async def test_an_empty_cursor_is_the_end_of_a_list() -> None:
    async with upstream(answering(lambda _: {"result": {"tools": [{"name": "a"}], "nextCursor": ""}})) as (client, _):
        assert await client.list_all("tools/list", "tools", MODERN) == [{"name": "a"}]


@pytest.mark.parametrize(
    "result",
    [{"tools": [], "nextCursor": "same"}, {"tools": "none"}, {"tools": [1]}, {}],
    ids=["cursor that never ends", "no list", "no objects", "nothing"],
)
async def test_a_list_that_makes_no_sense_is_garbled(result: dict[str, Any]) -> None:
    async with upstream(answering(lambda _: {"result": result})) as (client, _):
        with pytest.raises(ProtocolViolation):
            await client.list_all("tools/list", "tools", MODERN)


async def test_an_upstream_that_discovers_is_modern() -> None:
    result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "instructions": "hi"}
    async with upstream(answering(lambda _: {"result": result})) as (client, _):
        described = await client.describe()
        assert (described.version, described.capabilities, described.instructions) == (
            "2026-07-28",
            {"tools": {}},
            "hi",
        )


async def test_an_upstream_that_does_not_is_asked_by_handshake_and_the_session_is_ended() -> None:
    async def old(conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = orjson.loads(body) if body else {}
            if message.get("method") == "initialize":
                result = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "old"},
                }
                reply = orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
                await conversation.answer(reply, fields=b"mcp-session-id: s9\r\n")
            elif message.get("method") == "server/discover":
                reply = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Missing session ID"}}'
                await conversation.answer(reply, status=b"400 Bad")
            else:
                await conversation.answer(b"", status=b"202 Accepted")

    async with upstream(old) as (client, server):
        described = await client.describe()
        assert (described.version, described.info) == ("2025-06-18", {"name": "old"})
        assert [head.split(b" ")[0] for head, _ in server.requests] == [b"POST", b"POST", b"POST", b"DELETE"]
        assert b"mcp-session-id: s9" in server.requests[3][0]


async def test_an_error_comes_back_as_the_upstream_said_it_whatever_its_status() -> None:
    async def refuse(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.answer(
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad","data":{"x":1}}}',
            status=b"400 Bad",
        )

    async with upstream(refuse) as (client, _):
        with pytest.raises(RpcError) as error:
            await client.request("tools/call", CALL, MODERN)
        assert (error.value.code, error.value.message, error.value.data) == (-32602, "bad", {"x": 1})


class Listener:
    """Writes down what an upstream says before it answers, and answers its questions."""

    def __init__(self, answer: dict[str, Any] | None = None) -> None:
        self.heard: list[Any] = []
        self._answer = answer

    async def open(self) -> None:
        self.heard.append("open")

    async def prime(self, retry: int | None) -> None:
        self.heard.append(("prime", retry))

    async def pause(self) -> None:
        self.heard.append("pause")

    async def notify(self, message: dict[str, Any]) -> None:
        self.heard.append(message["method"])

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        self.heard.append(question["method"])
        return {"jsonrpc": "2.0", "id": question["id"], **self._answer} if self._answer is not None else None


NOTE = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'
QUESTION = b'data: {"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{}}\n\n'


async def test_what_is_said_before_the_answer_is_passed_on_and_a_question_is_answered() -> None:
    listener = Listener({"result": {"action": "accept"}})
    async with upstream(streaming(b": ping\n\n", NOTE, QUESTION, ANSWER)) as (client, server):
        assert await client.request("tools/call", CALL, SESSION, stream_listener=listener) == {"content": []}
        assert listener.heard == ["open", "notifications/message", "elicitation/create"]
        posted = orjson.loads(server.requests[1][1])
        assert posted == {"jsonrpc": "2.0", "id": "q1", "result": {"action": "accept"}}
        assert b"mcp-session-id: s1" in server.requests[1][0]


async def test_a_question_nobody_can_take_is_refused_and_not_left_open() -> None:
    async with upstream(streaming(QUESTION, ANSWER)) as (client, server):
        await client.request("tools/call", CALL, SESSION)
        assert orjson.loads(server.requests[1][1])["error"]["code"] == -32601


async def test_while_a_person_thinks_the_upstreams_silence_is_forgiven_and_its_time_stands_still() -> None:
    class Slow(Listener):
        async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
            await asyncio.sleep(0.1)
            return await super().answer(question)

    async def asks(conversation: Conversation) -> None:
        _, body = await conversation.read_request()
        if b'"method"' not in body:
            return await conversation.answer(b"", status=b"202 Accepted")
        whole = (QUESTION + ANSWER).replace(b"%ID%", orjson.dumps(orjson.loads(body)["id"]))
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(whole)
        await conversation.write(head + QUESTION)
        await asyncio.sleep(0.12)
        await conversation.write(whole[len(QUESTION) :])

    async with upstream(asks, Limits(silence=0.04, total=0.09)) as (client, _):
        assert await client.request("tools/call", CALL, SESSION, stream_listener=Slow({"result": {}})) == {
            "content": []
        }


async def test_a_stream_that_breaks_off_is_resumed_where_it_ended() -> None:
    async def polling(conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            if head.startswith(b"POST"):
                conversation.server.asked = orjson.loads(body)["id"]  # type: ignore[attr-defined]
                event = b"id: e1\nretry: 1\ndata:\n\n"
            else:
                assert b"last-event-id: e1\r\n" in head
                event = ANSWER.replace(b"%ID%", b"%d" % conversation.server.asked)  # type: ignore[attr-defined]
            length = b"content-length: %d" % len(event)
            await conversation.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n" + length + b"\r\n\r\n" + event
            )

    listener = Listener()
    async with upstream(polling) as (client, server):
        assert await client.request("tools/call", CALL, SESSION, stream_listener=listener) == {"content": []}
        assert listener.heard == ["open", ("prime", 1), "pause"]
        assert [head.split(b" ")[0] for head, _ in server.requests] == [b"POST", b"GET"]


def plain(body: bytes, kind: bytes = b"application/json", status: bytes = b"200 OK") -> Script:
    async def script(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(
            b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (status, kind, len(body), body)
        )

    return script


@pytest.mark.parametrize(
    "script",
    [
        plain(b"<html></html>", b"text/html"),
        plain(b"<html></html>", b"text/html", b"503 Busy"),
        plain(b"not json"),
        plain(b"[]"),
        plain(b'{"id":1}'),
        plain(b'{"jsonrpc":"2.0","id":999,"result":{}}'),
        plain(b'{"jsonrpc":"2.0","id":1,"result":[]}'),
        plain(b'{"jsonrpc":"2.0","id":1}'),
        plain(b'{"jsonrpc":"2.0","id":1,"result":{}}', status=b"500 Oops"),
        plain(b"", status=b"202 Accepted"),
        streaming(b"data: not json\n\n"),
        streaming(NOTE),
        streaming(b""),
        streaming(b'data: {"jsonrpc":"2.0","id":7,"method":["ping"]}\n\n' + ANSWER),
    ],
    ids=range(14),
)
async def test_an_answer_outside_the_protocol_is_garbled_and_may_have_had_an_effect(script: Script) -> None:
    async with upstream(script) as (client, _):
        with pytest.raises(ProtocolViolation) as fault:
            await client.request("tools/call", CALL, MODERN)
        assert fault.value.sent


async def test_an_answer_or_an_event_that_is_too_large_is_refused() -> None:
    limits = Limits(body=1000)
    for script in (plain(b'"' + b"x" * 5000 + b'"'), streaming(b"data: " + b"x" * 5000 + b"\n\n")):
        async with upstream(script, limits) as (client, _):
            with pytest.raises(Oversized):
                await client.request("tools/call", CALL, MODERN)


async def test_an_answer_that_is_nested_too_deeply_is_refused() -> None:
    async def script(conversation: Conversation) -> None:
        _, body = await conversation.read_request()
        deep = b'{"a":' * 900 + b"1" + b"}" * 900
        head = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"_meta":' % orjson.loads(body)["id"]
        await conversation.answer(head + deep + b"}}")

    async with upstream(script) as (server, _):
        with pytest.raises(Oversized, match="nested too deeply"):
            await server.request("tools/call", CALL, MODERN)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (b'{"jsonrpc":"2.0","id":%ID%,"result":{"content":' + b"[" * 900 + b"]" * 900 + b"}}", "nested too deeply"),
        (b'{"jsonrpc":"2.0","method":"notifications/message","params":' + b"[" * 900 + b"]" * 900 + b"}", "too deeply"),
    ],
)
async def test_a_message_of_the_old_transport_that_cannot_be_passed_on_ends_its_stream(odd: bytes, reason: str) -> None:
    streams: list[Conversation] = []

    async def script(conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            if head.startswith(b"GET"):
                streams.append(conversation)
                await conversation.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
                await conversation.write(b"event: endpoint\ndata: /messages\n\n")
                await conversation.ended_by_peer()
            await conversation.answer(b"", status=b"202 Accepted")
            message = orjson.loads(body)
            greeted = {"jsonrpc": "2.0", "id": message.get("id"), "result": {"protocolVersion": "2024-11-05"}}
            said = orjson.dumps(greeted) if message["method"] == "initialize" else odd
            if "id" in message:
                await streams[0].write(b"data: %b\n\n" % said.replace(b"%ID%", orjson.dumps(message["id"])))

    async with upstream(script) as (client, _):
        older = SseUpstream(*client.parts)
        _, peer = await older.open_session({})
        with pytest.raises(ConnectionLost, match=reason):
            await older.request("tools/call", CALL, peer, stream_listener=Listener())


async def test_a_session_the_upstream_forgot_is_lost_and_nothing_was_done() -> None:
    async with upstream(plain(b'{"jsonrpc":"2.0","id":null,"error":{}}', status=b"404 Gone")) as (client, _):
        with pytest.raises(SessionLost):
            await client.request("tools/call", CALL, SESSION)


async def silent(conversation: Conversation) -> None:
    _, body = await conversation.read_request()
    if b"notifications/" in body:
        return await conversation.answer(b"", status=b"202 Accepted")
    await conversation.ended_by_peer()


async def test_a_late_upstream_times_out() -> None:
    async with upstream(silent, Limits(silence=0.02)) as (client, _):
        with pytest.raises(TimedOut):
            await client.request("tools/call", CALL, MODERN)


async def test_cancelling_tells_a_session_upstream_which_request_is_meant() -> None:
    async with upstream(silent) as (client, server):
        call = asyncio.ensure_future(client.request("tools/call", CALL, SESSION))
        await server.received.wait()
        server.received.clear()
        call.cancel()
        await asyncio.wait_for(server.received.wait(), 5)
        told = orjson.loads(server.requests[1][1])
        assert told == {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}


async def test_an_upstream_that_dies_in_the_middle_of_a_call_is_lost() -> None:
    async def dies(conversation: Conversation) -> None:
        await conversation.read_request()
        conversation.reset()

    async with upstream(dies) as (client, _):
        with pytest.raises(ConnectionLost) as fault:
            await client.request("tools/call", CALL, MODERN)
        assert fault.value.sent
