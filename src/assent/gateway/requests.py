"""Reads and validates incoming MCP messages of both protocol eras.

Statuses, codes, messages and their order are those of the official SDK's server; tests compare the two. A well-formed
request is recognized here. Only for one that is not is the SDK imported, because it costs more than a start.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from assent.mcp.jsonrpc import RpcError
from assent.mcp.mirrored_headers import encode_header_value
from assent.mcp.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    DEFAULT_NEGOTIATED_VERSION,
    ERROR_CODE_HTTP_STATUS,
    HANDSHAKE_PROTOCOL_VERSIONS,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    MODERN_PROTOCOL_VERSIONS,
    NAME_BEARING_METHODS,
    PROTOCOL_VERSION_META_KEY,
)
from assent.mcp.requests import Era, ParsedRequest
from assent.web.asgi import Headers

NOTICE = "notifications/"
_PARAM_PREFIX = b"mcp-param-"


@dataclass(slots=True)
class RequestHeaders:
    """The headers of a request that the gateway uses."""

    era: Era
    version: str | None
    method: str | None
    name: str | None
    session: str | None
    last_event: str | None
    accept: bytes
    content_type: bytes
    host: bytes | None
    origin: bytes | None
    key: str | None
    """The `Idempotency-Key` header."""
    mirrors: Headers
    """The `Mcp-Param-*` headers, which repeat arguments."""
    duplicated: str | None


class NotAcceptable(Exception):
    """An HTTP-level error: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


_ROUTING = frozenset({b"mcp-protocol-version", b"mcp-method", b"mcp-name"})
_TEXTS = _ROUTING | {b"mcp-session-id", b"last-event-id", b"idempotency-key"}
_READ = _TEXTS | {b"accept", b"content-type", b"host", b"origin"}


def read_head(headers: Headers) -> RequestHeaders:
    """Reads the relevant headers in one pass.

    Repeated headers are joined by commas, so two hosts or two sessions match none; a repeated routing header is an
    error of its own.
    """
    fields: dict[bytes, bytes] = {}
    mirrors: Headers = []
    duplicated: str | None = None
    for field in headers:
        name, value = field
        if name in _READ:
            if name not in fields:
                fields[name] = value
            elif name in _ROUTING:
                duplicated = duplicated or name.decode()
            elif name == b"idempotency-key":
                fields[name] = b'"'  # An invalid value: two joined keys would look like a third key.
            else:
                fields[name] += b", " + value
        elif name.startswith(_PARAM_PREFIX):
            mirrors.append(field)
    texts = {name: value.decode("latin-1") for name, value in fields.items() if name in _TEXTS}
    get, version = texts.get, texts.get(b"mcp-protocol-version")
    return RequestHeaders(
        Era.HANDSHAKE if version is None or version in HANDSHAKE_PROTOCOL_VERSIONS else Era.MODERN,
        version,
        get(b"mcp-method"),
        get(b"mcp-name"),
        get(b"mcp-session-id"),
        get(b"last-event-id"),
        fields.get(b"accept", b""),
        fields.get(b"content-type", b""),
        fields.get(b"host"),
        fields.get(b"origin"),
        get(b"idempotency-key"),
        mirrors,
        duplicated,
    )


def check_post(head: RequestHeaders) -> None:
    """Checks that a POST sends JSON and accepts both JSON and an event stream."""
    if not head.content_type.lower().startswith(b"application/json"):
        raise NotAcceptable(400, "Invalid Content-Type header: send application/json")
    if accepts(head.accept) != (True, True):
        raise NotAcceptable(406, "Not Acceptable: accept both application/json and text/event-stream")


@lru_cache(256)
def accepts(accept: bytes) -> tuple[bool, bool]:
    """Whether `Accept` allows JSON, and whether it allows an event stream."""
    kinds = {part.split(b";")[0].strip().lower() for part in accept.split(b",")}
    anything = b"*/*" in kinds
    return (
        anything or not kinds.isdisjoint((b"application/json", b"application/*")),
        anything or not kinds.isdisjoint((b"text/event-stream", b"text/*")),
    )


_NOT_ONE_MESSAGE = "Body must be a single JSON-RPC request or notification object"


def read_modern(message: Any, head: RequestHeaders) -> ParsedRequest | None:
    """The request in a modern POST; None for a notification, which is acknowledged and dropped."""
    if (matching := _matching_request(message, head)) is not None:
        return matching
    if isinstance(message, dict) and "id" not in message:
        _check_notification(message, head)
        return None
    if not is_request(message):
        raise RpcError(INVALID_REQUEST, _NOT_ONE_MESSAGE)
    if head.duplicated is not None:
        raise RpcError(HEADER_MISMATCH, f"{head.duplicated} header appears more than once")
    return _classify(message, _routing_headers(head))


def read_modern_line(message: dict[str, Any]) -> ParsedRequest:
    """A request of the modern era on a transport without headers."""
    params: dict[str, Any] = message.get("params") or {}
    meta = params.get("_meta")
    if not isinstance(meta, dict) or meta.get(PROTOCOL_VERSION_META_KEY) not in MODERN_PROTOCOL_VERSIONS:
        return _classify(message, None)
    capabilities = meta.get(CLIENT_CAPABILITIES_META_KEY)
    if not isinstance(capabilities, dict):
        return _classify(message, None)
    version = meta[PROTOCOL_VERSION_META_KEY]
    return ParsedRequest(Era.MODERN, version, message["id"], message["method"], params, capabilities)


def _classify(message: dict[str, Any], headers: dict[str, str] | None) -> ParsedRequest:
    """Reads an unusual request as the SDK does, or raises the SDK's rejection."""
    from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request

    route = classify_inbound_request(message, headers=headers)
    if isinstance(route, InboundLadderRejection):
        raise RpcError(route.code, route.message, route.data)
    can = route.client_capabilities
    return ParsedRequest(
        Era.MODERN, route.protocol_version, message["id"], message["method"], message["params"],
        can if isinstance(can, dict) else None,
    )  # fmt: skip


def _matching_request(message: Any, head: RequestHeaders) -> ParsedRequest | None:
    """Fast path: a request in which headers and message agree exactly, so the SDK's checks cannot fail."""
    if message.__class__ is not dict or message.get("jsonrpc") != "2.0" or head.duplicated is not None:
        return None
    method, params, request_id = message.get("method"), message.get("params"), message.get("id")
    if params.__class__ is not dict or head.version not in MODERN_PROTOCOL_VERSIONS or not isinstance(method, str):
        return None
    meta = params.get("_meta")
    if meta.__class__ is not dict or meta.get(PROTOCOL_VERSION_META_KEY) != head.version or head.method != method:
        return None
    named, capabilities = NAME_BEARING_METHODS.get(method), meta.get(CLIENT_CAPABILITIES_META_KEY)
    if capabilities.__class__ is not dict or request_id.__class__ not in (int, str):
        return None
    if named is not None and not _is_mirrored(params.get(named), head.name):
        return None
    return ParsedRequest(Era.MODERN, head.version, request_id, method, params, capabilities)


def _is_mirrored(value: Any, header: str | None) -> bool:
    if value == header and header is not None and not header.startswith("=?"):
        return True
    return isinstance(value, str) and header == encode_header_value(value)


def _check_notification(message: dict[str, Any], head: RequestHeaders) -> None:
    if not _has_envelope(message):
        raise RpcError(INVALID_REQUEST, _NOT_ONE_MESSAGE)
    if head.version in MODERN_PROTOCOL_VERSIONS:
        return
    from mcp.shared.inbound import unsupported_protocol_version_rejection

    rejection = unsupported_protocol_version_rejection(head.version or "")
    if rejection is not None:
        raise RpcError(rejection.code, rejection.message, rejection.data)


def _routing_headers(head: RequestHeaders) -> dict[str, str]:
    headers = {"mcp-protocol-version": head.version, "mcp-method": head.method, "mcp-name": head.name}
    return {name: value for name, value in headers.items() if value is not None}


def is_request(message: Any) -> bool:
    """Whether this is a JSON-RPC request: it has a method, and an id that is a string or an integer."""
    return (
        isinstance(message, dict)
        and (message.get("id").__class__ is int or message.get("id").__class__ is str)
        and _has_envelope(message)
    )


def is_notification(message: Any) -> bool:
    return isinstance(message, dict) and message.get("id") is None and _has_envelope(message)


def is_response(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("jsonrpc") == "2.0"
        and "method" not in message
        and (isinstance(message.get("result"), dict) or isinstance(message.get("error"), dict))
    )


def _has_envelope(message: dict[str, Any]) -> bool:
    params = message.get("params")
    return (
        message.get("jsonrpc") == "2.0"
        and isinstance(message.get("method"), str)
        and (params is None or isinstance(params, dict))
    )


def read_handshake(message: dict[str, Any], version: str | None, capabilities: dict[str, Any] | None) -> ParsedRequest:
    """A request of the handshake era, with or without a session."""
    return ParsedRequest(
        Era.HANDSHAKE, version or DEFAULT_NEGOTIATED_VERSION, message["id"], message["method"],
        message.get("params") or {}, capabilities,
    )  # fmt: skip


# Parameters of a call or a list are checked without the SDK if its check is certain to pass.

_PLAIN_CALL = {"name", "arguments", "_meta"}
_PLAIN_LIST = {"cursor", "_meta"}
_seen_clients: set[bytes] = set()
_SEEN_LIMIT = 1024


def check_params(request: ParsedRequest) -> None:
    """Checks the parameters against the schema of the request's protocol revision."""
    if request.method == "tools/call" and _is_plain_call(request):
        return
    if request.method == "tools/list" and _is_plain_list(request):
        return
    from mcp_types.methods import validate_client_request
    from pydantic import ValidationError

    try:
        validate_client_request(request.method, request.version, request.params)
    except ValidationError:
        raise RpcError(INVALID_PARAMS, "Invalid request parameters", "") from None
    except KeyError:
        return  # Not a method of this revision: dispatch answers.
    if request.era is Era.MODERN and len(client := _client_of(request.params["_meta"])) < 4096:
        if len(_seen_clients) >= _SEEN_LIMIT:
            _seen_clients.clear()
        _seen_clients.add(client)


def _is_plain_call(request: ParsedRequest) -> bool:
    params = request.params
    return (
        params.keys() <= _PLAIN_CALL
        and params.get("name").__class__ is str
        and params.get("arguments", {}).__class__ is dict
        and _is_plain_meta(params.get("_meta", {}), request.era)
    )


def _is_plain_list(request: ParsedRequest) -> bool:
    params = request.params
    return (
        params.keys() <= _PLAIN_LIST
        and params.get("cursor", "").__class__ is str
        and _is_plain_meta(params.get("_meta", {}), request.era)
    )


def _is_plain_meta(meta: Any, era: Era) -> bool:
    if meta.__class__ is not dict or meta.get("progressToken", 0).__class__ not in (int, str):
        return False
    return era is Era.HANDSHAKE or (LOG_LEVEL_META_KEY not in meta and _client_of(meta) in _seen_clients)


def _client_of(meta: dict[str, Any]) -> bytes:
    """The client's description of itself. It rarely changes, so its shape is checked once."""
    return orjson.dumps((meta.get(CLIENT_CAPABILITIES_META_KEY), meta.get(CLIENT_INFO_META_KEY)))


def http_status(era: Era, code: int) -> int:
    """The HTTP status of a JSON-RPC error: the modern era maps codes, the handshake era does not."""
    return ERROR_CODE_HTTP_STATUS.get(code, 200) if era is Era.MODERN else 200
