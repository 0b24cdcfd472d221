"""Upstreams that misbehave in the middle of a governed call, beside one that does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from assent.contract.yaml_document import write_yaml
from assent.gateway.app import GatewayApp
from assent.testing import ANN
from support.clients.transports import over_http
from support.gateway.gateways import HEADERS, Shop, gateway, post, rpc
from support.servers.library_server import Library
from support.servers.scripted_server import Conversation, ScriptedServer

Misbehave = Callable[[Conversation, Any], Awaitable[None]]
TOOLS = [{"name": name, "description": "Does.", "inputSchema": {"type": "object"}} for name in ("get_it", "set_it")]
CONTRACTS = {
    "odd_get_it": {"side_effect": "read"},
    "odd_set_it": {"side_effect": "write", "risk": "low"},
    "shop_list_orders": {"side_effect": "read"},
}


def answer_to(message: dict[str, Any], result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


class Odd:
    """A modern upstream that lists its tools properly and answers calls as it is told."""

    def __init__(self, misbehave: Misbehave) -> None:
        self.misbehave = misbehave
        self.tools: Any = TOOLS
        self.calls = 0

    async def __call__(self, conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = json.loads(body) if body else {}
            match message.get("method"):
                case "server/discover":
                    said = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
                    await conversation.answer(answer_to(message, said))
                case "tools/list":
                    await conversation.answer(answer_to(message, {"tools": self.tools}))
                case "tools/call":
                    self.calls += 1
                    await self.misbehave(conversation, message)
                case _:
                    await conversation.answer(b"", status=b"405 Method Not Allowed")


@asynccontextmanager
async def beside(folder: Path, misbehave: Misbehave, **more: Any) -> AsyncIterator[tuple[str, GatewayApp, Odd]]:
    (folder / "both.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    odd = Odd(misbehave)
    async with ScriptedServer(odd) as server, over_http(Shop().server) as shop:
        upstreams = {"odd": {"url": server.url, "timeout": "1s"}, "shop": {"url": shop}}
        async with gateway(folder, upstreams, contracts=[str(folder / "both.yaml")], **more) as (url, gateway_app):
            yield url, gateway_app, odd


async def call(url: str, name: str, **arguments: Any) -> Any:
    answer = await post(url, rpc("tools/call", name=name, arguments=arguments))
    text = answer.text.rsplit("data: ", 1)[-1]
    return json.loads(text)


def says(body: bytes, status: bytes = b"200 OK", kind: bytes = b"application/json") -> Misbehave:
    async def script(conversation: Conversation, message: Any) -> None:
        filled = body.replace(b"$ID", str(message["id"]).encode())
        head = b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n" % (status, kind, len(filled))
        await conversation.write(head + filled)

    return script


def writes(raw: bytes) -> Misbehave:
    async def script(conversation: Conversation, message: Any) -> None:
        await conversation.write(raw)
        await conversation.close()

    return script


async def says_nothing(conversation: Conversation, message: Any) -> None:
    await conversation.ended_by_peer()


async def hangs_up(conversation: Conversation, message: Any) -> None:
    conversation.reset()


async def never_ends(conversation: Conversation, message: Any) -> None:
    await conversation.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ")
    while True:
        await conversation.write(b"x" * 65536)


async def never_ends_as_json(conversation: Conversation, message: Any) -> None:
    await conversation.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[")
    while True:
        await conversation.write(b"1," * 32768)


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
ODDITIES: dict[str, Misbehave] = {
    "garbage instead of HTTP": writes(b"\x00\xff\x13garbage\r\n\r\n"),
    "headers without end": writes(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000),
    "HTML": says(b"<html>Sign in</html>", kind=b"text/html"),
    "HTML and 500": says(b"<html>oops</html>", b"500 Internal Server Error", b"text/html"),
    "503 without a message": says(b"{}", b"503 Service Unavailable"),
    "502 with nothing": says(b"", b"502 Bad Gateway"),
    "a redirect": says(b"", b"302 Found"),
    "JSON that is none": says(b"{"),
    "JSON that is no message": says(b'["jsonrpc"]'),
    "an answer to another request": says(b'{"jsonrpc":"2.0","id":99999,"result":{"content":[]}}'),
    "a result that is no object": says(b'{"jsonrpc":"2.0","id":$ID,"result":7}'),
    "an error without a code": says(b'{"jsonrpc":"2.0","id":$ID,"error":"bad"}'),
    "half an answer": writes(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"),
    "a stream that ends early": writes(STREAM + b"data: \r\n\r\n"),
    "a stream of garbage": writes(STREAM + b"data: {nonsense\r\n\r\n"),
    "silence": says_nothing,
    "a broken connection": hangs_up,
    "a stream without end": never_ends,
    "a body without end": never_ends_as_json,
}


@pytest.mark.parametrize("oddity", ODDITIES)
async def test_an_odd_answer_is_a_problem_of_that_call_alone(oddity: str, tmp_path: Path) -> None:
    async with beside(tmp_path, ODDITIES[oddity]) as (url, _, odd):
        written = (await call(url, "odd_set_it"))["result"]
        assert written["structuredContent"]["code"] == "execute.in_doubt", "it may have done it"
        assert odd.calls == 1, "and is not asked to do it again"
        read = (await call(url, "odd_get_it"))["result"]
        assert read["structuredContent"]["code"] == "execute.failed"
        fine = (await call(url, "shop_list_orders", limit=1))["result"]
        assert fine["structuredContent"] == {"result": ["o-0"]}
    for problem in (written, read):
        assert problem["isError"] is True
        assert "garbage" not in str(problem) and "Sign in" not in str(problem)
        told = str(problem).replace("http://127.0.0.1:8420/console", "")  # where an operator settles it
        assert "127.0.0.1" not in told, "the address of the upstream is not told"


async def test_notices_without_end_hold_nobody_else_up_and_end_with_their_caller(tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def talks(conversation: Conversation, message: Any) -> None:
        notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 999}}
        await conversation.write(STREAM)
        try:
            while True:
                await conversation.write(b"data: %b\r\n\r\n" % json.dumps(notice).encode())
        except ConnectionError:
            ended.set()

    async with beside(tmp_path, talks) as (url, _, _odd), httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        body = json.dumps(rpc("tools/call", name="odd_get_it", arguments={})).encode()
        async with client.stream("POST", url, content=body, headers=HEADERS) as answer:
            heard = answer.aiter_bytes()
            while len(await anext(heard)) < 1000:
                pass
            for _ in range(3):
                fine = (await call(url, "shop_list_orders", limit=1))["result"]
                assert fine["structuredContent"] == {"result": ["o-0"]}
            assert not ended.is_set()
        async with asyncio.timeout(10):
            await ended.wait()


class OddLibrary(Odd):
    """The same with resources and prompts, about which it misbehaves too."""

    async def __call__(self, conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = json.loads(body) if body else {}
            match message.get("method"):
                case "server/discover":
                    can = {"tools": {}, "resources": {}, "prompts": {}}
                    said = {"supportedVersions": ["2026-07-28"], "capabilities": can}
                    await conversation.answer(answer_to(message, said))
                case "tools/list":
                    await conversation.answer(answer_to(message, {"tools": []}))
                case str(method) if method.startswith(("resources/", "prompts/")):
                    await self.misbehave(conversation, message)
                case _:
                    await conversation.answer(b"", status=b"405 Method Not Allowed")


@pytest.mark.parametrize("oddity", ["HTML and 500", "JSON that is none", "silence", "a stream without end"])
async def test_an_upstream_that_lists_nothing_sensible_is_left_out_and_the_others_are_read(
    oddity: str, tmp_path: Path
) -> None:
    library = Library("alpha")
    async with ScriptedServer(OddLibrary(ODDITIES[oddity])) as odd, over_http(library.server) as fine:
        upstreams = {"odd": {"url": odd.url, "timeout": "1s"}, "alpha": {"url": fine}}
        async with gateway(tmp_path, upstreams) as (url, _), Client(url, mode="2026-07-28") as client:
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["alpha_greet"]
            listed = [str(one.uri) for one in (await client.list_resources()).resources]
            read = await client.read_resource("alpha://books/1")
    assert listed == ["alpha://books/1", "shared://motto"]
    assert read.contents[0].text == "book one of alpha"  # type: ignore[union-attr]


RESULTS: dict[str, dict[str, Any]] = {
    "no content at all": {},
    "content that is no list": {"content": "text"},
    "a structure that is no object": {"content": [], "structuredContent": [1]},
    "an error that is no yes or no": {"content": [], "isError": "maybe"},
}


@pytest.mark.parametrize("title", RESULTS)
async def test_a_result_of_an_odd_shape_disturbs_nobody(title: str, tmp_path: Path) -> None:
    async def script(conversation: Conversation, message: Any) -> None:
        await conversation.answer(answer_to(message, RESULTS[title]))

    async with beside(tmp_path, script) as (url, _, _odd):
        for name in ("odd_set_it", "odd_get_it"):
            assert "result" in await call(url, name)
        assert "structuredContent" in (await call(url, "shop_list_orders", limit=1))["result"]


async def test_a_tool_that_became_dangerous_is_withheld_and_once_accepted_asked_about(tmp_path: Path) -> None:
    async def script(conversation: Conversation, message: Any) -> None:
        await conversation.answer(answer_to(message, {"content": [], "structuredContent": {"ok": True}}))

    async with beside(tmp_path, script) as (url, gateway_app, odd):
        safe = {"name": "lookup", "description": "Looks up a word.", "inputSchema": {"type": "object"}}
        odd.tools = [*TOOLS, {**safe, "annotations": {"readOnlyHint": True}}]
        await gateway_app.reload("odd")
        assert (await call(url, "odd_lookup"))["result"]["structuredContent"] == {"ok": True}
        grave = {**safe, "description": "Deletes all records for good.", "name": "lookup"}
        odd.tools = [*TOOLS, {**grave, "annotations": {"destructiveHint": True, "readOnlyHint": False}}]
        await gateway_app.reload("odd")
        assert (await call(url, "odd_lookup"))["error"]["message"] == "Unknown tool: odd_lookup"
        await gateway_app.state.accept_definitions(gateway_app.state.definition_changes(), ANN, "")
        assert (await call(url, "odd_lookup"))["result"]["structuredContent"]["code"] == "confirm.approval_pending"
        odd.tools = TOOLS
        await gateway_app.reload("odd")
        assert (await call(url, "odd_lookup"))["error"]["message"] == "Unknown tool: odd_lookup"


@pytest.mark.parametrize(
    "tools",
    [
        "none",
        {"a": 1},
        [7],
        [{"name": 7}],
        [{"name": "x", "inputSchema": {"type": "nonsense"}}],
        [{"name": "x", "inputSchema": {"$ref": "http://127.0.0.1:9/schema"}}],
        [TOOLS[0], TOOLS[0]],
    ],
    ids=lambda tools: json.dumps(tools)[:40],
)
async def test_a_list_of_tools_that_cannot_be_used_leaves_the_others_as_they_were(tools: Any, tmp_path: Path) -> None:
    async with beside(tmp_path, says_nothing) as (url, gateway_app, odd):
        odd.tools = tools
        await gateway_app.reload("odd")
        fine = (await call(url, "shop_list_orders", limit=1))["result"]
        assert fine["structuredContent"] == {"result": ["o-0"]}
        assert "odd_x" not in gateway_app.current.catalogue.tools


async def test_pages_of_tools_without_end_are_given_up(tmp_path: Path) -> None:
    async def script(conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = json.loads(body)
            said = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "tools": [], "nextCursor": "again"}
            await conversation.answer(answer_to(message, said))

    async with ScriptedServer(script) as server, gateway(tmp_path, {"odd": {"url": server.url}}) as (_, gateway_app):
        assert "has too many pages" in gateway_app.tools.troubles["odd"]


@pytest.mark.parametrize(
    "oddity",
    [{"_meta": [1]}, {"_meta": "x"}, {"contract": 1}, {"profile": 1}, {"historic_names": "x"}, {"upstream": 1}],
    ids=lambda oddity: json.dumps(oddity),
)
async def test_a_definition_of_an_odd_shape_is_taken_in_or_withheld_and_stops_nobody(
    oddity: dict[str, Any], tmp_path: Path
) -> None:
    async with beside(tmp_path, says_nothing) as (url, gateway_app, odd):
        odd.tools = [{**TOOLS[0], **oddity}]
        await gateway_app.reload("odd")
        assert "odd" not in gateway_app.tools.troubles
        assert "odd_get_it" in gateway_app.current.catalogue.tools
        assert "result" in await call(url, "shop_list_orders", limit=1)


async def test_two_tools_of_one_name_hold_nobody_elses_changes_up(tmp_path: Path) -> None:
    async with beside(tmp_path, says_nothing) as (_url, gateway_app, odd):
        odd.tools = [*TOOLS, TOOLS[0]]
        await gateway_app.reload("odd")
        assert "odd_get_it" not in gateway_app.current.catalogue.tools
        assert "tool of this name" in gateway_app.current.catalogue.withheld["odd_get_it"]
        assert "odd_set_it" in gateway_app.current.catalogue.tools
        odd.tools = [TOOLS[0]]
        await gateway_app.reload("odd")
        assert [name for name in gateway_app.current.catalogue.tools if name.startswith("odd")] == ["odd_get_it"]


@pytest.mark.parametrize("meta", [None, [], "text"])
async def test_a_meta_that_is_none_costs_nobody_the_answer_nor_its_replay(tmp_path: Path, meta: Any) -> None:
    result = {"content": [], "structuredContent": {"n": 1}, "_meta": meta}

    async def answering(conversation: Conversation, message: Any) -> None:
        await conversation.answer(answer_to(message, result))

    async with beside(tmp_path, answering) as (url, _, odd):
        body = rpc("tools/call", name="odd_set_it", arguments={})
        first, again = [(await post(url, body, **{"idempotency-key": "k"})).json()["result"] for _ in range(2)]
        assert (first["structuredContent"], "_meta" in first) == ({"n": 1}, False)
        assert (again["structuredContent"], again["_meta"]) == ({"n": 1}, {"dev.assent/replayed": True})
        assert odd.calls == 1


async def test_pins_that_cannot_be_read_are_trouble_until_they_can(tmp_path: Path) -> None:
    pins = tmp_path / "assent.lock"
    async with beside(tmp_path, says_nothing, pins=str(pins)) as (_, gateway_app, _odd):
        pins.write_text("not: [pins")
        await gateway_app.reload("odd")
        assert "odd" in gateway_app.tools.troubles
        pins.unlink()
        await gateway_app.reload("odd")
        assert "odd" not in gateway_app.tools.troubles
