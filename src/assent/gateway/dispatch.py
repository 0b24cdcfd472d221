"""Decides what becomes of a client's message, on HTTP and on standard streams alike."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NamedTuple

import orjson

from assent.core.principal import Principal
from assent.gateway.auth.challenges import Challenge
from assent.mcp.jsonrpc import RequestId, RpcError, error_body, result_body
from assent.mcp.protocol import ERROR_CODE_HTTP_STATUS, INTERNAL_ERROR, INVALID_REQUEST
from assent.mcp.requests import Era, McpRequest, check_params, is_notification, is_request, is_response
from assent.mcp.session import McpSession
from assent.mcp.tracing import TRACING, fail_current
from assent.upstreams.errors import SessionLost, UpstreamError
from assent.web.asgi import Headers

logger = logging.getLogger(__name__)

UPSTREAM_FAULT = -31002  # JSON-RPC code; own codes lie outside -32768..-32000.
_SERVED = frozenset({"tools/call", "tools/list"})
NEVER_STOPPED = _SERVED | {"initialize", "ping", "server/discover", "subscriptions/listen", "logging/setLevel"}
"""Calls meet the stop switches in the pipeline; the rest of these reads and changes nothing."""

Serve = Callable[[McpRequest], Awaitable[bytes]]


class Response(NamedTuple):
    """The response to a request. Status and headers matter on HTTP only."""

    body: bytes
    status: int = 200
    fields: Headers | None = None


async def _nothing_stopped(_caller: Principal) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """The methods that the gateway serves itself. Every other method is passed on to an upstream by the transport."""

    listing: Serve
    call: Serve
    more: Mapping[str, Serve] = field(default_factory=dict)
    """Other methods that are served here; handshake-era clients need a session for them."""
    stopped: Callable[[Principal], Awaitable[str | None]] = _nothing_stopped
    """Why requests of a caller that are not governed are stopped, or None."""

    def serves(self, method: str, era: Era, session: McpSession | None) -> bool:
        """Whether a request with this method is answered here."""
        return method in _SERVED or (method in self.more and (era is Era.MODERN or session is not None))

    async def stop(self, message: Any, caller: Principal) -> Response | None:
        """The refusal of a request that an operator has stopped; None if it may go on."""
        method = message.get("method") if message.__class__ is dict else None
        if method.__class__ is not str or method in NEVER_STOPPED or not is_request(message):
            return None
        why = await self.stopped(caller)
        if why is None:
            return None
        return Response(error_body(message["id"], INVALID_REQUEST, why, {"code": "authorize.stopped"}))

    def answer(self, request: McpRequest) -> Coroutine[Any, Any, Response]:
        """Serves one request. `call`, `listing` and the others raise `RpcError`, `Challenge` or `UpstreamError`; any
        other exception is a defect.
        """
        return self._traced(request) if TRACING.is_on else self._answer(request)

    async def _traced(self, request: McpRequest) -> Response:
        meta = request.params.get("_meta")
        with TRACING.request(request.method, meta, request.headers, request.id, request.version):
            return await self._answer(request)

    async def _answer(self, request: McpRequest) -> Response:
        method = request.method
        try:
            check_params(request.era, request.version, method, request.params)
            serve = self.call if method == "tools/call" else self.more.get(method, self.listing)
            return Response(result_body(request.id, await serve(request)))
        except Exception as error:
            if TRACING.is_on:
                fail_current(error_type(error))
            return error_response(error, request.id, request.era)


def take_for_session(message: Any, session: McpSession | None) -> bool:
    """Takes what a session itself waits for: the answer to a question of ours, or the end of a running request."""
    if session is None:
        return False
    if is_response(message):
        return session.settle(message)
    if is_notification(message) and message["method"] == "notifications/cancelled":
        return session.cancel((message.get("params") or {}).get("requestId"))
    return False


def error_response(error: Exception, request_id: RequestId | None, era: Era) -> Response:
    """The response to a request that failed. A defect is logged and answered without details."""
    if isinstance(error, Challenge):
        return Response(orjson.dumps(error.problem), error.status, error.fields)
    if isinstance(error, RpcError):
        body = error_body(request_id, error.code, error.message, error.data)
        return Response(body, http_status(era, error.code))
    if isinstance(error, SessionLost):
        return Response(error_body(None, INVALID_REQUEST, "Session not found"), 404)
    if isinstance(error, UpstreamError):
        return Response(error_body(request_id, UPSTREAM_FAULT, str(error), fault_problem(error)), error.status)
    logger.error("a request failed with an unexpected error", exc_info=error)
    return Response(error_body(request_id, INTERNAL_ERROR, "Internal server error"))


def error_type(error: Exception) -> str:
    """What went wrong, as a known word: a code of ours or of the protocol, or the name of a class."""
    if isinstance(error, UpstreamError):
        return error.code
    if isinstance(error, Challenge):
        return str(error.problem.get("code", error.status))
    return str(error.code) if isinstance(error, RpcError) else type(error).__name__


def http_status(era: Era, code: int) -> int:
    """The HTTP status of a JSON-RPC error: the modern era maps codes, the handshake era does not."""
    return ERROR_CODE_HTTP_STATUS.get(code, 200) if era is Era.MODERN else 200


def fault_problem(fault: UpstreamError) -> dict[str, Any]:
    return {
        "type": "about:blank",
        "title": HTTPStatus(fault.status).phrase,
        "status": fault.status,
        "detail": str(fault),
        "code": fault.code,
        "remedy": fault.remedy,
        "retryable": not fault.sent,
    }
