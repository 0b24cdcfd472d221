"""Requests of clients in both protocol eras: what a handler gets, and the checks before it.

Codes, messages and their order are those of the official SDK's server; tests compare the two. A well-formed request
is recognized here. Only for one that is not is the SDK imported, because it costs more than a start.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson

from assent.core.call import ConversationRef, Presence
from assent.core.principal import Principal
from assent.mcp.channel import ClientChannel
from assent.mcp.jsonrpc import RequestId, RpcError, rebuild
from assent.mcp.mirrored_headers import encode_header_value
from assent.mcp.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    MODERN_PROTOCOL_VERSIONS,
    NAME_BEARING_METHODS,
    PROTOCOL_VERSION_META_KEY,
)
from assent.mcp.session import McpSession
from assent.mcp.strict_json import DEFAULT_BOUNDS, JsonLimits, parse
from assent.web.asgi import Headers


class Era(Enum):
    """The two protocol families."""

    HANDSHAKE = "handshake"
    MODERN = "modern"


HANDSHAKE, MODERN = Era.HANDSHAKE, Era.MODERN
"""For what every request asks: to read a member from its class is slow."""


@dataclass(slots=True)
class McpRequest:
    """One JSON-RPC request with everything its handler may need, and the channel back to the client.

    Parameters are as they were sent; `check_params` verifies their form.
    """

    era: Era
    version: str
    id: RequestId
    method: str
    params: dict[str, Any]
    capabilities: dict[str, Any] | None
    caller: Principal
    session: McpSession | None
    reply: ClientChannel
    headers: Headers = field(default_factory=list)
    key: str | None = None
    """The `Idempotency-Key` header."""
    mirrors: Headers = field(default_factory=list)
    """The `Mcp-Param-*` headers, which repeat arguments."""
    presence: Presence | None = None
    """Set if the client's disconnecting is the only way to end this request; in a session it can also cancel it."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """The answers to a tool's own question, and its state, for the upstream."""

    @property
    def client(self) -> str:
        """The name that the client gives itself, in this request or when the session began."""
        if self.era is MODERN:
            return client_name((self.params.get("_meta") or {}).get(CLIENT_INFO_META_KEY))
        return client_name(self.session.client_info) if self.session is not None else ""


# What a message is


def read_message(raw: bytes, bounds: JsonLimits = DEFAULT_BOUNDS) -> Any:
    """The message in a body or a line, with the protocol's own members only and without tasks; raises Malformed."""
    return rebuild(parse(raw, bounds))


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


# Requests of the modern era

Declared = tuple[str, dict[str, Any] | None]
"""The protocol revision of a modern request and the client's capabilities."""
_NOT_ONE_MESSAGE = "Body must be a single JSON-RPC request or notification object"


def read_modern(
    message: Any, version: str | None, method: str | None, name: str | None, duplicated: str | None
) -> Declared | None:
    """What a modern request declares, checked against the headers that repeat parts of it; None for a notification,
    which is acknowledged and dropped.
    """
    if duplicated is None and (declared := _read_matching(message, version, method, name)) is not None:
        return declared
    if isinstance(message, dict) and "id" not in message:
        _check_notification(message, version)
        return None
    if not is_request(message):
        raise RpcError(INVALID_REQUEST, _NOT_ONE_MESSAGE)
    if duplicated is not None:
        raise RpcError(HEADER_MISMATCH, f"{duplicated} header appears more than once")
    headers = {"mcp-protocol-version": version, "mcp-method": method, "mcp-name": name}
    return _classify(message, {field: value for field, value in headers.items() if value is not None})


def read_modern_line(message: dict[str, Any]) -> Declared:
    """What a modern request declares on a transport without headers."""
    meta = (message.get("params") or {}).get("_meta")
    if not isinstance(meta, dict) or meta.get(PROTOCOL_VERSION_META_KEY) not in MODERN_PROTOCOL_VERSIONS:
        return _classify(message, None)
    capabilities = meta.get(CLIENT_CAPABILITIES_META_KEY)
    if not isinstance(capabilities, dict):
        return _classify(message, None)
    return meta[PROTOCOL_VERSION_META_KEY], capabilities


def _classify(message: dict[str, Any], headers: dict[str, str] | None) -> Declared:
    """Reads an unusual request as the SDK does, or raises the SDK's rejection."""
    from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request

    route = classify_inbound_request(message, headers=headers)
    if isinstance(route, InboundLadderRejection):
        raise RpcError(route.code, route.message, route.data)
    can = route.client_capabilities
    return route.protocol_version, can if isinstance(can, dict) else None


def _read_matching(message: Any, version: str | None, header: str | None, name: str | None) -> Declared | None:
    """Fast path: a request in which headers and message agree exactly, so the SDK's checks cannot fail."""
    if message.__class__ is not dict or message.get("jsonrpc") != "2.0" or version not in MODERN_PROTOCOL_VERSIONS:
        return None
    method, params = message.get("method"), message.get("params")
    if header is None or header != method or params.__class__ is not dict:
        return None
    if message.get("id").__class__ not in (int, str) or (meta := params.get("_meta")).__class__ is not dict:
        return None
    capabilities = meta.get(CLIENT_CAPABILITIES_META_KEY)
    if meta.get(PROTOCOL_VERSION_META_KEY) != version or capabilities.__class__ is not dict:
        return None
    named = NAME_BEARING_METHODS.get(method)
    if named is not None and not _is_mirrored(params.get(named), name):
        return None
    return version, capabilities


def _is_mirrored(value: Any, header: str | None) -> bool:
    if value == header and header is not None and not header.startswith("=?"):
        return True
    return isinstance(value, str) and header == encode_header_value(value)


def _check_notification(message: dict[str, Any], version: str | None) -> None:
    if not _has_envelope(message):
        raise RpcError(INVALID_REQUEST, _NOT_ONE_MESSAGE)
    if version in MODERN_PROTOCOL_VERSIONS:
        return
    from mcp.shared.inbound import unsupported_protocol_version_rejection

    rejection = unsupported_protocol_version_rejection(version or "")
    if rejection is not None:
        raise RpcError(rejection.code, rejection.message, rejection.data)


# Parameters of a call or a list are checked without the SDK if its check is certain to pass.

_PLAIN_CALL = {"name", "arguments", "_meta"}
_PLAIN_LIST = {"cursor", "_meta"}
_seen_clients: set[bytes] = set()
_SEEN_LIMIT = 1024


def check_params(era: Era, version: str, method: str, params: dict[str, Any]) -> None:
    """Checks the parameters of a request against the schema of its protocol revision."""
    if method == "tools/call" and _is_plain_call(params, era):
        return
    if method == "tools/list" and _is_plain_list(params, era):
        return
    from mcp_types.methods import validate_client_request
    from pydantic import ValidationError

    try:
        validate_client_request(method, version, params)
    except ValidationError:
        raise RpcError(INVALID_PARAMS, "Invalid request parameters", "") from None
    except KeyError:
        return  # Not a method of this revision: dispatch answers.
    if era is MODERN and len(client := _client_of(params["_meta"])) < 4096:
        if len(_seen_clients) >= _SEEN_LIMIT:
            _seen_clients.clear()
        _seen_clients.add(client)


def _is_plain_call(params: dict[str, Any], era: Era) -> bool:
    return (
        params.keys() <= _PLAIN_CALL
        and params.get("name").__class__ is str
        and params.get("arguments", {}).__class__ is dict
        and _is_plain_meta(params.get("_meta", {}), era)
    )


def _is_plain_list(params: dict[str, Any], era: Era) -> bool:
    return (
        params.keys() <= _PLAIN_LIST
        and params.get("cursor", "").__class__ is str
        and _is_plain_meta(params.get("_meta", {}), era)
    )


def _is_plain_meta(meta: Any, era: Era) -> bool:
    if meta.__class__ is not dict or meta.get("progressToken", 0).__class__ not in (int, str):
        return False
    return era is HANDSHAKE or (LOG_LEVEL_META_KEY not in meta and _client_of(meta) in _seen_clients)


def _client_of(meta: dict[str, Any]) -> bytes:
    """The client's description of itself. It rarely changes, so its shape is checked once."""
    return orjson.dumps((meta.get(CLIENT_CAPABILITIES_META_KEY), meta.get(CLIENT_INFO_META_KEY)))


# What a client says of a call beside its arguments: the idempotency key, the conversation, the user's words.

META_KEY = "dev.assent/idempotencyKey"
HEADER = "idempotency-key"
CONVERSATION = "dev.assent/conversation"
USER_TEXT = "dev.assent/userText"
QUESTION_OPEN = "dev.assent/questionOpen"
"""For how many seconds the client's own question about this call was open before it was answered."""
MOST_QUESTION_OPEN = 86_400.0
MOST_NAME = 200
MOST_USER_TEXT = 16_384


def keys_of(header: str | None, meta: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Every key sent in the header or in `_meta`. `validate` checks that they agree and are usable."""
    meta_key = (meta or {}).get(META_KEY)
    if header is None and meta_key is None:
        return ()
    found: list[str] = []
    if header is not None:
        found.append(unquote(header))
    if meta_key is not None:
        found.append(meta_key if isinstance(meta_key, str) else "")
    return tuple(found)


def header_of(headers: Any) -> str | None:
    """The key header of a Starlette request; two headers give a value that `validate` refuses."""
    sent = [] if headers is None else headers.getlist(HEADER)
    return '"' if len(sent) > 1 else next(iter(sent), None)


_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_ESCAPED = re.compile(r"\\(.)")


def unquote(value: str) -> str:
    """The text of a structured-field string; a bare value is returned as it is, an invalid one as empty text."""
    text = value.strip(" \t")
    if not text.startswith('"'):
        return text
    quoted = _QUOTED.fullmatch(text)
    return _ESCAPED.sub(r"\1", quoted[1]) if quoted else ""


def conversation_of(meta: Mapping[str, Any] | None) -> ConversationRef | None:
    """The conversation and the user's words; None if `_meta` has neither. Values that are no text are ignored."""
    if not meta or (CONVERSATION not in meta and USER_TEXT not in meta):
        return None
    name, text = meta.get(CONVERSATION), meta.get(USER_TEXT)
    return ConversationRef(
        name[:MOST_NAME] if isinstance(name, str) else "", text[-MOST_USER_TEXT:] if isinstance(text, str) else ""
    )


def claimed_seconds(meta: Mapping[str, Any] | None) -> float | None:
    """How long the client says that its own question was open. It is a claim."""
    given = (meta or {}).get(QUESTION_OPEN)
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 <= given <= MOST_QUESTION_OPEN:
        return None
    return float(given)


def client_name(info: Any) -> str:
    """The name that a client gives itself, from its `clientInfo`."""
    name = info.get("name") if isinstance(info, Mapping) else None
    return name[:MOST_NAME] if isinstance(name, str) else ""
