"""JSON-RPC messages: their own members, errors, and the reading of responses.

A server that ignores case reads `Method` as `method`. Messages are therefore passed on with the protocol's own
members only, and a member that differs only in case from one of them is refused. See ADR 0060.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from assent.contract.member_names import fold
from assent.core.hidden_characters import without_hidden
from assent.core.outcome import Refusal
from assent.core.shown_definition import Shown
from assent.mcp.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    CLIENT_METHODS,
    CLIENT_NOTIFICATIONS,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
)
from assent.mcp.strict_json import Malformed

RequestId = str | int
_FEW_LEVELS = 200
"""The writer of JSON takes 254 levels, and its reader more."""


class RpcError(Exception):
    """A JSON-RPC error response; the HTTP status follows from the code and the era."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def read_response(message: dict[str, Any]) -> dict[str, Any]:
    """The result in a response. Raises RpcError as the sender wrote it, without hidden characters, or ValueError if
    it is no response.
    """
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        code = error.get("code")
        text, data = without_hidden(str(error.get("message", ""))), Shown(None).text(error.get("data"), "")
        raise RpcError(code if isinstance(code, int) else INTERNAL_ERROR, text, data)
    if not isinstance(result, dict):
        raise ValueError("the response is not JSON-RPC")
    return result


def is_too_deep(text: bytes, message: Any) -> bool:
    """Whether a message is nested so deeply that it can be read but not written again."""
    if len(text) <= 2 * _FEW_LEVELS or text.count(b"[") + text.count(b"{") <= _FEW_LEVELS:
        return False
    try:
        orjson.dumps([[[[[[message]]]]]])  # The deepest nesting that any code adds around a message.
    except TypeError:
        return True
    return False


def settle(answer: asyncio.Future[dict[str, Any]], message: dict[str, Any], invalid: Exception | None = None) -> None:
    """Give a response to the code that waits for it; `invalid` is raised there if it is no response."""
    try:
        answer.set_result(read_response(message))
    except RpcError as error:
        answer.set_exception(error)
    except ValueError as error:
        answer.set_exception(invalid or error)


def cannot_be_asked(question: dict[str, Any]) -> dict[str, Any]:
    """The response to a server's question that no client can answer; it is refused at once and not left open."""
    error = {"code": METHOD_NOT_FOUND, "message": "the client cannot be asked"}
    return {"jsonrpc": "2.0", "id": question["id"], "error": error}


def result_body(request_id: RequestId, result: bytes) -> bytes:
    """A response around a result that is already JSON."""
    if request_id.__class__ is int:
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (request_id, result)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(request_id), result)


def error_body(request_id: RequestId | None, code: int, message: str, data: Any = None) -> bytes:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})


def malformed_body(error: ValueError) -> bytes:
    """The response to a message that is not strict JSON."""
    problem = Refusal("validate.malformed", f"The message cannot be read: {error}.").problem()
    return error_body(None, PARSE_ERROR, f"Parse error: {error}", problem)


# The members of a message

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
    """Returns the message with only the protocol's own members, and without tasks.

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
        drop_tasks(params)
        drop_tasks(meta, CLIENT_CAPABILITIES_META_KEY)
        if isinstance(wanted := params.get("notifications"), dict):
            wanted.pop("taskIds", None)
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


# Tasks: a call that becomes a task ends after its claim, and its result is fetched by another request. Tasks of neither
# era are governed, so they are not offered, not requested, and refused if a caller sends them.

_TASK_EXTENSION = "io.modelcontextprotocol/tasks"
ONLY_AS_A_TASK = "it can only be called as a task, and tasks are not governed"


def check_no_task(params: Mapping[str, Any]) -> None:
    """Refuse a call that wants to be a task; nothing has started then."""
    if params.get("task") is not None:
        refusal = Refusal("validate.task_unsupported")
        raise RpcError(METHOD_NOT_FOUND, refusal.problem()["title"], refusal.problem())


def without_tasks(capabilities: dict[str, Any]) -> dict[str, Any]:
    """The capabilities of either side without tasks of either era."""
    extensions = capabilities.get("extensions")
    is_extended = isinstance(extensions, dict) and _TASK_EXTENSION in extensions
    if "tasks" not in capabilities and not is_extended:
        return capabilities
    kept = {name: value for name, value in capabilities.items() if name != "tasks"}
    if is_extended:
        kept["extensions"] = {name: value for name, value in kept["extensions"].items() if name != _TASK_EXTENSION}
    return kept


def drop_tasks(holder: Any, key: str = "capabilities") -> None:
    """Remove tasks from the capabilities in the parameters of a request, its `_meta` or the result of a server."""
    if holder.__class__ is dict and (declared := holder.get(key)).__class__ is dict:
        holder[key] = without_tasks(declared)


def plain_definition(definition: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """A tool definition without task support, and whether the tool can be called without a task."""
    execution = definition.get("execution")
    if not isinstance(execution, Mapping):
        return dict(definition), True
    kept = {name: value for name, value in execution.items() if name != "taskSupport"}
    plain = {name: value for name, value in definition.items() if name != "execution"}
    return plain | ({"execution": kept} if kept else {}), execution.get("taskSupport") != "required"
