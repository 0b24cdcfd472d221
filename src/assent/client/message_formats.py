"""Converts tools, calls and results to the message formats of Anthropic's and OpenAI's APIs.

Plain data in and out; neither vendor's package is needed. Models accept only letters, digits, `_` and `-` in names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import mcp_types as types
from mcp.shared.exceptions import MCPError

from assent.client.question import model_text
from assent.core.outcome import Refusal
from assent.core.problems import error_result

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
LONGEST_NAME = 64


class Calls(Protocol):
    """The interface for calling a tool, such as GovernedClient."""

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> types.CallToolResult: ...


def safe_names(tools: Iterable[types.Tool]) -> dict[str, str]:
    """Return names that models accept, each with its tool; raise ValueError if two become the same."""
    names: dict[str, str] = {}
    for tool in tools:
        safe = safe_name(tool.name)
        if names.setdefault(safe, tool.name) != tool.name:
            raise ValueError(f"{names[safe]!r} and {tool.name!r} are both {safe!r} to a model: leave one out")
    return names


def anthropic_tools(tools: Iterable[types.Tool]) -> list[dict[str, Any]]:
    """Return the `tools` of a Messages API request."""
    return [
        {"name": safe_name(tool.name), "description": tool.description or "", "input_schema": tool.input_schema}
        for tool in tools
    ]


def openai_tools(tools: Iterable[types.Tool]) -> list[dict[str, Any]]:
    """Return the `tools` of a Chat Completions request."""
    return [
        {
            "type": "function",
            "function": {
                "name": safe_name(tool.name),
                "description": tool.description or "",
                "parameters": tool.input_schema,
            },
        }
        for tool in tools
    ]


def anthropic_result(tool_use_id: str, result: types.CallToolResult) -> dict[str, Any]:
    """Return one `tool_result` block."""
    content = [{"type": "text", "text": model_text(result)}]
    said: dict[str, Any] = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
    return {**said, "is_error": True} if result.is_error else said


def openai_result(tool_call_id: str, result: types.CallToolResult) -> dict[str, Any]:
    """Return one message with role `tool`."""
    return {"role": "tool", "tool_call_id": tool_call_id, "content": model_text(result)}


async def answer_anthropic(
    client: Calls, content: Iterable[Mapping[str, Any]], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the `tool_result` blocks for every `tool_use` block of a message, called one after the other."""
    return [
        anthropic_result(block["id"], await _call_tool(client, names.get(block["name"], block["name"]), block["input"]))
        for block in content
        if block.get("type") == "tool_use"
    ]


async def answer_openai(client: Calls, message: Mapping[str, Any], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the `tool` messages for every call of an assistant message, called one after the other."""
    return [
        openai_result(call["id"], await _call_function(client, call["function"], names))
        for call in message.get("tool_calls") or ()
    ]


async def _call_function(client: Calls, function: Mapping[str, Any], names: Mapping[str, str]) -> types.CallToolResult:
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, RecursionError):
        return refused("validate.malformed", "The arguments are not JSON.")
    return await _call_tool(client, names.get(function["name"], function["name"]), arguments)


async def _call_tool(client: Calls, name: str, arguments: Any) -> types.CallToolResult:
    """Return the result. Every call needs one, and error text of the server is withheld because it can be anything."""
    try:
        return await client.call_tool(name, arguments)
    except MCPError:
        return refused("execute.failed", "The server answered with an error.")


def refused(code: str, detail: str = "") -> types.CallToolResult:
    """Return a refusal as the result of a call that was not made."""
    return as_result(Refusal(code, detail))


def as_result(refusal: Refusal) -> types.CallToolResult:
    return types.CallToolResult.model_validate(error_result(refusal.problem()))


def safe_name(name: str) -> str:
    """Return the name with other characters replaced, cut to what models accept."""
    return _UNSAFE.sub("_", name)[:LONGEST_NAME]
