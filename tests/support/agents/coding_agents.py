"""The coding agents' own programs, driven by a scripted model on loopback.

They are large, so they are not installed by default: `WITH_CODING_AGENTS=1 .ci/install-node-tools` puts them into
`.cache/agents`. Tests that need them are skipped without them.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assent.gateway.engine.client import EngineRefused, ask
from assent.gateway.engine.find_or_start import Unavailable
from support.agents.scripted_model import ScriptedModel, Step, scripted_model
from support.clients.transports import ROOT

PROGRAMS = Path(os.environ.get("CODING_AGENTS", ROOT / ".cache" / "agents")) / "node_modules" / ".bin"
FILESYSTEM = ROOT / ".cache" / "servers" / "node_modules" / ".bin" / "mcp-server-filesystem"
NAMES = {"claude-code": "claude", "codex": "codex", "gemini": "gemini", "copilot": "copilot", "opencode": "opencode"}


def needs_agent(client: str) -> None:
    """Skip the test if the program of a client is not installed."""
    if not (PROGRAMS / NAMES[client]).exists():
        pytest.skip(f"{NAMES[client]} is not installed; see tests/support/agents/coding_agents.py")


@dataclass
class AgentHome:
    """A home folder of one client with a project in it."""

    client: str
    home: Path
    server: list[str] | None = None
    """The command of an MCP server named `files`."""

    def __post_init__(self) -> None:
        self.project.mkdir(parents=True, exist_ok=True)
        (self.project / "a.txt").write_text("hello\n")
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)

    @property
    def project(self) -> Path:
        return self.home / "project"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
        return {**kept, "HOME": str(self.home), "ASSENT_NO_COLOR": "1"}

    def assent(self, *words: str) -> str:
        """Run an `assent` command of this user."""
        command = [str(ROOT / ".venv" / "bin" / "assent"), *words]
        done = subprocess.run(command, env=self.environment, cwd=self.home, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    def settings(self, text: str) -> None:
        """Write the user's own configuration of Assent."""
        folder = self.home / ".config" / "assent"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "assent.yaml").write_text(text)

    def stop_engine(self) -> None:
        """End the engine that hooks and wrapped servers of this home have started."""
        with suppress(Unavailable, EngineRefused, TimeoutError):
            ask("stop", environment=self.environment, start=False)

    def log(self) -> list[dict[str, Any]]:
        """The entries of the user's log."""
        lines = self.assent("audit", "export", "--format", "jsonl").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def run(
        self, model: ScriptedModel, prompt: str = "do it", timeout: float = 150
    ) -> subprocess.CompletedProcess[str]:
        """One conversation without a person."""
        command, more = _STARTS[self.client](self, model)
        return subprocess.run(
            [str(PROGRAMS / NAMES[self.client]), *command, *([prompt] if self.client != "gemini" else ["-p", prompt])],
            cwd=self.project,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )


Start = tuple[list[str], dict[str, str]]


def _merge(path: Path, new: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    old = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**old, **new}))


def _server(agent: AgentHome, **more: Any) -> dict[str, Any]:
    if agent.server is None:
        return {}
    return {"files": {"command": agent.server[0], "args": agent.server[1:], **more}}


def _claude(agent: AgentHome, model: ScriptedModel) -> Start:
    trusted = {str(agent.project): {"hasTrustDialogAccepted": True}}
    _merge(agent.home / ".claude.json", {"hasCompletedOnboarding": True, "projects": trusted,
                                         "mcpServers": _server(agent, type="stdio")})  # fmt: skip
    environment = {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "scripted",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return ["--allowedTools", "Bash,Write,Read,Edit,Agent,mcp__files", "-p"], environment


def _codex(agent: AgentHome, model: ScriptedModel) -> Start:
    server = ""
    if agent.server is not None:
        program, *words = agent.server
        server = f"[mcp_servers.files]\nrequired = true\ncommand = {json.dumps(program)}\nargs = {json.dumps(words)}\n"
    file = agent.home / ".codex" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        f'model = "gpt-5.5"\nmodel_provider = "s"\n[model_providers.s]\nname = "s"\nbase_url = "{model.url}/v1"\n'
        f'wire_api = "responses"\nenv_key = "SCRIPTED"\n[projects."{agent.project}"]\ntrust_level = "trusted"\n{server}'
    )
    return ["exec", "--json", "--dangerously-bypass-hook-trust", "-s", "danger-full-access"], {"SCRIPTED": "k"}


def _gemini(agent: AgentHome, model: ScriptedModel) -> Start:
    _merge(
        agent.home / ".gemini" / "settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
            "model": {"disableLoopDetection": True},  # It asks the model whether it repeats itself.
            "mcpServers": _server(agent),
        },
    )
    environment = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": model.url}
    return ["-m", "gemini-2.5-pro", "--approval-mode", "yolo", "--skip-trust"], environment


def _copilot(agent: AgentHome, model: ScriptedModel) -> Start:
    _merge(agent.home / ".copilot" / "mcp-config.json", {"mcpServers": _server(agent, type="local", tools=["*"])})
    environment = {
        "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "k",
        "COPILOT_MODEL": "m",
        "COPILOT_OFFLINE": "true",
    }
    return ["--allow-all-tools", "-p"], environment


def _opencode(agent: AgentHome, model: ScriptedModel) -> Start:
    options = {"baseURL": f"{model.url}/v1", "apiKey": "k"}
    models = {"m": {"name": "m", "limit": {"context": 100_000, "output": 8000}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "s", "options": options, "models": models}
    server = {"files": {"type": "local", "command": agent.server}} if agent.server is not None else {}
    file = agent.home / ".config" / "opencode" / "opencode.json"
    _merge(file, {"autoupdate": False, "share": "disabled", "model": "s/m", "provider": {"s": provider}, "mcp": server})
    return ["run"], {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


_STARTS: dict[str, Callable[[AgentHome, ScriptedModel], Start]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
    "opencode": _opencode,
}

SHELL = {
    "claude-code": "Bash",
    "codex": "exec_command",
    "gemini": "run_shell_command",
    "copilot": "bash",
    "opencode": "bash",
}


def shell(client: str, command: str) -> Step:
    """The step that runs a command in a client."""
    described = {"description": "a step"} if client in ("claude-code", "copilot", "opencode") else {}
    return SHELL[client], {"cmd" if client == "codex" else "command": command, **described}


@contextmanager
def talking(steps: list[Step], **more: Any) -> Iterator[ScriptedModel]:
    with scripted_model(steps, **more) as model:
        yield model
