"""Reads the events of coding agents into one form. What cannot be read raises `UnreadableEvent`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from assent.mcp import strict_json
from assent.mcp.strict_json import JsonLimits, Malformed

Kind = Literal["before", "after", "prompt", "start", "end", "other"]
MOST_EVENT = 5 * 1024 * 1024
"""The largest event, in bytes. A client sends a whole file that it writes, or the whole output of a command."""
_LIMITS = JsonLimits(MOST_EVENT)
MOST_RESULT = 1_000_000
"""How many characters of a result are read."""
LONGEST_NAME = 200
PLUGIN_VERSION = 1
"""The version of the events that our plugin for opencode sends."""


class UnreadableEvent(Exception):
    """An event that cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event of a coding agent."""

    client: str
    kind: Kind
    session: str
    cwd: str = ""
    mode: str = ""
    """The client's permission mode, where it tells."""
    tool: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    call: str = ""
    """The client's id of the call, where it has one."""
    result: dict[str, Any] | None = None
    """The tool's result in the form of MCP."""
    prompt: str = ""
    server: str = ""
    """The MCP server that the tool belongs to, as the client names it; empty for a built-in tool."""
    command: tuple[str, ...] = ()
    """The command of that server, where the client tells."""


def read_event(client: str, raw: bytes) -> HookEvent:
    """The event that a client sent. Raises UnreadableEvent."""
    if len(raw) > MOST_EVENT:
        raise UnreadableEvent(f"the event is larger than {MOST_EVENT // 1024 // 1024} MB")
    if not raw.strip():
        raise UnreadableEvent("the event is empty")
    given, odd = _parsed(raw)
    if not isinstance(given, dict):
        raise UnreadableEvent("the event is not an object")
    event = _READERS[client](client, given)
    if odd and event.kind != "after":  # A result may hold any number; what is judged may not.
        raise UnreadableEvent(f"the event cannot be read as JSON: {odd}")
    if event.kind == "other":
        return event
    if not event.session:
        raise UnreadableEvent("the event names no session")
    if event.kind in ("before", "after") and not event.tool:
        raise UnreadableEvent("the event names no tool")
    return event


def _parsed(raw: bytes) -> tuple[Any, str]:
    """The document, and why two parsers could read it differently; empty if they cannot."""
    try:
        return strict_json.parse(raw, _LIMITS), ""
    except Malformed as error:
        try:
            return orjson.loads(raw), str(error)
        except orjson.JSONDecodeError:
            raise UnreadableEvent(f"the event cannot be read as JSON: {error}") from None


_CLAUDE: Mapping[str, Kind] = {
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "after",
    "UserPromptSubmit": "prompt",
    "SessionStart": "start",
    "SessionEnd": "end",
    "BeforeTool": "before",
    "AfterTool": "after",
    "BeforeAgent": "prompt",
}


_BESIDE = frozenset({"PermissionRequest", "PermissionDenied", "Notification"})
"""Events that name a tool and decide nothing here."""


def _claude(client: str, given: Mapping[str, Any]) -> HookEvent:
    """Claude Code, Codex and Gemini CLI: `hook_event_name` with snake_case members."""
    name = _text(given, "hook_event_name")
    if not name:
        raise UnreadableEvent("the event has no `hook_event_name`; this version of the client is unknown")
    kind = _CLAUDE.get(name, "other")
    if kind == "other" and "tool_input" in given and name not in _BESIDE:
        raise UnreadableEvent(f"`{name}` is not an event that Assent knows; this version of the client is unknown")
    tool, context = _text(given, "tool_name"), given.get("mcp_context")
    server, command = _mcp_name(tool), tuple[str, ...]()
    if isinstance(context, Mapping):
        server = _text(context, "server_name") or server
        words = [context.get("command"), *(context.get("args") or [])]
        command = tuple(word for word in words if isinstance(word, str))
    return HookEvent(
        client,
        kind,
        session=_text(given, "session_id"),
        cwd=_text(given, "cwd", 4096),
        mode=_text(given, "permission_mode"),
        tool=tool,
        input=_object(given, "tool_input") if kind in ("before", "after") else {},
        call=_text(given, "tool_use_id"),
        result=_claude_result(given) if kind == "after" else None,
        prompt=_text(given, "prompt", None) if kind == "prompt" else "",
        server=server,
        command=command,
    )


def _claude_result(given: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(error := given.get("error"), str):
        return result_of(error, failed=True)
    response = given.get("tool_response")
    if isinstance(response, Mapping) and isinstance(response.get("error"), Mapping):
        return result_of(response, failed=True)
    interrupted = isinstance(response, Mapping) and response.get("interrupted") is True
    return result_of(response, failed=interrupted)


def _mcp_name(tool: str) -> str:
    """The server in a name such as `mcp__server__tool`."""
    parts = tool.split("__")
    return parts[1] if len(parts) > 2 and parts[0] == "mcp" else ""


def _copilot(client: str, given: Mapping[str, Any]) -> HookEvent:
    """Copilot CLI: camelCase members, and no name of the event."""
    tool = _text(given, "toolName")
    kind: Kind = "other"
    if "permissionSuggestions" in given:
        kind = "other"
    elif tool:
        kind = "after" if "toolResult" in given or "error" in given else "before"
    elif "initialPrompt" in given or "source" in given:
        kind = "start"
    elif "prompt" in given:
        kind = "prompt"
    elif "reason" in given:
        kind = "end"
    elif "sessionId" not in given:
        raise UnreadableEvent("the event has no member that Assent knows; this version of the client is unknown")
    result = given.get("toolResult", given.get("error"))
    failed = "error" in given or (isinstance(result, Mapping) and result.get("resultType") not in (None, "success"))
    return HookEvent(
        client,
        kind,
        session=_text(given, "sessionId"),
        cwd=_text(given, "cwd", 4096),
        tool=tool,
        input=_arguments(given, "toolArgs") if tool else {},
        call=_text(given, "toolCallId"),
        result=result_of(result, failed=failed) if kind == "after" else None,
        prompt=_text(given, "prompt", None) if kind == "prompt" else "",
        server=tool.partition("-")[0] if "-" in tool else "",
    )


def _opencode(client: str, given: Mapping[str, Any]) -> HookEvent:
    """Our plugin for opencode."""
    if given.get("version") != PLUGIN_VERSION:
        raise UnreadableEvent(
            f"the plugin sends events of version {str(given.get('version'))[:20]}, and this Assent knows "
            f"{PLUGIN_VERSION}; run `assent init --client opencode --hooks --write` again"
        )
    kinds: dict[str, Kind] = {"before": "before", "after": "after", "prompt": "prompt", "start": "start", "end": "end"}
    kind = kinds.get(_text(given, "event"))
    if kind is None:
        raise UnreadableEvent("the plugin sends an event that Assent does not know")
    return HookEvent(
        client,
        kind,
        session=_text(given, "session"),
        cwd=_text(given, "cwd", 4096),
        tool=_text(given, "tool"),
        input=_object(given, "input") if kind in ("before", "after") else {},
        call=_text(given, "call"),
        result=result_of(given.get("result"), failed=False) if kind == "after" else None,
        prompt=_text(given, "prompt", None) if kind == "prompt" else "",
    )


_CURSOR: Mapping[str, tuple[Kind, str]] = {
    "preToolUse": ("before", ""),
    "beforeShellExecution": ("before", "Shell"),
    "beforeMCPExecution": ("before", ""),
    "beforeReadFile": ("before", "Read"),
    "postToolUse": ("after", ""),
    "postToolUseFailure": ("after", ""),
    "afterShellExecution": ("after", "Shell"),
    "afterMCPExecution": ("after", ""),
    "beforeSubmitPrompt": ("prompt", ""),
    "sessionStart": ("start", ""),
    "sessionEnd": ("end", ""),
}


def _cursor(client: str, given: Mapping[str, Any]) -> HookEvent:
    """Cursor, by its documentation: `hook_event_name`, `conversation_id`, and members that differ by event."""
    name = _text(given, "hook_event_name")
    if not name:
        raise UnreadableEvent("the event has no `hook_event_name`; this version of the client is unknown")
    kind, fixed = _CURSOR.get(name, ("other", ""))
    if given.get("tool_input") is None:
        given = {**given, "tool_input": {key: given[key] for key in ("command", "file_path") if key in given}}
    mcp = name in ("beforeMCPExecution", "afterMCPExecution")
    result = next((given[key] for key in ("tool_output", "result_json", "output", "error_message") if key in given), "")
    return HookEvent(
        client,
        kind,
        session=_text(given, "conversation_id") or _text(given, "session_id"),
        cwd=_text(given, "cwd", 4096) or next(iter(_texts(given.get("workspace_roots"))), ""),
        tool=fixed or _text(given, "tool_name"),
        input=_arguments(given, "tool_input") if kind in ("before", "after") else {},
        call=_text(given, "tool_use_id"),
        result=result_of(result, failed="error_message" in given) if kind == "after" else None,
        prompt=_text(given, "prompt", None) if kind == "prompt" else "",
        server=(_text(given, "server") or "mcp") if mcp else "",
    )


_READERS: Mapping[str, Callable[[str, Mapping[str, Any]], HookEvent]] = {
    "claude-code": _claude,
    "codex": _claude,
    "gemini": _claude,
    "copilot": _copilot,
    "opencode": _opencode,
    "cursor": _cursor,
}


def result_of(response: Any, *, failed: bool) -> dict[str, Any]:
    """A client's result in the form of MCP: the texts in it. A result of an MCP tool is kept as it is."""
    if isinstance(response, Mapping) and isinstance(response.get("content"), list) and "structuredContent" in response:
        return {**response, **({"isError": True} if failed else {})}
    text, size = [], 0
    for one in _leaves(response):
        text.append(one[: MOST_RESULT - size])
        size += len(text[-1])
        if size >= MOST_RESULT:
            break
    found: dict[str, Any] = {"content": [{"type": "text", "text": "\n".join(text)}]}
    return {**found, "isError": True} if failed else found


def _leaves(value: Any) -> Iterator[str]:
    """The texts in a value, in order; numbers as JSON writes them."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting.extend(reversed(list(one.values())))
        elif isinstance(one, list):
            waiting.extend(reversed(one))
        elif one is not None and not isinstance(one, bool):
            yield json.dumps(one)


def _text(given: Mapping[str, Any], name: str, most: int | None = LONGEST_NAME) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnreadableEvent(f"`{name}` is not a text")
    if most is not None and len(value) > most:
        raise UnreadableEvent(f"`{name}` is longer than {most} characters")
    return value


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _object(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = given.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnreadableEvent(f"`{name}` is not an object")
    return value


def _arguments(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The arguments of a tool, which some versions send as JSON in a text."""
    value = given.get(name)
    if isinstance(value, str):
        try:
            value = strict_json.parse(value.encode("utf-8", "surrogatepass"))
        except Malformed:
            raise UnreadableEvent(f"`{name}` cannot be read as JSON") from None
    return _object({name: value}, name)
