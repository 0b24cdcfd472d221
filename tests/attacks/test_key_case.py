"""Messages smuggled by the case of a member's name, before a server that does not regard it.

`{"method": "resources/list", "Method": "tools/call"}` is a list to us and a call to Go's `encoding/json`
(CVE-2026-27896 is the public class).
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from assent.contract.member_names import Spelling, fold
from assent.mcp.jsonrpc import PARAMS, rebuild
from assent.mcp.strict_json import Malformed
from support.gateway.gateways import gateway, post, rpc
from support.gateway.wrap_process import home, running
from support.servers import careless_server
from support.servers.careless_server import Careless
from support.servers.scripted_server import Conversation, ScriptedServer

HELLO = rpc("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x", "version": "1"})
DELETE = {"name": "delete_all", "arguments": {}}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
}
MODERN = {"mcp-protocol-version": "2026-07-28", "mcp-method": "resources/list"}
NO_REQUEST = {"jsonrpc": "2.0", "params": DELETE}
ATTACKS: dict[str, dict[str, Any]] = {
    "request": {**NO_REQUEST, "id": 7, "method": "resources/list", "Method": "tools/call"},
    "request, long s": {"jsonrpc": "2.0", "id": 7, "method": "ping", "param\u017f": DELETE, "METHOD": "tools/call"},
    "params": {"jsonrpc": "2.0", "id": 7, "method": "resources/list", "Params": DELETE},
    "inside params": {**NO_REQUEST, "id": 7, "method": "prompts/get", "params": {"name": "a", "Name": "delete_all"}},
    "lone spelling in params": {"jsonrpc": "2.0", "id": 7, "method": "prompts/get", "params": {"Name": "a"}},
    "meta": {"jsonrpc": "2.0", "id": 7, "method": "resources/list", "params": {"_meta": {"a/b": 1, "A/b": 2}}},
    "notification": {**NO_REQUEST, "method": "notifications/roots/list_changed", "Method": "tools/call"},
    "notification with an id": {**NO_REQUEST, "method": "notifications/initialized", "Method": "tools/call", "ID": 7},
    "response": {**NO_REQUEST, "id": 7, "result": {}, "Method": "tools/call"},
    "error": {**NO_REQUEST, "id": 7, "error": {"code": 1, "message": ""}, "mEthod": "tools/call"},
}  # fmt: skip
SPELLINGS = ["Tools/Call", "TOOLS/CALL", " tools/call", "tools/call\t", "tools/Call", "tools/cal\u217c"]


@asynccontextmanager
async def before_a_careless_one(
    folder: Path, *, modern: bool = False, **more: Any
) -> AsyncIterator[tuple[str, Careless]]:
    careless = Careless(modern=modern)

    async def script(conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = json.loads(body or b"{}")
            session = b"mcp-session-id: s%d-\r\n" % len(conversation.server.requests)
            answer = careless.hear(message)
            fields = session if message.get("method") == "initialize" else b""
            await conversation.answer(json.dumps(answer).encode() if answer else b"", fields=fields)

    async with (
        ScriptedServer(script) as upstream,
        gateway(folder, {"odd": {"url": upstream.url}}, **more) as (url, _),
    ):
        yield url, careless


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("in_session", [False, True])
async def test_no_other_spelling_of_a_member_reaches_a_relayed_upstream(
    attack: str, in_session: bool, tmp_path: Path
) -> None:
    async with before_a_careless_one(tmp_path) as (url, careless):
        session = {"mcp-session-id": (await post(url, HELLO)).headers["mcp-session-id"]} if in_session else {}
        answer = await post(url, ATTACKS[attack], **session)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)
        assert "differs only in case" in answer.json()["error"]["message"]
        assert careless.ran == []
        assert not any(message.get("id") == 7 or "delete_all" in str(message) for message in careless.heard)


@pytest.mark.parametrize("attack", ["request", "params", "meta"])
async def test_nor_in_the_modern_era(attack: str, tmp_path: Path) -> None:
    message = ATTACKS[attack]
    message = {**message, "params": {**message.get("params", {}), "_meta": {**META, **_meta_of(message)}}}
    async with before_a_careless_one(tmp_path, modern=True) as (url, careless):
        answer = await post(url, message, **MODERN)
        assert (answer.status_code, careless.ran) == (400, [])
        assert (await post(url, rpc("resources/list", _meta=META), **MODERN)).json()["result"]["resources"] == []


def _meta_of(message: dict[str, Any]) -> dict[str, Any]:
    return message.get("params", {}).get("_meta", {})


@pytest.mark.parametrize("method", SPELLINGS)
@pytest.mark.parametrize("number", [{}, {"id": 7}], ids=["notification", "request"])
async def test_a_method_is_relayed_in_its_exact_spelling_alone(
    method: str, number: dict[str, Any], tmp_path: Path
) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": DELETE, **number}
    async with before_a_careless_one(tmp_path) as (url, careless):
        session = {"mcp-session-id": (await post(url, HELLO)).headers["mcp-session-id"]}
        answer = await post(url, message, **session)
        assert careless.ran == []
        assert answer.json()["error"]["code"] == -32601 if number else answer.status_code == 202
        modern = {**message, "params": {**DELETE, "_meta": META}, "id": 8}
        headers = {**MODERN, "mcp-method": method.strip(), "mcp-name": "delete_all"}
        assert (await post(url, modern, **{k: v for k, v in headers.items() if v.isascii()})).status_code in (400, 404)
        assert careless.ran == []


async def test_members_that_are_not_the_protocols_stay_behind(tmp_path: Path) -> None:
    async with before_a_careless_one(tmp_path) as (url, careless):
        session = {"mcp-session-id": (await post(url, HELLO)).headers["mcp-session-id"]}
        extra = {"method2": "tools/call", "result": {}, "x": [1]}
        answer = await post(url, {**rpc("resources/list"), **extra}, **session)
        assert answer.json()["result"] == {"resources": []}
        asked = [message for message in careless.heard if message.get("method") == "resources/list"]
        assert asked and all(message.keys() <= {"jsonrpc", "id", "method", "params"} for message in asked)
        await post(url, {"jsonrpc": "2.0", "id": 5, "result": {}, "error2": {}}, **session)
        assert not any("error2" in message for message in careless.heard)


async def test_no_header_of_a_caller_reaches_the_upstream_and_none_of_its_own_comes_back(tmp_path: Path) -> None:
    heads: list[bytes] = []

    async def script(conversation: Conversation) -> None:
        careless = Careless()
        while True:
            head, body = await conversation.read_request()
            heads.append(head)
            answer = careless.hear(json.loads(body or b"{}"))
            await conversation.answer(json.dumps(answer).encode(), fields=b"mcp-session-id: s\r\nmcp-other: 1\r\n")

    sent = {"mcp-tomorrow": "1", "mcp-param-region": "eu", "mcp-method": "tools/call", "mcp-name": "delete_all"}
    sent["content-type"] = "application/json; charset=utf-7"
    async with (
        ScriptedServer(script) as upstream,
        gateway(tmp_path, {"odd": {"url": upstream.url}}) as (url, _),
    ):
        session = {"mcp-session-id": (await post(url, HELLO, **sent)).headers["mcp-session-id"]}
        answer = await post(url, rpc("resources/list"), **sent, **session)
    odd = (b"mcp-tomorrow", b"mcp-param", b"tools/call", b"delete_all", b"utf-7", session["mcp-session-id"].encode())
    assert not any(text in head.lower() for head in heads for text in odd)
    assert "mcp-other" not in answer.headers


@pytest.mark.parametrize("attack", ATTACKS)
async def test_no_other_spelling_reaches_a_wrapped_server(attack: str, tmp_path: Path) -> None:
    told = tmp_path / "ran"
    command = sys.executable, careless_server.__file__, str(told)
    async with running(home(tmp_path, "mode: enforce\n"), *command) as client:
        await client.greet()
        assert client.process.stdin is not None
        client.process.stdin.write(json.dumps(ATTACKS[attack]).encode() + b"\n")
        answer = await client.hear()
        await client.say("resources/list", 9)
        after = await client.hear()
        assert (await client.end())[0] == 0
    assert "differs only in case" in answer["error"]["message"]
    assert (after["id"], told.read_text()) == (9, "")


async def test_a_wrapped_server_hears_methods_in_their_exact_spelling_alone(tmp_path: Path) -> None:
    told = tmp_path / "ran"
    command = sys.executable, careless_server.__file__, str(told)
    async with running(home(tmp_path, "mode: enforce\n"), *command) as client:
        await client.greet()
        codes = []
        for number, method in enumerate(SPELLINGS, start=10):
            await client.say(method, **DELETE)
            await client.say(method, number, **DELETE)
            codes.append((await client.hear())["error"]["code"])
        await client.say("resources/list", 9)
        assert (await client.hear())["id"] == 9
        await client.end()
    assert set(codes) == {-32601}
    assert told.read_text() == ""


MISSPELT: dict[str, tuple[str, dict[str, Any]]] = {
    "both spellings": ("place_order", {"dryRun": True, "DryRun": False}),
    "beyond a bound": ("place_order", {"amount": 1, "Amount": 1000}),
    "the other spelling alone": ("place_order", {"AMOUNT": 1000}),
    "behind a reference": ("place_many", {"orders": [{"amount": 1}, {"amount": 1, "aMount": 1000}]}),
    "the list itself": ("place_many", {"orders": [], "Orders": [{"amount": 1000}]}),
    "our own argument": ("delete_all", {"dry_run": True, "Dry_Run": False}),
}


@pytest.mark.parametrize("title", MISSPELT)
async def test_an_argument_under_another_spelling_is_refused(title: str, tmp_path: Path) -> None:
    name, arguments = MISSPELT[title]
    contracts = {
        **{tool: {"side_effect": "write"} for tool in ("place_order", "place_many")},
        "delete_all": {
            "side_effect": "write",
            "dry_run": {"mode": "offered", "argument": "dry_run"},
        },
        "store_headers": {"side_effect": "read"},
    }
    (tmp_path / "more.json").write_text(json.dumps({"tools": contracts}))
    async with before_a_careless_one(tmp_path, contracts=[str(tmp_path / "more.json")]) as (url, careless):
        answer = (await post(url, rpc("tools/call", name=name, arguments=arguments))).json()["result"]
        assert answer["isError"] and "differs only in case" in answer["content"][0]["text"]
        assert careless.ran == []


async def test_when_only_observing_a_call_with_both_spellings_is_refused_all_the_same(tmp_path: Path) -> None:
    async with before_a_careless_one(tmp_path, mode="observe") as (url, careless):
        both = rpc("tools/call", name="place_order", arguments={"amount": 1, "Amount": 2})
        assert (await post(url, both)).json()["result"]["isError"]
        one = rpc("tools/call", name="place_order", arguments={"Amount": 2})
        assert not (await post(url, one)).json()["result"].get("isError")
        assert [params["arguments"] for params in careless.ran] == [{"amount": 2}]


async def test_names_that_no_schema_knows_may_differ_in_case(tmp_path: Path) -> None:
    (tmp_path / "more.json").write_text(json.dumps({"tools": {"store_headers": {"side_effect": "write"}}}))
    async with before_a_careless_one(tmp_path, contracts=[str(tmp_path / "more.json")]) as (url, careless):
        arguments = {"X-Key": "1", "x-key": "2", "headers": {"A": 1, "a": 2}}
        answer = await post(url, rpc("tools/call", name="store_headers", arguments=arguments))
        assert not answer.json()["result"].get("isError") and len(careless.ran) == 1


def test_spellings_are_found_place_by_place_through_every_keyword() -> None:
    inner = {"properties": {"path": {}}}
    schema = {
        "properties": {
            "path": {"type": "string"},
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "either": {"anyOf": [{"type": "null"}, {"$ref": "#deep"}]},
            "more": {"patternProperties": {"^x": inner}},
            "pair": {"prefixItems": [inner, {"type": "string"}]},
            "both": {"properties": {"a": {}, "A": {}}},
            "loop": {"$ref": "#"},
        },
        "$defs": {"deep": {"$anchor": "deep", "allOf": [inner]}},
    }
    spelling = Spelling([schema])

    def found(arguments: dict[str, Any]) -> list[tuple[str, str]]:
        return [(one.pointer, one.name) for one in spelling.find(arguments)]

    assert found({"path": "p", "env": {"PATH": "p", "Path": "q"}, "both": {"a": 1, "A": 2}, "unknown": {"x": 1}}) == []
    assert found({"Path": "p"}) == [("", "Path")]
    assert found({"either": {"PATH": 1}}) == [("/either", "PATH")]
    assert found({"more": {"x/1": {"Path": 1}}}) == [("/more/x~11", "Path")]
    assert found({"pair": [{"pAth": 1}, "x"]}) == [("/pair/0", "pAth")]
    assert found({"loop": {"loop": {"either": {"patH": 1}}}}) == [("/loop/loop/either", "patH")]


def test_letters_that_some_readers_take_for_others_are_the_same_letter() -> None:
    assert {fold(name) for name in ("task", "TASK", "ta\u017fk", "tas\u212a")} == {"task"}
    assert {fold(name) for name in ("id", "ID", "\u0131d", "\u0130d")} == {"id"}
    assert len({fold(name) for name in PARAMS}) == len(PARAMS)


@pytest.mark.parametrize("message", [None, 7, "x", [{"method": "a", "Method": "b"}], {}, {"method": 5}])
def test_what_is_no_message_is_left_to_others(message: Any) -> None:
    assert rebuild(message) == message


def test_a_request_is_rebuilt_without_the_members_of_a_response() -> None:
    assert rebuild({"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}}) == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "ping",
    }
    with pytest.raises(Malformed, match="'Result'"):
        rebuild({"jsonrpc": "2.0", "id": 1, "method": "ping", "Result": {}})
