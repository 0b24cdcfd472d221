"""What a client gets when a relayed upstream describes itself in odd ways: a clean description or a clear error."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent.gateway.passthrough import descriptions
from support.gateway.gateways import HEADERS, gateway, rpc
from support.servers.scripted_server import Conversation, ScriptedServer

SAID = '{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"a","description":"A\u200b"}]}}'.encode()
CLEAN = SAID.replace("\u200b".encode(), b"")
BOM = b"\xef\xbb\xbf"
EVENTS, JSON = b"content-type: text/event-stream\r\n", b"content-type: application/json\r\n"


@asynccontextmanager
async def relaying(folder: Path, raw: bytes) -> AsyncIterator[httpx2.AsyncClient]:
    """A gateway whose one upstream answers `prompts/list` with these bytes and closes the connection."""

    async def script(conversation: Conversation) -> None:
        while True:
            _, body = await conversation.read_request()
            message = json.loads(body) if body else {}
            results: dict[str, Any] = {
                "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "prompts": {}}},
                "tools/list": {"tools": []},
            }
            if message.get("method") == "prompts/list":
                return await conversation.write(raw)
            result = results.get(str(message.get("method")), {})
            await conversation.answer(
                json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode()
            )

    async with (
        ScriptedServer(script) as server,
        gateway(folder, {"odd": {"url": server.url}}, contracts=[]) as (url, _),
        httpx2.AsyncClient(base_url=url, timeout=60, headers=HEADERS) as client,
    ):
        yield client


async def listed(folder: Path, fields: bytes, body: bytes, status: bytes = b"200 OK") -> httpx2.Response:
    async with relaying(
        folder, b"HTTP/1.1 " + status + b"\r\n" + fields + b"connection: close\r\n\r\n" + body
    ) as client:
        return await client.post("", json=rpc("prompts/list"))


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        (EVENTS, b"event: other\nevent: message\ndata: " + SAID + b"\n\n"),
        (EVENTS, b"event: other\nevent\ndata: " + SAID + b"\n\n"),
        (EVENTS, BOM * 3 + b"data: " + SAID + b"\n\n"),
        (EVENTS, b": hi\xe2\x80\xa8data: " + SAID + b"\n\ndata: " + CLEAN + b"\n\n"),
        (EVENTS, b"event: x\ndata: \x0cevent: message\x0cdata: " + SAID + b"\n\ndata: " + CLEAN + b"\n\n"),
        (b"content-type: text/plain; text/event-stream\r\n", b"data: " + SAID + b"\n\n"),
        (b"content-type: text/plain\r\ncontent-type: text/event-stream\r\n", b"data: " + SAID + b"\n\n"),
        (b"content-type: text/plain, application/json\r\n", b"[" + SAID + b"]"),
        (EVENTS, b"data: " + SAID + b"\n\r\ndata: " + SAID),
    ],
)
async def test_no_way_of_writing_brings_hidden_characters_to_the_client(
    fields: bytes, body: bytes, tmp_path: Path
) -> None:
    answer = await listed(tmp_path, fields, body)
    assert answer.status_code == 200
    assert '"A"' in answer.text and "\u200b" not in answer.text


@pytest.mark.parametrize(
    ("fields", "body", "why"),
    [
        (EVENTS, b"data: {'no': json}\n\n", "not JSON"),
        (EVENTS + b"content-length: 20\r\n", b"data: {'no': json}\n\n", "not JSON"),
        (EVENTS, b"data: " + b"x" * 3000, "more than 16 MB"),
        (JSON, b" " * 3000, "more than 16 MB"),
        (JSON + b"content-length: 9999\r\n", SAID, "connection"),
        (EVENTS + b"content-length: 9999\r\n", b": hi", "connection"),
        (EVENTS + b"transfer-encoding: chunked\r\n", b"4\r\n: hi\r\n", "connection"),
        (b"content-type: application/json; text/event-stream\r\n", SAID, "two content types"),
    ],
)
async def test_a_client_that_has_got_nothing_yet_is_told_why(
    fields: bytes, body: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptions, "LARGEST", 2000)
    answer = await listed(tmp_path, fields, body)
    assert answer.status_code == 502
    assert answer.json()["id"] == 1 and why in answer.json()["error"]["message"]


@pytest.mark.parametrize("is_cut", [False, True])
async def test_the_incomplete_rest_of_a_stream_is_left_out(is_cut: bool, tmp_path: Path) -> None:
    whole = b"data: " + CLEAN + b'\n\ndata: {"jsonrpc'
    if is_cut:  # The last chunk, which has no size, is missing.
        answer = await listed(
            tmp_path, EVENTS + b"transfer-encoding: chunked\r\n", b"%x\r\n%b\r\n" % (len(whole), whole)
        )
    else:
        answer = await listed(tmp_path, EVENTS, whole)
    assert (answer.status_code, answer.content) == (200, b"data: " + CLEAN + b"\n\n")


async def test_an_error_whose_body_cannot_be_read_keeps_its_status(tmp_path: Path) -> None:
    answer = await listed(tmp_path, JSON, b"Session not found", b"404 Not Found")
    assert (answer.status_code, answer.content) == (404, b"")


async def test_every_answer_of_a_batch_is_rewritten(tmp_path: Path) -> None:
    said = b'[{"jsonrpc":"2.0","id":1,"result":{"prompts":[],"capabilities":{"tasks":{},"prompts":{}}}}]'
    answer = await listed(tmp_path, JSON, said)
    assert answer.json()[0]["result"]["capabilities"] == {"prompts": {}}
