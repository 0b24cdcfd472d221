"""Calls to wrapped servers are judged once, by `wrap`; a workspace cannot claim that its server is wrapped."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from assent.hooks.events import HookEvent
from assent.hooks.process import is_governed_elsewhere

ASSENT = str(Path(sys.executable).with_name("assent"))
WRAPPED = {"command": ASSENT, "args": ["wrap", "--", "npx", "server"]}
FILES = {
    "claude-code": (".claude.json", "mcp__files__read", "files"),
    "copilot": (".copilot/mcp-config.json", "files-read", "files"),
    "opencode": (".config/opencode/opencode.json", "files_read", ""),
    "cursor": (".cursor/mcp.json", "read", "files"),
    "codex": (".codex/config.toml", "mcp__files__read", "files"),
}


def write(home: Path, client: str, entry: dict[str, object]) -> None:
    path = home / FILES[client][0]
    path.parent.mkdir(parents=True, exist_ok=True)
    if client == "codex":
        path.write_text("[mcp_servers.files]\n" + "".join(f"{key} = {json.dumps(one)}\n" for key, one in entry.items()))
    elif client == "opencode":
        words = [entry["command"], *entry["args"]]  # type: ignore[misc]
        path.write_text(json.dumps({"mcp": {"files": {"type": "local", "command": words}}}))
    else:
        path.write_text(json.dumps({"mcpServers": {"files": entry}}))


@pytest.mark.parametrize("client", FILES)
def test_a_wrapped_server_of_the_users_own_file_is_left_to_wrap(tmp_path: Path, client: str) -> None:
    _, tool, server = FILES[client]
    event = HookEvent(client, "before", "s", tool=tool, server=server)
    assert not is_governed_elsewhere(event, {"HOME": str(tmp_path)})
    write(tmp_path, client, WRAPPED)
    assert is_governed_elsewhere(event, {"HOME": str(tmp_path)})
    write(tmp_path, client, {"command": "npx", "args": ["server"]})
    assert not is_governed_elsewhere(event, {"HOME": str(tmp_path)})


def test_a_server_of_one_project_counts_in_that_project(tmp_path: Path) -> None:
    projects = {"/p": {"mcpServers": {"files": WRAPPED}}}
    (tmp_path / ".claude.json").write_text(json.dumps({"projects": projects}))
    here, there = (HookEvent("claude-code", "before", "s", cwd, tool="x", server="files") for cwd in ("/p", "/q"))
    assert is_governed_elsewhere(here, {"HOME": str(tmp_path)})
    assert not is_governed_elsewhere(there, {"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    "command",
    [
        ("/tmp/workspace/assent", "wrap", "--", "evil"),
        ("assent", "wrap", "--", "evil"),
        (ASSENT, "wrap", "-c", "evil.yaml", "--", "evil"),
        (ASSENT, "serve"),
        ("npx", ASSENT, "wrap", "--"),
    ],
)
def test_a_workspace_cannot_say_that_its_server_is_wrapped(command: tuple[str, ...]) -> None:
    assert not is_governed_elsewhere(HookEvent("gemini", "before", "s", tool="x", server="files", command=command), {})
    good = HookEvent("gemini", "before", "s", tool="x", server="files", command=(ASSENT, "wrap", "--", "npx"))
    assert is_governed_elsewhere(good, {})
