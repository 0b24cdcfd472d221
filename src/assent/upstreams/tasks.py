"""Keeps protocol tasks out of governed connections.

A call that becomes a task ends after its claim, and its result is fetched by another request. Tasks of neither era
are governed, so they are not offered, not requested, and refused if a caller sends them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from assent.core.outcome import Refusal
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import CLIENT_CAPABILITIES_META_KEY, METHOD_NOT_FOUND
from assent.upstreams.errors import ProtocolViolation
from assent.web.asgi import Message, Send

EXTENSION = "io.modelcontextprotocol/tasks"
ONLY_AS_A_TASK = "it can only be called as a task, and tasks are not governed"
_LARGEST = 1024 * 1024
_ENDS = (b"\r\n\r\n", b"\n\n", b"\r\r")


def is_task_method(method: Any) -> bool:
    """Whether a request method concerns tasks."""
    return isinstance(method, str) and method.startswith("tasks/")


def check_no_task(params: Mapping[str, Any]) -> None:
    """Refuse a call that wants to be a task; nothing has started then."""
    if params.get("task") is not None:
        refusal = Refusal("validate.task_unsupported")
        raise RpcError(METHOD_NOT_FOUND, refusal.problem()["title"], refusal.problem())


def is_task(result: Mapping[str, Any]) -> bool:
    """Whether an upstream answered a call with a task instead of a result."""
    handle = isinstance(result.get("task"), Mapping) and "content" not in result
    return result.get("resultType") == "task" or handle


def without_tasks(capabilities: dict[str, Any]) -> dict[str, Any]:
    """The capabilities of either side without tasks of either era."""
    kept = {name: value for name, value in capabilities.items() if name != "tasks"}
    extensions = kept.get("extensions")
    if isinstance(extensions, Mapping) and EXTENSION in extensions:
        kept["extensions"] = {name: value for name, value in extensions.items() if name != EXTENSION}
    return kept


def strip_request(message: Any) -> None:
    """Remove task capabilities and task notifications from a parsed request."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return
    if params.get("capabilities"):
        _strip(params, "capabilities")
    if isinstance(meta := params.get("_meta"), dict) and meta.get(CLIENT_CAPABILITIES_META_KEY):
        _strip(meta, CLIENT_CAPABILITIES_META_KEY)
    if isinstance(wanted := params.get("notifications"), dict):
        wanted.pop("taskIds", None)


def strip_response(message: Any) -> bool:
    """Remove tasks from a server's capabilities; returns whether there were any."""
    result = message.get("result") if isinstance(message, dict) else None
    return isinstance(result, dict) and _strip(result, "capabilities")


def _strip(holder: dict[str, Any], key: str) -> bool:
    capabilities = holder.get(key)
    if not isinstance(capabilities, dict):
        return False
    if "tasks" not in capabilities and not _is_extended(capabilities.get("extensions")):
        return False
    holder[key] = without_tasks(capabilities)
    return True


def _is_extended(extensions: Any) -> bool:
    return isinstance(extensions, dict) and EXTENSION in extensions


def plain_definition(definition: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """A tool definition without task support, and whether the tool can be called without a task."""
    execution = definition.get("execution")
    if not isinstance(execution, Mapping):
        return dict(definition), True
    kept = {name: value for name, value in execution.items() if name != "taskSupport"}
    plain = {name: value for name, value in definition.items() if name != "execution"}
    return plain | ({"execution": kept} if kept else {}), execution.get("taskSupport") != "required"


class Stripping:
    """Removes tasks from the response to `initialize` or `server/discover`, as JSON or as an event stream."""

    def __init__(self, send: Send, upstream: str) -> None:
        self._send, self._upstream = send, upstream
        self._start: Message | None = None
        self._streams = False
        self._held = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            kinds = [value for name, value in message["headers"] if name == b"content-type"]
            self._streams = any(kind.lower().startswith(b"text/event-stream") for kind in kinds)
            if self._streams:
                return await self._send(message)
            self._start = message
            return
        self._held += message.get("body", b"")
        if len(self._held) > _LARGEST:
            raise ProtocolViolation(
                self._upstream, "the description of the server is larger than a megabyte", sent=True
            )
        more = message.get("more_body", False)
        if self._streams:
            await self._send({**message, "body": self._complete_events(all_of_it=not more)})
        elif not more:
            await self._send_response()

    async def _send_response(self) -> None:
        body = _strip_body(self._held)
        assert self._start is not None
        fields = [(name, value) for name, value in self._start["headers"] if name != b"content-length"]
        await self._send({**self._start, "headers": [*fields, (b"content-length", b"%d" % len(body))]})
        await self._send({"type": "http.response.body", "body": body})

    def _complete_events(self, *, all_of_it: bool) -> bytes:
        """The events that have arrived completely; the rest waits for the next piece."""
        cut = len(self._held) if all_of_it else max(self._held.rfind(end) + len(end) for end in _ENDS)
        if not all_of_it and not self._held[:cut].endswith(_ENDS):
            return b""
        ready, self._held = self._held[:cut], self._held[cut:]
        lines = ready.splitlines(keepends=True)
        return b"".join(_strip_line(line) for line in lines)


def _strip_line(line: bytes) -> bytes:
    """Strip one line of an event stream. JSON on one data line is stripped; JSON on several lines is left as it is."""
    if not line.startswith(b"data:"):
        return line
    body = line.removeprefix(b"data:").strip()
    stripped = _strip_body(body)
    return line if stripped is body else b"data: " + stripped + line[len(line.rstrip(b"\r\n")) :]


def _strip_body(body: bytes) -> bytes:
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    return orjson.dumps(message) if strip_response(message) else body
