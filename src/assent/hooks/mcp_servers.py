"""Tells which MCP servers of a client are governed by another door, so that no call is judged and logged twice."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from assent.hooks.events import HookEvent

_Read = Callable[[bytes], Any]


def is_governed_elsewhere(event: HookEvent, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the server of a tool is behind `assent wrap`, as the client or the user's own file says.

    A file of the workspace does not count: whoever wrote the workspace wrote it. So only this very program counts, and
    only with the user's own configuration.
    """
    if event.command:
        return _is_wrap(event.command)
    servers = _servers(event, environment)
    if event.server:
        named = servers.get(event.server)
    else:  # opencode and Copilot put the server before the tool, without a mark.
        named = next((one for name, one in servers.items() if event.tool.startswith((f"{name}_", f"{name}-"))), None)
    return named is not None and _is_wrap(named)


def _is_wrap(words: tuple[str, ...]) -> bool:
    own = Path(sys.executable).with_name("assent")
    return len(words) > 3 and words[1:3] == ("wrap", "--") and os.path.realpath(words[0]) == os.path.realpath(own)


_FILES: Mapping[str, tuple[str, str, str, _Read]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", "~/.claude.json", "mcpServers", json.loads),
    "codex": ("CODEX_HOME", "~/.codex/config.toml", "mcp_servers", lambda raw: tomllib.loads(raw.decode())),
    "copilot": ("COPILOT_HOME", "~/.copilot/mcp-config.json", "mcpServers", json.loads),
    "opencode": ("OPENCODE_CONFIG_DIR", "~/.config/opencode/opencode.json", "mcp", json.loads),
    "cursor": ("", "~/.cursor/mcp.json", "mcpServers", json.loads),
    "gemini": ("", "~/.gemini/settings.json", "mcpServers", json.loads),
}


def _servers(event: HookEvent, environment: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    variable, usual, table, read = _FILES[event.client]
    folder = environment.get(variable) if variable else None
    path = Path(folder) / PurePath(usual).name if folder else Path(usual.replace("~", environment.get("HOME", "~"), 1))
    try:
        found = path.stat()
    except OSError:
        return {}
    whole = _read_file(str(path), found.st_mtime_ns, found.st_size, read)
    own = whole.get("projects", {}).get(event.cwd, {}) if event.client == "claude-code" else {}
    return {**_table(whole.get(table)), **_table(own.get(table) if isinstance(own, dict) else None)}


@lru_cache(32)
def _read_file(path: str, _changed: int, _size: int, read: _Read) -> dict[str, Any]:
    try:
        given = read(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return given if isinstance(given, dict) else {}


def _table(listed: Any) -> dict[str, tuple[str, ...]]:
    return {name: _words(one) for name, one in listed.items()} if isinstance(listed, dict) else {}


def _words(entry: Any) -> tuple[str, ...]:
    command = entry.get("command") if isinstance(entry, dict) else None
    words = command if isinstance(command, list) else [command, *(entry.get("args") or [])] if command else []
    return tuple(word for word in words if isinstance(word, str))
