"""The coding agents' own programs with Assent's hooks: every call is governed and in one log, in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agents.coding_agents import FILESYSTEM, NAMES, AgentHome, needs_agent, shell, talking
from support.agents.scripted_model import Step
from support.clients.transports import ROOT

ASSENT = str(ROOT / ".venv" / "bin" / "assent")
MCP = {"claude-code": "mcp__files__", "codex": "mcp__files/", "gemini": "mcp_files_", "copilot": "files-",
       "opencode": "files_"}  # fmt: skip
LOGGED = {"claude-code": "Bash", "codex": "Bash", "gemini": "run_shell_command", "copilot": "bash", "opencode": "bash"}
STARTS = frozenset({"read", "intent", "denial"})
"""The entries that say that a call was made; others say what became of it."""


@pytest.fixture(params=NAMES)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AgentHome]:
    needs_agent(request.param)
    home = AgentHome(request.param, tmp_path / "home")
    if not FILESYSTEM.exists():
        pytest.skip("the filesystem server is not installed; run .ci/install-node-tools")
    home.server = [ASSENT, "wrap", "--", str(FILESYSTEM), str(home.project)]
    home.settings("mode: enforce\n")
    assert "has Assent's hooks" in home.assent("init", "--client", request.param, "--hooks", "--write")
    yield home
    home.stop_engine()


def script(agent: AgentHome) -> tuple[list[Step], list[str]]:
    """Forty steps over built-in and MCP tools, and how the log names each call."""
    client, steps, named = agent.client, list[Step](), list[str]()
    own, prefix = f"{client}.{LOGGED[client]}", MCP[client]
    for number in range(8):
        steps += [
            shell(client, f"ls -la d{number}" if number else "ls -la"),
            (f"{prefix}create_directory", {"path": str(agent.project / f"d{number}")}),
            shell(client, f"touch f{number}"),
            (f"{prefix}read_text_file", {"path": str(agent.project / "a.txt")}),
            shell(client, f"rm -rf keep{number}"),
        ]
        named += [own, "create_directory", own, "read_text_file", own]
        (agent.project / f"keep{number}").mkdir()
    return steps, named


def made(log: list[dict[str, Any]]) -> list[str]:
    """The calls of a log, in order."""
    return [entry["tool"] for entry in log if entry["kind"] in STARTS]


def test_forty_calls_over_built_in_and_mcp_tools_are_in_one_log_in_order(agent: AgentHome) -> None:
    steps, named = script(agent)
    with talking(steps) as model:
        done = agent.run(model, timeout=400)
    log = agent.log()
    assert made(log) == named, done.stderr[-2000:]
    assert all((agent.project / f"f{number}").exists() for number in range(8))
    assert all((agent.project / f"keep{number}").exists() for number in range(8))  # rm waits for a person.
    denied = [entry for entry in log if entry["kind"] == "denial"]
    assert [entry["code"] for entry in denied] == ["confirm.approval_pending"] * 8
    assert "assent approvals approve" in str(model.requests)
    written = {entry["claim"] for entry in log if entry["kind"] == "intent"}
    ended = {entry["claim"] for entry in log if entry["kind"] == "outcome"}
    assert written == ended


def test_an_approved_call_runs_once(agent: AgentHome) -> None:
    file = agent.project / "a.txt"  # Codex refuses `rm` itself, so this is another way to lose a file.
    with talking([shell(agent.client, "truncate -s 0 a.txt")]) as model:
        agent.run(model)
        assert file.read_text()
        agent.assent("approvals", "approve", agent.assent("approvals", "list").split()[0], "--yes")
        agent.run(model)
        assert not file.read_text()
        file.write_text("again")
        agent.run(model)
    assert file.read_text() == "again"


def test_without_assent_at_its_path_every_call_is_denied(agent: AgentHome) -> None:
    for file in agent.home.rglob("*"):
        if file.is_file() and not file.is_symlink() and "node_modules" not in file.parts:
            raw = file.read_bytes()
            if b" hook " in raw or b'"hook"' in raw:
                file.write_bytes(raw.replace(f"{ASSENT} hook".encode(), b"/gone/assent hook").replace(
                    f'"{ASSENT}", "hook"'.encode(), b'"/gone/assent", "hook"'))  # fmt: skip
    with talking([shell(agent.client, "touch ran")]) as model:
        agent.run(model)
    assert not (agent.project / "ran").exists()
