"""Keeps protocol tasks out of governed connections.

A call that becomes a task ends after its claim, and its result is fetched by another request. Tasks of neither era
are governed, so they are not offered, not requested, and refused if a caller sends them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.core.outcome import Refusal
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import CLIENT_CAPABILITIES_META_KEY, METHOD_NOT_FOUND

EXTENSION = "io.modelcontextprotocol/tasks"
ONLY_AS_A_TASK = "it can only be called as a task, and tasks are not governed"


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
