"""Governs the calls of one client to one server, both on standard streams.

Calls and lists of tools are governed. The other messages of the protocol pass both ways, ids included. The ids of our
own requests are random, so that neither side can guess them. What describes the server (instructions, prompts,
resources, completions) reaches the client without hidden characters and mentions of tools that do not exist for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

import orjson

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.dispatch import UPSTREAM_FAULT, error_response, take_for_session
from assent.gateway.generation import Generation
from assent.gateway.hidden_text import CLEANED, HiddenText
from assent.gateway.stdio.channel import OpenRequests, StdioChannel
from assent.gateway.stdio.tool_list import ToolList
from assent.mcp.channel import CannotAsk, asks_of
from assent.mcp.jsonrpc import (
    ENVELOPE_KEYS,
    RequestId,
    RpcError,
    drop_tasks,
    error_body,
    is_relayed,
    malformed_body,
    own_members,
    result_body,
)
from assent.mcp.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    DEFAULT_NEGOTIATED_VERSION,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
)
from assent.mcp.requests import (
    Era,
    McpRequest,
    is_notification,
    is_request,
    is_response,
    read_message,
    read_modern_line,
)
from assent.mcp.session import McpSession
from assent.mcp.strict_json import Malformed
from assent.pipeline.other_requests import rpc_error
from assent.upstreams.errors import UpstreamError
from assent.upstreams.stdio.server import StdioUpstream

logger = logging.getLogger(__name__)

LONGEST_CALL = 3600.0
FINISHES_WITHIN = 10.0
MOST_HELD = 1000
_SERVED = frozenset({"tools/call", "tools/list"})
_CACHED = frozenset({"resources/list", "resources/templates/list", "resources/read", "prompts/list"})
_ALIKE = _CACHED | {"prompts/get", "completion/complete"}
"""Methods that both eras have."""

Write = Callable[[bytes], None]


class StdioGateway:
    """One client, one server. The client's first request that is not a probe decides the era of the connection."""

    def __init__(
        self,
        server: StdioUpstream,
        current: Callable[[], Generation],
        principal: Principal,
        write: Write,
        *,
        reload: Callable[[], Awaitable[None]],
        hidden_text: HiddenText | None = None,
    ) -> None:
        self._server, self._current, self._principal, self._write = server, current, principal, write
        self._session = McpSession("stdio", principal)
        self._era: Era | None = None
        self._greeted, self._opened = asyncio.Event(), asyncio.Event()
        self._unopened: set[RequestId] = set()
        """Requests that wait until the server is open, and are not cancelled."""
        self._tools = ToolList(server.name, lambda: current().tools, principal, reload, hidden_text or HiddenText())
        self._open_requests = OpenRequests()
        self._reads: dict[RequestId, Any] = {}
        """The parameters of open requests whose results flow control remembers."""
        self._introduced = False
        self._held_messages: list[dict[str, Any]] | None = None
        """What the server says while the client still waits for the answer to `initialize`."""
        self._over = "the server is gone"
        self._tasks: set[asyncio.Task[Any]] = set()
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why the server cannot be used, once that is known."""
        server.listen = self._hear
        server.is_asking = lambda: self._open_requests.has_questions

    async def serve(self, lines: AsyncIterator[bytes]) -> None:
        """Take every line of the client until it closes its end, then finish what it asked for."""
        async for line in lines:
            try:
                message = read_message(line)
            except Malformed as error:
                self._write(malformed_body(error))
                continue
            self._spawn(self._take(message))
        self._session.abandon_questions()
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISHES_WITHIN):
                await self._finish()

    async def _finish(self) -> None:
        while self._tasks or self._open_requests:
            if self._tasks:
                await asyncio.wait(list(self._tasks))
            else:
                await self._open_requests.next_answer()

    async def stop(self, reason: str) -> None:
        """Nothing more is answered by the server: say so to whoever waits."""
        self._over = reason
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for request_id in self._open_requests.clear():
            self._write(error_body(request_id, UPSTREAM_FAULT, reason))

    # From the client

    async def _take(self, message: Any) -> None:
        if is_request(message):
            await self._request(message)
        elif take_for_session(message, self._session):
            return
        elif is_response(message) or is_notification(message):
            await self._take_other_message(message)
        else:
            self._write(error_body(None, INVALID_REQUEST, "not a JSON-RPC message"))

    async def _request(self, message: dict[str, Any]) -> None:
        request_id: RequestId = message["id"]
        try:
            await self._dispatch(message)
        except asyncio.CancelledError:
            if not self._session.was_cancelled(request_id):
                self._write(error_body(request_id, UPSTREAM_FAULT, self._over))
                raise
        except Exception as error:
            self._write(error_response(error, request_id, Era.HANDSHAKE).body)
            if isinstance(error, UpstreamError) and not self._opened.is_set() and not self.failed.done():
                self.failed.set_result(error.detail)

    async def _dispatch(self, message: dict[str, Any]) -> None:
        method, dispatcher = message["method"], self._current().dispatcher
        if method == "server/discover" and not self._opened.is_set():
            return await self._discover(message)
        if method == "ping" and self._era is None:
            return self._write(result_body(message["id"], b"{}"))
        if self._era is None:
            self._era = Era.MODERN if method != "initialize" and _is_enveloped(message) else Era.HANDSHAKE
            return await self._open(message)
        if not self._opened.is_set():
            self._unopened.add(message["id"])
            await self._opened.wait()
            if message["id"] not in self._unopened:
                return
        if (stopped := await dispatcher.stop(message, self._principal)) is not None:
            return self._write(stopped.body)
        if method in _SERVED:
            return await self._serve(message)
        if method.startswith("tasks/"):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        self._apply_policies(message)
        if self._era is Era.MODERN and not self._server.is_modern:
            result = await self._adapt(message)
            await self._current().others.remember(self._principal, method, message.get("params"), result)
            await self._describe(method, {"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif not is_relayed(message):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        else:
            await self._pass(message)

    async def _adapt(self, message: dict[str, Any]) -> dict[str, Any]:
        """The result of a modern request from a server that knows only the methods both eras have."""
        method, params = message["method"], message.get("params") or {}
        read_modern_line(message)
        if method not in _ALIKE:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        meta = {name: value for name, value in params.get("_meta", {}).items() if name not in ENVELOPE_KEYS}
        sent = {name: value for name, value in params.items() if name != "_meta"} | ({"_meta": meta} if meta else {})
        result = await self._server.exchange(method, sent, StdioChannel(self.tell, self.ask))
        hints = {"ttlMs": 0, "cacheScope": "private"} if method in _CACHED else {}
        return {**hints, "resultType": "complete", **result}

    def _apply_policies(self, message: dict[str, Any]) -> None:
        """Raise for what policies deny, and leave denied resources out of a subscription."""
        others, params = self._current().others, message.get("params")
        try:
            others.check(self._principal, message["method"], params, self._server.name)
        except Refusal as refusal:
            raise rpc_error(refusal) from None
        requested = params.get("notifications") if isinstance(params, dict) else None
        if isinstance(requested, dict) and "resourceSubscriptions" in requested:
            uris = requested["resourceSubscriptions"]
            allowed = others.allowed_subscriptions(self._principal, uris, self._server.name)
            requested["resourceSubscriptions"] = allowed

    async def _pass(self, message: dict[str, Any]) -> None:
        self._open_requests.add(message)
        if self._current().others.remembers(message["method"]):
            self._reads[message["id"]] = message.get("params")
        await self._server.send(message)

    async def _discover(self, message: dict[str, Any]) -> None:
        """Answer a probe once the server's era is known, or once the client has chosen the handshake meanwhile.

        A server that only speaks the handshake has no such method: the client is to initialize it, so that the server
        can ask it questions.
        """
        probing = asyncio.ensure_future(self._server.speaks_modern())
        greeting = asyncio.ensure_future(self._greeted.wait())
        try:
            await asyncio.wait([probing, greeting], return_when=asyncio.FIRST_COMPLETED)
            if self._greeted.is_set() or not await probing:
                raise RpcError(METHOD_NOT_FOUND, "Method not found", message["method"])
            await self._pass(message)
        finally:
            for task in (probing, greeting):
                task.cancel()
            await asyncio.gather(probing, greeting, return_exceptions=True)

    async def _open(self, message: dict[str, Any]) -> None:
        """Take the first request: the client's own `initialize` as it is, or ours where the client sends none."""
        if message["method"] == "initialize":
            self._greeted.set()
            params = message.get("params") or {}
            try:
                result = await self._server.open(params)
            except RpcError:
                self._era = None  # nothing has begun: the client may greet in another way
                raise
            capabilities = params.get("capabilities")
            self._session.capabilities = capabilities if isinstance(capabilities, dict) else {}
            self._session.client_info = params.get("clientInfo")
            drop_tasks(result)
            await self._introduce(message["id"], result)
        else:
            self._unopened.add(message["id"])
            if self._era is Era.MODERN:
                # The server hears of this client, so that it lists the tools that the client can use.
                declared = message["params"]["_meta"].get(CLIENT_CAPABILITIES_META_KEY)
                self._server.capabilities = asks_of(declared if isinstance(declared, dict) else None)
            await self._server.ready()
        assert self._server.described is not None
        self._session.version = self._server.described.version
        self._server.patience = LONGEST_CALL
        self._opened.set()
        if message["method"] != "initialize" and message["id"] in self._unopened:
            await self._dispatch(message)

    async def _introduce(self, request_id: RequestId, result: dict[str, Any]) -> None:
        """Answer `initialize`. Instructions wait for the list of tools, which a server gives when it is initialized."""
        answer = {"jsonrpc": "2.0", "id": request_id, "result": result}
        if not _has_text(result):
            return self.tell(self._tools.without_hidden(answer))
        self._held_messages, self._introduced = [], True
        try:
            await self._server.notify("notifications/initialized")
            await self._describe("initialize", answer)
        finally:
            held, self._held_messages = self._held_messages, None
            for message in held:
                self._hear(message)

    async def _describe(self, method: str, answer: dict[str, Any]) -> None:
        answer = await self._tools.clean(method, answer)
        if method in CLEANED and "result" in answer:
            shown = self._current().others.filter_list(self._principal, answer["result"], self._server.name)
            answer = {**answer, "result": shown}
        self.tell(answer)

    async def _serve(self, message: dict[str, Any]) -> None:
        era, session = self._era or Era.HANDSHAKE, self._session
        if era is Era.MODERN:
            version, capabilities = read_modern_line(message)
        else:
            version, capabilities = session.version or DEFAULT_NEGOTIATED_VERSION, session.capabilities
        with session.running(message["id"]):
            await self._tools.load()
            request = McpRequest(
                era, version, message["id"], message["method"], message.get("params") or {}, capabilities,
                self._principal, None if era is Era.MODERN else session, StdioChannel(self.tell, self.ask),
            )  # fmt: skip
            self._write((await self._current().dispatcher.answer(request)).body)

    async def _take_other_message(self, message: dict[str, Any]) -> None:
        """A notification, or the answer to a question that was the server's."""
        if message.get("method") == "notifications/cancelled":
            cancelled = (message.get("params") or {}).get("requestId", "")
            if cancelled.__class__ not in (int, str):
                return  # no request has such an id
            self._unopened.discard(cancelled)
            self._open_requests.remove(cancelled)
            self._reads.pop(cancelled, None)
        if not is_relayed(message):
            return  # a request without an id, for example: the server might run it, and nobody has governed it
        if "method" not in message and not self._open_requests.take_question(message.get("id")):
            return  # the server asked no such question, or has its answer already
        await self._opened.wait()
        if message.get("method") == "notifications/initialized" and (self._introduced or self._server.is_modern):
            return
        await self._server.send(message)

    # From the server

    def _hear(self, message: dict[str, Any]) -> None:
        if self._era is Era.MODERN and not self._server.is_modern and "method" in message:
            return self._server.answer_alone(message)
        if self._held_messages is not None:
            if len(self._held_messages) < MOST_HELD:
                self._held_messages.append(message)
            return
        if message.get("method") == "notifications/tools/list_changed":
            return self._spawn(self._changed(message))
        method, params = None, message.get("params")
        if message.get("method") == "notifications/cancelled" and isinstance(params, dict):
            self._open_requests.take_question(params.get("requestId"))
        if "method" in message and "id" in message:
            self._open_requests.add_question(message["id"])
        elif "id" in message and (method := self._open_requests.remove(message["id"])) is None:
            return  # calls and lists are ours to answer: the server was not asked this by the client
        drop_tasks(message.get("result"))
        if method is not None and self._current().others.remembers(method):
            return self._spawn(self._enter(method, self._reads.pop(message["id"], None), own_members(message)))
        if method in CLEANED:
            return self._spawn(self._describe(method, own_members(message)))
        self.tell(own_members(message))

    async def _enter(self, method: str, params: Any, answer: dict[str, Any]) -> None:
        """Tell the client of a resource or a prompt, after flow control has remembered it."""
        await self._current().others.remember(self._principal, method, params, answer.get("result"))
        if method in CLEANED:
            await self._describe(method, answer)
        else:
            self.tell(answer)

    async def _changed(self, message: dict[str, Any]) -> None:
        """The client may ask for the list as soon as it hears of the change: ours is the new one by then."""
        await self._tools.refresh()
        self._write(orjson.dumps(message))

    # Our own questions

    async def ask(self, method: str, params: dict[str, Any], within: float) -> dict[str, Any]:
        """Ask the client, which must be of the handshake era and able to answer."""
        if self._era is Era.MODERN:
            raise CannotAsk(method)
        return await self._session.ask(method, params, self._send, within)

    async def _send(self, message: dict[str, Any]) -> None:
        self.tell(message)

    def tell(self, message: dict[str, Any]) -> None:
        self._write(orjson.dumps(message))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _has_text(result: dict[str, Any]) -> bool:
    """Whether a server says more of itself than its name, so that it may mention its tools."""
    info = result.get("serverInfo")
    return bool(result.get("instructions") or (isinstance(info, dict) and info.keys() & {"description", "title"}))


def _is_enveloped(message: dict[str, Any]) -> bool:
    meta = (message.get("params") or {}).get("_meta")
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta
