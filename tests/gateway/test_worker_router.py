"""Requests between workers: nothing runs twice, nothing is kept for strangers, and no worker holds up the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from assent.gateway.workers import peers
from assent.gateway.workers.merged_metrics import merge_metrics
from assent.gateway.workers.router import WorkerRouter
from assent.mcp.protocol import MODERN_PROTOCOL_VERSIONS
from assent.web.asgi import Receive, Scope, Send
from assent.web.http import Disconnected, read_body, respond
from support.loopback_server import serving

MODERN = {"mcp-protocol-version": MODERN_PROTOCOL_VERSIONS[0]}
BEGUN = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n3\r\n:\n\n\r\n"


class Endpoint:
    """An endpoint that knows its callers before it reads what they send."""

    def __init__(self) -> None:
        self.ran: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if (b"authorization", b"known") not in scope["headers"]:
            return await respond(send, 401, b"{}")
        try:
            self.ran.append(await read_body(scope["headers"], receive, 5_000_000))
        except Disconnected:
            return
        await respond(send, 200, b"{}")


class OtherWorker:
    """A worker that gets requests on its socket, and says `answer` before it ends the connection."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.got, self.ends = answer, b"", True

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.got += await reader.read(65_536)
        writer.write(self.answer)
        if not self.ends:
            await reader.read()  # Until the one who asked gives up.
        writer.close()


@asynccontextmanager
async def beside(folder: Path, answer: bytes, *, ends: bool = True) -> AsyncIterator[tuple[Endpoint, OtherWorker, str]]:
    """Worker 0, next to a worker 1 that behaves badly."""
    endpoint, other = Endpoint(), OtherWorker(answer)
    other.ends = ends
    sockets = {number: folder / f"{number}.sock" for number in range(2)}
    server = await asyncio.start_unix_server(other.connected, sockets[1])
    async with serving(WorkerRouter(endpoint, 0, sockets)) as url:
        yield endpoint, other, url
    server.close()


async def post(url: str, content: bytes, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
        return await client.post(url, content=content, headers=headers)


@pytest.mark.parametrize("headers", [MODERN, {"mcp-session-id": "1~x"}])
async def test_a_request_whose_worker_ends_during_the_response_does_not_run_here_again(
    headers: dict[str, str], tmp_path: Path
) -> None:
    async with beside(tmp_path, BEGUN) as (endpoint, other, url):
        with pytest.raises(httpx2.RemoteProtocolError):
            await post(url, b'{"params":{"arguments":{"requestState":"1~x"}}}', authorization="known", **headers)
        assert other.got.startswith(b"POST /mcp HTTP/1.1") and endpoint.ran == []


@pytest.mark.parametrize("headers", [MODERN, {"mcp-session-id": "1~x"}])
async def test_a_stranger_is_refused_before_the_request_is_read_or_passed_on(
    headers: dict[str, str], tmp_path: Path
) -> None:
    async with beside(tmp_path, BEGUN) as (_, other, url):
        refused = await post(url, b'{"params":{"requestState":"1~x"}}', authorization="stranger", **headers)
        assert refused.status_code == 401 and other.got == b""


async def test_a_worker_that_is_gone_leaves_the_request_to_this_one(tmp_path: Path) -> None:
    async with beside(tmp_path, BEGUN) as (endpoint, _, url):
        (tmp_path / "1.sock").unlink()
        body = b'{"params":{"requestState":"1~x"}}'
        assert (await post(url, body, authorization="known", **MODERN)).status_code == 200
        lost = await post(url, body, authorization="known", **{"mcp-session-id": "1~x"})
        assert lost.status_code == 404 and endpoint.ran == [body]


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", b"no HTTP\r\n\r\n"])
async def test_metrics_do_not_wait_for_a_worker_that_is_stuck(
    answer: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_METRICS_WITHIN", 0.2)
    async with beside(tmp_path, answer, ends=False) as (_, _, url):
        async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
            answered = await client.get(url.removesuffix("/mcp") + "/metrics")
        assert answered.status_code == 503


def test_a_name_with_odd_line_ends_adds_no_sample_to_the_merged_metrics() -> None:
    page = '# TYPE calls counter\ncalls{tool="a\u2028# TYPE up gauge\x85up 0"} 1\n'.encode()
    merged = merge_metrics({0: page, 1: page}).decode().split("\n")
    assert merged == [
        "# TYPE calls counter",
        'calls{worker="0",tool="a\u2028# TYPE up gauge\x85up 0"} 1',
        'calls{worker="1",tool="a\u2028# TYPE up gauge\x85up 0"} 1',
        "",
    ]
