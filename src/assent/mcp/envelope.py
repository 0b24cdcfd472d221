"""Rebuilds JSON-RPC messages from the members that the protocol defines.

A server that ignores case reads `Method` as `method`. Messages are therefore passed on with the protocol's own
members only, and a member that differs only in case from one of them is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assent.core.member_names import fold
from assent.mcp.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    CLIENT_METHODS,
    CLIENT_NOTIFICATIONS,
    PROTOCOL_VERSION_META_KEY,
)
from assent.mcp.strict_json import Malformed

_REQUEST = ("jsonrpc", "id", "method", "params")
_RESPONSE = ("jsonrpc", "id", "result", "error")
_REQUEST_SET, _RESPONSE_SET = frozenset(_REQUEST), frozenset(_RESPONSE)
_MEMBERS = _REQUEST_SET | _RESPONSE_SET
PARAMS = frozenset(
    {
        "_meta", "argument", "arguments", "capabilities", "clientInfo", "context", "cursor", "inputResponses", "level",
        "message", "name", "notifications", "progress", "progressToken", "protocolVersion", "reason", "ref",
        "requestId", "requestState", "task", "taskId", "total", "uri",
    }
)  # fmt: skip
"""Every member of `params` in the requests and notifications that clients send."""

_TASKS = frozenset({"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"})
_RELAYED_REQUESTS = CLIENT_METHODS | _TASKS
_RELAYED_NOTIFICATIONS = CLIENT_NOTIFICATIONS | {"notifications/tasks/status"}


def rebuild(message: Any) -> Any:
    """Returns the message with only the protocol's own members.

    Raises Malformed if a member of the message, of `params` or of `_meta` differs only in case from another one.
    A value that is not an object is returned unchanged; the caller rejects it.
    """
    if message.__class__ is not dict:
        return message
    if not (_REQUEST_SET if "method" in message else _RESPONSE_SET) >= message.keys():
        _check(message, _MEMBERS, "the message")
        message = own_members(message)
    params = message.get("params")
    if params.__class__ is dict:
        if not params.keys() <= PARAMS:
            _check(params, PARAMS, "params")
        if (meta := params.get("_meta")).__class__ is dict and not meta.keys() <= _USUAL_META:
            _check(meta, (), "_meta")
    return message


def own_members(message: dict[str, Any]) -> dict[str, Any]:
    """A copy of the message with the members of a request or notification, or those of a response."""
    members = _REQUEST if "method" in message else _RESPONSE
    return {name: message[name] for name in members if name in message}


ENVELOPE_KEYS = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY})
_USUAL_META = ENVELOPE_KEYS | {"progressToken", "traceparent", "tracestate", "baggage"}
"""Names of which no two differ only in case."""


def with_envelope(
    params: dict[str, Any], version: str, capabilities: dict[str, Any] | None, client_info: dict[str, Any]
) -> dict[str, Any]:
    """The parameters of a modern request: version, capabilities and client are in `_meta` of each one."""
    envelope = {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_CAPABILITIES_META_KEY: capabilities or {},
        CLIENT_INFO_META_KEY: client_info,
    }
    return {**params, "_meta": {**params.get("_meta", {}), **envelope}}


def is_relayed(message: dict[str, Any]) -> bool:
    """Whether a message may be passed on: a response, or a protocol method in its exact spelling."""
    if "method" not in message:
        return True
    known = _RELAYED_NOTIFICATIONS if message.get("id") is None else _RELAYED_REQUESTS
    return message["method"] in known


def _check(names: Iterable[str], known: Iterable[str], where: str) -> None:
    spellings = {fold(name): name for name in known}
    for name in names:
        if (other := spellings.setdefault(fold(name), name)) != name:
            raise Malformed(f"{name[:64]!r} in {where} differs only in case from {other[:64]!r}")
