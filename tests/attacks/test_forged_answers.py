"""Answers to our questions that somebody else collects, and what a caller sends beside its arguments."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_types import LOG_LEVEL_META_KEY

from assent.contract.yaml_document import write_yaml
from support.gateway.gateways import HEADERS, gateway, post, rpc
from support.gateway.wrap_process import home, running
from support.servers import careless_server
from support.servers.scripted_server import Conversation, ScriptedServer

TOOLS = [
    {"name": name, "description": "Does it.", "inputSchema": {"type": "object", "properties": {"x": {}}}}
    for name in ("pay", "look")
]
CONTRACTS = {
    "pay": {"side_effect": "destructive", "confirmation": {"by": "user"}},
    "look": {"side_effect": "read"},
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
}
CAN_ASK = {"elicitation": {}}
ASKS = {"method": "elicitation/create", "params": {"message": "Which?", "requestedSchema": {"type": "object"}}}


class Upstream:
    """A server of either era that keeps every call it was sent, and asks a question of its own where it is told to."""

    def __init__(self, *, modern: bool) -> None:
        self.modern = modern
        self.asks = False
        self.calls: list[dict[str, Any]] = []
        self.answers: list[Any] = []

    async def script(self, conversation: Conversation) -> None:
        while True:
            head, body = await conversation.read_request()
            message = json.loads(body or b"{}")
            if head.startswith(b"GET") or message.get("method") == "subscriptions/listen":
                await conversation.answer(b"", status=b"405 Method Not Allowed")
                continue
            if "method" not in message:
                self.answers.append(message.get("id"))
            if "id" not in message or "method" not in message:
                await conversation.answer(b"", status=b"202 Accepted")
                continue
            said = self._said(message)
            answer = {"jsonrpc": "2.0", "id": message["id"], **said}
            await conversation.answer(json.dumps(answer).encode(), fields=b"mcp-session-id: s%d\r\n" % message["id"])

    def _said(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["method"]:
            case "initialize" if not self.modern:
                version, info = message["params"]["protocolVersion"], {"name": "u", "version": "1"}
                return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
            case "server/discover" if self.modern:
                return {"result": careless_server.DISCOVERED}
            case "tools/list":
                return {"result": {"tools": TOOLS, "resultType": "complete"}}
            case "tools/call":
                self.calls.append(message["params"])
                if self.asks and "inputResponses" not in message["params"]:
                    ask = {"resultType": "input_required", "inputRequests": {"which": ASKS}, "requestState": "inner"}
                    return {"result": ask}
                return {"result": {"content": [], "resultType": "complete"}}
        return {"error": {"code": -32601, "message": "no such method"}}


@asynccontextmanager
async def before(folder: Path, *, modern: bool, **more: Any) -> AsyncIterator[tuple[str, Upstream]]:
    (folder / "calls.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    upstream = Upstream(modern=modern)
    async with (
        ScriptedServer(upstream.script) as server,
        gateway(folder, {"odd": {"url": server.url}}, contracts=[str(folder / "calls.yaml")], **more) as (url, _),
    ):
        yield url, upstream


async def sent(url: str, tool: str, **params: Any) -> dict[str, Any]:
    """The answer to a call in the modern era."""
    can = params.pop("can", {})
    meta = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": can, **params.pop("_meta", {})}
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
    answer = await post(url, rpc("tools/call", name=tool, _meta=meta, **params), **headers)
    message: dict[str, Any] = answer.json()
    return message


async def call(url: str, tool: str, **params: Any) -> dict[str, Any]:
    """The result of a call in the modern era."""
    answer = await sent(url, tool, **params)
    assert "result" in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


async def test_an_upstreams_own_question_never_collects_the_answer_to_ours(tmp_path: Path) -> None:
    client_info = {"name": "x", "version": "1"}
    hello = rpc("initialize", protocolVersion="2025-11-25", capabilities=CAN_ASK, clientInfo=client_info)
    async with before(tmp_path, modern=False) as (url, upstream), httpx2.AsyncClient(timeout=60) as client:
        opened = await client.post(url, json=hello, headers=HEADERS)
        headers = {**HEADERS, "mcp-session-id": opened.headers["mcp-session-id"]}
        asked = []
        for _ in range(2):
            async with client.stream("POST", url, json=rpc("tools/call", name="pay"), headers=headers) as stream:
                messages = (json.loads(line[6:]) async for line in stream.aiter_lines() if line.startswith("data: {"))
                question = await anext(messages)
                asked.append(question["id"])
                for guess in ("assent-1", "assent-2", "assent-3", 1, question["id"] + "x"):
                    yes = {"jsonrpc": "2.0", "id": guess, "result": {"action": "accept"}}
                    assert (await client.post(url, json=yes, headers=headers)).status_code == 202
                cancel = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}}
                await client.post(url, json=cancel, headers=headers)
                assert (await anext(messages))["result"]["structuredContent"]["code"] == "confirm.cancelled"
        assert upstream.calls == []
        assert not set(asked) & set(upstream.answers), "an upstream never hears the id of our question"
    assert len({len(one) for one in asked}) == 1 and len(set(asked)) == 2 and all(len(one) > 25 for one in asked)


async def test_a_wrapped_server_hears_only_answers_to_its_own_questions(tmp_path: Path) -> None:
    told = tmp_path / "ran"
    command = sys.executable, careless_server.__file__, str(told)
    configuration = write_yaml({"mode": "enforce"})
    async with running(home(tmp_path, configuration), *command) as client:
        await client.greet(elicitation={})
        asked = []
        for number in (1, 2):
            await client.say("tools/call", number, name="delete_all", arguments={})
            question = await client.hear()
            asked.append(question["id"])
            assert client.process.stdin is not None
            for guess in ("assent-1", 1, "never-asked", [1], None, question["id"]):
                yes = {"jsonrpc": "2.0", "id": guess, "result": {"action": "cancel"}}
                client.process.stdin.write(json.dumps(yes).encode() + b"\n")
            assert (await client.hear())["result"]["isError"]
        await client.say("resources/list", 9)
        assert (await client.hear())["id"] == 9
        assert (await client.end())[0] == 0
    heard = json.loads(told.with_suffix(".heard").read_text())
    assert [message for message in heard if "method" not in message] == []
    assert told.read_text() == ""
    assert asked[0][:12] != asked[1][:12]


async def test_meta_of_the_caller_reaches_the_upstream_from_a_known_list_alone(tmp_path: Path) -> None:
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=b"}
    sent = {**trace, "progressToken": "p", "baggage": ["no text"], "com.example/amount": 1000, "amount": 1000}
    async with before(tmp_path, modern=True) as (url, upstream):
        can = {"elicitation": {"form": {}, "amount": {}}, "experimental": {"amount": {"is": 1000}}, "amount": 1}
        assert (await call(url, "look", _meta=sent, can=can)).get("isError") is not True
        handshake = {**sent, LOG_LEVEL_META_KEY: {"amount": 1000}}
        await post(url, rpc("tools/call", name="look", _meta=handshake))
    for params in upstream.calls:
        meta = {name: value for name, value in params["_meta"].items() if "modelcontextprotocol" not in name}
        assert meta == {**trace, "progressToken": "p"}
        assert "amount" not in json.dumps(params)
        assert set(params) == {"name", "arguments", "_meta"}
    assert len(upstream.calls) == 2


async def test_a_state_that_is_not_ours_is_refused_and_no_state_of_the_old_era_passes(tmp_path: Path) -> None:
    beside = {"inputResponses": {"which": {"action": "accept"}}, "requestState": "amount=1000"}
    async with before(tmp_path, modern=True) as (url, upstream):
        refused = await sent(url, "look", **beside)
        assert refused["error"]["code"] == -32602 and "requestState" in refused["error"]["message"]
        assert upstream.calls == []
        await post(url, rpc("tools/call", name="look", **beside))
    (params,) = upstream.calls
    assert "inputResponses" not in params and "requestState" not in params


async def test_answers_that_nobody_asked_for_are_shown_digested_and_checked_like_arguments(tmp_path: Path) -> None:
    unasked = {"which": {"action": "accept", "content": {"amount": 1000}}}
    rules = [{"rule": "block_keywords", "keywords": ["forbidden"]}]
    async with before(tmp_path, modern=True, guards=rules) as (url, upstream):
        asked = await call(url, "pay", can=CAN_ASK, inputResponses=unasked)
        text = asked["inputRequests"]["dev.assent/confirm"]["params"]["message"]
        assert "amount: 1000" in text
        yes = {"dev.assent/confirm": {"action": "accept"}}
        plain = await call(url, "pay", can=CAN_ASK)
        done = await call(url, "pay", can=CAN_ASK, inputResponses=yes, requestState=asked["requestState"])
        assert not done.get("isError") and upstream.calls[-1]["inputResponses"] == unasked
        assert plain["requestState"] != asked["requestState"]
        without = await call(url, "pay", can=CAN_ASK)
        assert without["resultType"] == "input_required", "the yes was for the call with those answers"
        denied = {"which": {"action": "accept", "content": {"say": "forbidden"}}}
        refused = await call(url, "look", inputResponses=denied)
        assert refused["structuredContent"]["code"] == "guard.denied"
        assert len(upstream.calls) == 1


@pytest.mark.parametrize("tool", ["look", "pay"])
async def test_only_the_questions_that_were_asked_are_answered(tool: str, tmp_path: Path) -> None:
    async with before(tmp_path, modern=True) as (url, upstream):
        upstream.asks = True
        asked = await call(url, tool, can=CAN_ASK, arguments={"x": 1})
        if tool == "pay":
            confirmed = {"dev.assent/confirm": {"action": "accept"}, "which": {"action": "accept", "amount": 1}}
            retry = {"inputResponses": confirmed, "requestState": asked["requestState"]}
            asked = await call(url, tool, can=CAN_ASK, arguments={"x": 1}, **retry)
            assert set(upstream.calls[-1]) == {"name", "arguments", "_meta"}, "our question's answer stays with us"
        assert list(asked["inputRequests"]) == ["which"] and asked["requestState"] != "inner"
        answers = {
            "which": {"action": "accept"},
            "amount": {"action": "accept"},
            "dev.assent/confirm": {"action": "accept"},
        }
        retry = {"inputResponses": answers, "requestState": asked["requestState"]}
        done = await call(url, tool, can=CAN_ASK, arguments={"x": 1}, **retry)
        assert done["resultType"] == "complete" and not done.get("isError")
        assert upstream.calls[-1]["inputResponses"] == {"which": {"action": "accept"}}
        assert upstream.calls[-1]["requestState"] == "inner"


async def test_the_state_of_a_read_is_good_for_its_own_arguments_alone(tmp_path: Path) -> None:
    async with before(tmp_path, modern=True) as (url, upstream):
        upstream.asks = True
        asked = await call(url, "look", can=CAN_ASK, arguments={"x": 1})
        retry = {"inputResponses": {"which": {"action": "accept"}}, "requestState": asked["requestState"]}
        again = await sent(url, "look", can=CAN_ASK, arguments={"x": 2}, **retry)
        assert again["error"]["code"] == -32602 and len(upstream.calls) == 1
