"""Governs the calls of one client to one server, both on standard streams.

Tool calls and lists are governed. Other messages of the protocol pass unchanged in both directions. The ids of the
gateway's own requests are random, so that neither side can guess them.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

import orjson
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, PROTOCOL_VERSION_META_KEY

from assent.core.principal import Principal
from assent.gateway.passthrough.relay import UPSTREAM_FAULT, fault_problem
from assent.gateway.requests import check_params, is_notification, is_request, is_response, read_handshake
from assent.gateway.stdio.era_adapter import adapt
from assent.gateway.tool_service import ToolService
from assent.mcp import strict_json
from assent.mcp.channel import CannotAsk, can_answer
from assent.mcp.envelope import is_relayed, own_members, rebuild
from assent.mcp.jsonrpc import RequestId, RpcError, error_body, malformed_body, result_body
from assent.mcp.requests import Era, McpRequest, ParsedRequest
from assent.mcp.session import McpSession
from assent.mcp.strict_json import Malformed
from assent.upstreams.errors import UpstreamError
from assent.upstreams.stdio.server import StdioUpstream
from assent.upstreams.tasks import is_task_method, strip_request, strip_response

logger = logging.getLogger(__name__)

LONGEST_CALL = 3600.0
FINISHES_WITHIN = 10.0
_SERVED = frozenset({"tools/call", "tools/list"})

Write = Callable[[bytes], None]


class StdioGateway:
    """One client and one server. The client's first request that is not a probe decides the protocol era."""

    def __init__(
        self,
        server: StdioUpstream,
        governed: ToolService,
        principal: Principal,
        write: Write,
        *,
        reload: Callable[[], Awaitable[None]],
    ) -> None:
        self._server, self._governed, self._principal, self._write = server, governed, principal, write
        self._reload = reload
        self._session = McpSession("stdio", principal)
        self._era: Era | None = None
        self._initialize_seen, self._opened, self._loaded = asyncio.Event(), asyncio.Event(), False
        self._lock = asyncio.Lock()
        self._own_questions: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._server_questions: set[RequestId] = set()
        self._passed: set[RequestId] = set()
        self._streams: set[RequestId] = set()
        self._answered = asyncio.Event()
        self._stop_reason = "the server is gone"
        self._tasks: set[asyncio.Task[Any]] = set()
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """The reason why the server cannot be used, once it is known."""
        server.listen = self._on_server_message
        server.is_asking = lambda: bool(self._server_questions)

    async def serve(self, lines: AsyncIterator[bytes]) -> None:
        """Handles every line of the client until it closes its end, then finishes its running requests."""
        async for line in lines:
            try:
                message = rebuild(strict_json.parse(line))
            except Malformed as error:
                self._write(malformed_body(error))
                continue
            self._spawn(self._on_message(message))
        for answer in self._own_questions.values():
            answer.set_exception(CannotAsk("the client has left"))
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISHES_WITHIN):
                await self._finish()

    async def _finish(self) -> None:
        while self._tasks or self._passed:
            if self._tasks:
                await asyncio.wait(list(self._tasks))
            else:
                self._answered.clear()
                await self._answered.wait()

    async def stop(self, reason: str) -> None:
        """Cancels everything and answers waiting requests with this reason."""
        self._stop_reason = reason
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for request_id in self._passed:
            self._write(error_body(request_id, UPSTREAM_FAULT, reason))
        self._passed.clear()

    # From the client

    async def _on_message(self, message: Any) -> None:
        if is_request(message):
            await self._request(message)
        elif is_response(message) and self._settle(message):
            return
        elif is_response(message) or is_notification(message):
            await self._on_notification(message)
        else:
            self._write(error_body(None, INVALID_REQUEST, "not a JSON-RPC message"))

    async def _request(self, message: dict[str, Any]) -> None:
        request_id: RequestId = message["id"]
        strip_request(message)
        try:
            await self._dispatch(message)
        except RpcError as error:
            self._write(error_body(request_id, error.code, error.message, error.data))
        except UpstreamError as fault:
            self._write(error_body(request_id, UPSTREAM_FAULT, str(fault), fault_problem(fault)))
            if not self._opened.is_set() and not self.failed.done():
                self.failed.set_result(fault.detail)
        except asyncio.CancelledError:
            if not self._session.was_cancelled(request_id):
                self._write(error_body(request_id, UPSTREAM_FAULT, self._stop_reason))
                raise
        except Exception:
            logger.exception("a request failed with an unexpected error")
            self._write(error_body(request_id, INTERNAL_ERROR, "Internal server error"))

    async def _dispatch(self, message: dict[str, Any]) -> None:
        method = message["method"]
        if method == "server/discover" and not self._opened.is_set():
            return await self._discover(message)
        if method == "ping" and self._era is None:
            return self._write(result_body(message["id"], b"{}"))
        if self._era is None:
            self._era = Era.MODERN if method != "initialize" and _is_enveloped(message) else Era.HANDSHAKE
            return await self._open(message)
        await self._opened.wait()
        if is_task_method(method):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        if method in _SERVED:
            await self._serve(message)
        elif self._era is Era.MODERN and not self._server.is_modern:
            reply = StdioChannel(self)
            self._write(result_body(message["id"], await adapt(self._modern(message), self._server, reply)))
        elif not is_relayed(message):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        else:
            await self._pass(message)

    async def _pass(self, message: dict[str, Any]) -> None:
        # A subscription is answered when it ends, so the gateway does not wait for it before it stops.
        (self._streams if message["method"] == "subscriptions/listen" else self._passed).add(message["id"])
        await self._server.send(message)

    async def _discover(self, message: dict[str, Any]) -> None:
        """Answers a probe once the server's era is known, or once the client has started the handshake.

        For a handshake-only server the probe fails, so that the client initializes and the server can ask it questions.
        """
        probing = asyncio.ensure_future(self._server.speaks_modern())
        greeting = asyncio.ensure_future(self._initialize_seen.wait())
        try:
            await asyncio.wait([probing, greeting], return_when=asyncio.FIRST_COMPLETED)
            if self._initialize_seen.is_set() or not await probing:
                raise RpcError(METHOD_NOT_FOUND, "Method not found", message["method"])
            await self._pass(message)
        finally:
            for task in (probing, greeting):
                task.cancel()
            await asyncio.gather(probing, greeting, return_exceptions=True)

    async def _open(self, message: dict[str, Any]) -> None:
        """Handles the first request: passes on the client's `initialize`, or sends one if the client does not."""
        if message["method"] == "initialize":
            self._initialize_seen.set()
            params = message.get("params") or {}
            try:
                result = await self._server.open(params)
            except RpcError:
                self._era = None  # Nothing has started: the client may try another handshake.
                raise
            capabilities = params.get("capabilities")
            self._session.capabilities = capabilities if isinstance(capabilities, dict) else {}
            strip_response({"result": result})
            self._write(result_body(message["id"], orjson.dumps(result)))
        else:
            await self._server.ready()
        assert self._server.described is not None
        self._session.version = self._server.described.version
        self._server.patience = LONGEST_CALL
        self._opened.set()
        if message["method"] != "initialize":
            await self._dispatch(message)

    async def _serve(self, message: dict[str, Any]) -> None:
        modern = self._era is Era.MODERN
        if modern:
            parsed_request = self._modern(message)
        else:
            parsed_request = read_handshake(message, self._session.version, self._session.capabilities)
        with self._session.running(parsed_request.id):
            check_params(parsed_request)
            await self._load()
            mcp_request = McpRequest(
                parsed_request, self._principal, [], None if modern else self._session, StdioChannel(self)
            )
            serve = self._governed.call if parsed_request.method == "tools/call" else self._governed.listing
            self._write(result_body(parsed_request.id, await serve(mcp_request)))

    def _modern(self, message: dict[str, Any]) -> ParsedRequest:
        route = classify_inbound_request({"method": message["method"], "params": message.get("params")})
        if isinstance(route, InboundLadderRejection):
            raise RpcError(route.code, route.message, route.data)
        can = route.client_capabilities
        return ParsedRequest(
            Era.MODERN, route.protocol_version, message["id"], message["method"], message["params"],
            can if isinstance(can, dict) else None,
        )  # fmt: skip

    async def _load(self) -> None:
        async with self._lock:
            if not self._loaded:
                await self._reload()
                self._loaded = True

    async def _on_notification(self, message: dict[str, Any]) -> None:
        """Handles a notification, or the answer to a question of the server."""
        if message.get("method") == "notifications/cancelled":
            params = message.get("params") or {}
            if self._session.cancel(params.get("requestId")):
                return
            self._mark_answered(params.get("requestId"))
        if not is_relayed(message):
            return  # For example a request without an id, which the server could run ungoverned.
        if "method" not in message and not self._is_open_question(message.get("id")):
            return  # The server has no such open question.
        await self._opened.wait()
        if message.get("method") == "notifications/initialized" and self._server.is_modern:
            return
        await self._server.send(message)

    def _is_open_question(self, question_id: Any) -> bool:
        """Whether the server waits for this answer; marks it as answered."""
        waits = question_id.__class__ in (int, str) and question_id in self._server_questions
        self._server_questions.discard(question_id if waits else "")
        return waits

    # From the server

    def _on_server_message(self, message: dict[str, Any]) -> None:
        if self._era is Era.MODERN and not self._server.is_modern and "method" in message:
            return self._server.answer_alone(message)
        if message.get("method") == "notifications/tools/list_changed":
            return self._spawn(self._changed(message))
        if "method" in message and "id" in message:
            self._server_questions.add(message["id"])
        elif "id" in message and not self._mark_answered(message["id"]):
            return  # Not a request that was passed on: calls and lists are answered by the gateway.
        strip_response(message)
        self._write(orjson.dumps(own_members(message)))

    def _mark_answered(self, request_id: RequestId | None) -> bool:
        """Marks a passed-on request as answered; returns False if there is none with this id."""
        for asked in (self._passed, self._streams):
            if request_id in asked:
                asked.remove(request_id)
                self._answered.set()
                return True
        return False

    async def _changed(self, message: dict[str, Any]) -> None:
        """Reloads the tools before the client hears of the change and asks for the list."""
        async with self._lock:
            if self._loaded:
                await self._reload()
        self._write(orjson.dumps(message))

    # Questions of the gateway

    async def ask(self, method: str, params: dict[str, Any], within: float) -> dict[str, Any]:
        """Asks the client, which must be of the handshake era and able to answer."""
        if self._era is Era.MODERN or not can_answer(self._session.capabilities, method):
            raise CannotAsk(method)
        # A guessable id would let the server receive the answer.
        question_id = f"assent-{secrets.token_urlsafe(16)}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._own_questions[question_id] = answer
        self.tell({"jsonrpc": "2.0", "id": question_id, "method": method, "params": params})
        try:
            async with asyncio.timeout(within):
                return await answer
        except TimeoutError:
            cancelled = {"requestId": question_id, "reason": "no answer in time"}
            self.tell({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
            raise CannotAsk(method) from None
        finally:
            self._own_questions.pop(question_id, None)

    def _settle(self, response: dict[str, Any]) -> bool:
        question_id = response.get("id")
        answer = self._own_questions.pop(question_id, None) if isinstance(question_id, str) else None
        if answer is None or answer.done():
            return False
        error, result = response.get("error"), response.get("result")
        if isinstance(error, dict):
            code = error.get("code")
            code = code if isinstance(code, int) else INTERNAL_ERROR
            answer.set_exception(RpcError(code, str(error.get("message", ""))))
        else:
            answer.set_result(result if isinstance(result, dict) else {})
        return True

    def tell(self, message: dict[str, Any]) -> None:
        self._write(orjson.dumps(message))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class StdioChannel:
    """The channel to the client while one of its requests runs."""

    __slots__ = ("_wrap",)
    ask_within = 300.0

    def __init__(self, wrap: StdioGateway) -> None:
        self._wrap = wrap

    async def open(self) -> None:
        """Does nothing: the only stream is already open."""

    async def prime(self, retry: int | None) -> None:
        """Does nothing: standard streams cannot be resumed."""

    async def pause(self) -> None:
        """Does nothing: standard streams are not interrupted."""

    async def notify(self, message: dict[str, Any]) -> None:
        self._wrap.tell(message)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self._wrap.ask(method, params, self.ask_within)

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """Returns None: the server's own questions are passed on separately."""
        return None


def _is_enveloped(message: dict[str, Any]) -> bool:
    meta = (message.get("params") or {}).get("_meta")
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta
