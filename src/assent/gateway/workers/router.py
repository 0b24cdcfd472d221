"""Sends a request to the worker that holds its session or its waiting call.

Workers share one port, so a connection may reach any of them. A session of the handshake era lives in one
worker, and so does a call that waits for a client's answer. Both ids carry the number of their worker (`2~...`). A
worker that gets such a request passes it on over a Unix socket of the other one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from assent.gateway.workers.merged_metrics import merge_metrics
from assent.gateway.workers.peers import CLIENT_HEADER, Peers, WorkerGone
from assent.mcp.jsonrpc import error_body
from assent.mcp.protocol import HANDSHAKE_PROTOCOL_VERSIONS, INVALID_REQUEST
from assent.mcp.strict_json import DEFAULT_BOUNDS
from assent.web.asgi import App, Headers, Message, Receive, Scope, Send
from assent.web.http import respond, respond_error

SESSION = b"mcp-session-id"
_MARK = re.compile(rb"(\d{1,3})~(.+)", re.DOTALL)
_STATE = re.compile(rb'"requestState"\s*:\s*"(\d{1,3})~')
_HANDSHAKE = frozenset(version.encode() for version in HANDSHAKE_PROTOCOL_VERSIONS)


class WorkerRouter:
    """The application of one worker: answers what it can, and passes on what belongs to another worker."""

    def __init__(self, app: App, index: int, sockets: Mapping[int, Path], path: str = "/mcp") -> None:
        self._app, self._index, self._path = app, index, path
        self._peers = Peers(sockets)
        self._mark = b"%d~" % index

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        path = scope["path"].rstrip("/")
        if path == self._path:
            await self._route(scope, receive, send)
        elif path == "/metrics" and scope["method"] == "GET":
            await self._metrics(scope, send)
        else:
            await self._app(scope, receive, send)

    async def local(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers here, with the address of the real client: requests that another worker passed on."""
        if scope["type"] == "http":
            address = next((value for name, value in scope["headers"] if name == CLIENT_HEADER), b"")
            scope["client"] = (address.decode("latin-1"), 0) if address else None
            scope["headers"] = [field for field in scope["headers"] if field[0] != CLIENT_HEADER]
            if scope["path"].rstrip("/") == self._path:
                return await self._answer(scope, receive, send)
        await self._app(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        session, version = None, None
        for name, value in scope["headers"]:
            if name == SESSION:
                session = value
            elif name == b"mcp-protocol-version":
                version = value
        handshake = version is None or version in _HANDSHAKE
        found = _MARK.fullmatch(session) if handshake and session is not None else None
        owner = int(found[1]) if found is not None else self._index
        answer = self._answer if handshake else self._app
        if scope["method"] == "POST" and (owner != self._index or not handshake):
            await answer(scope, self._reading(owner, scope, receive, send), send)
        elif owner != self._index and scope["method"] in ("GET", "DELETE"):
            await self._pass_session_on(owner, scope, receive, send)
        else:
            await answer(scope, receive, send)

    def _reading(self, owner: int, scope: Scope, receive: Receive, send: Send) -> Receive:
        """Reads the body of a request for the endpoint, which has authenticated its caller by then.

        If the request belongs to another worker, it is passed on. To the endpoint it looks as if its client had gone.
        """
        left: Iterator[Message] | None = None

        async def read() -> Message:
            nonlocal left
            if left is None:
                start = await read_start(receive)
                again, left = _after(start, receive), iter(())
                if owner != self._index:
                    await self._pass_session_on(owner, scope, again, send)
                    return {"type": "http.disconnect"}
                if await self._pass_state_on(start, scope, again, send):
                    return {"type": "http.disconnect"}
                left = iter(start)
            message = next(left, None)
            return message if message is not None else await receive()

        return read

    async def _pass_session_on(self, owner: int, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._peers.pass_on(owner, scope, receive, send)
        except WorkerGone:
            # As for any session that is gone: the client opens a new one.
            await respond(send, 404, error_body(None, INVALID_REQUEST, "Session not found"))

    async def _pass_state_on(self, start: list[Message], scope: Scope, receive: Receive, send: Send) -> bool:
        """Passes a request on if a call waits for it at another worker; returns whether it did."""
        found = _STATE.search(start[0].get("body", b"") if len(start) == 1 else _body_of(start))
        if found is None or (owner := int(found[1])) == self._index or owner not in self._peers:
            return False
        try:
            await self._peers.pass_on(owner, scope, receive, send)
        except WorkerGone:
            return False  # What waited there is gone with it: this worker says so.
        return True

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers here: the mark is taken off the session of the request and put on that of the response."""
        fields: Headers = scope["headers"]
        if any(name == SESSION and value.startswith(self._mark) for name, value in fields):
            scope["headers"] = [
                (name, value.removeprefix(self._mark) if name == SESSION else value) for name, value in fields
            ]

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, self._mark + value if name == SESSION else value)
                    for name, value in message.get("headers", [])
                ]
            await send(message)

        await self._app(scope, receive, marked)

    async def _metrics(self, scope: Scope, send: Send) -> None:
        """The metrics of every worker, with the number of the worker as a label."""
        pages = await asyncio.gather(*(self._peers.get(number, scope) for number in self._peers))
        refused = next((page for page in pages if page is not None and page.status != 200), None)
        if refused is not None:
            await send({"type": "http.response.start", "status": refused.status, "headers": refused.headers})
            return await send({"type": "http.response.body", "body": refused.body})
        named = {number: page.body for number, page in zip(self._peers, pages, strict=True) if page is not None}
        if not named:
            return await respond_error(send, 503, "No worker answers")
        fields = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        await send({"type": "http.response.body", "body": merge_metrics(named)})


async def read_start(receive: Receive) -> list[Message]:
    """The messages of a body, up to the size that the endpoint accepts."""
    messages, size = [await receive()], 0
    while messages[-1].get("more_body", False):
        size += len(messages[-1].get("body", b""))
        if size > DEFAULT_BOUNDS.size:
            break
        messages.append(await receive())
    return messages


def _body_of(messages: list[Message]) -> bytes:
    return b"".join(message.get("body", b"") for message in messages)


def _after(start: list[Message], receive: Receive) -> Receive:
    """Gives the messages that were read already, then those that follow."""
    left = iter(start)

    async def read() -> Message:
        message = next(left, None)
        return message if message is not None else await receive()

    return read
