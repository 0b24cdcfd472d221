"""Tells which MCP servers of a client are governed by another door, so that no call is judged and logged twice."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from assent.hooks.events import HookEvent

_Read = Callable[[bytes], Any]


def is_governed_elsewhere(event: HookEvent) -> bool:
    """Whether the server of a tool is behind `assent wrap`, as the client or the user's own file says.

    A file of the workspace does not count: it can be written by whoever wrote the workspace.
    """
    if event.command:
        return _is_wrap(event.command)
    servers = _servers(event.client)
    if event.server:
        named = servers.get(event.server)
    else:  # opencode and Copilot put the server before the tool, without a mark.
        named = next((one for name, one in servers.items() if event.tool.startswith((f"{name}_", f"{name}-"))), None)
    return named is not None and _is_wrap(named)


def _is_wrap(words: tuple[str, ...]) -> bool:
    return (
        len(words) > 1
        and PurePath(words[0]).is_absolute()
        and PurePath(words[0]).stem == "assent"
        and (words[1] == "wrap")
    )


_FILES: Mapping[str, tuple[str, str, str, _Read]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "~/.claude.json", "mcpServers", json.loads),
    "codex": ("CODEX_HOME", "~/.codex/config.toml", "mcp_servers", lambda raw: tomllib.loads(raw.decode())),
    "copilot": ("COPILOT_HOME", "~/.copilot/mcp-config.json", "mcpServers", json.loads),
    "opencode": ("OPENCODE_CONFIG_DIR", "~/.config/opencode/opencode.json", "mcp", json.loads),
    "cursor": ("", "~/.cursor/mcp.json", "mcpServers", json.loads),
    "gemini": ("", "~/.gemini/settings.json", "mcpServers", json.loads),
}


def _servers(client: str) -> Mapping[str, tuple[str, ...]]:
    variable, usual, table, read = _FILES[client]
    folder = os.environ.get(variable) if variable else None
    path = Path(folder) / PurePath(usual).name if folder else Path(usual).expanduser()
    try:
        found = path.stat()
    except OSError:
        return {}
    return _read_servers(str(path), found.st_mtime_ns, found.st_size, table, read)


@lru_cache(32)
def _read_servers(path: str, _changed: int, _size: int, table: str, read: _Read) -> Mapping[str, tuple[str, ...]]:
    try:
        given = read(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    listed = given.get(table) if isinstance(given, dict) else None
    return {name: _words(one) for name, one in listed.items()} if isinstance(listed, dict) else {}


def _words(entry: Any) -> tuple[str, ...]:
    command = entry.get("command") if isinstance(entry, dict) else None
    words = command if isinstance(command, list) else [command, *(entry.get("args") or [])] if command else []
    return tuple(word for word in words if isinstance(word, str))
