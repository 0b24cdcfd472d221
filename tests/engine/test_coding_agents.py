"""The coding agents' own programs have the tools of a wrapped server on their first turn."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from assent.gateway.engine.client import ask
from support.agents.coding_agents import AgentHome, needs_agent, talking
from support.clients.transports import ROOT
from support.processes.engines import stopped_after_test

ECHO = str(ROOT / "tests" / "support" / "servers" / "echo_server.py")
TOOL = {"claude-code": "mcp__files__read_self", "codex": "mcp__files/read_self"}
RUNS = int(os.environ.get("CODING_AGENT_RUNS", "2"))


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_wrapped_tools_are_there_on_the_first_turn(client: str, tmp_path: Path) -> None:
    needs_agent(client)
    assent = str(Path(sys.executable).with_name("assent"))
    agent = AgentHome(client, tmp_path, [assent, "wrap", "--", sys.executable, ECHO])
    stopped_after_test(agent.environment)
    assert ask("status", environment=agent.environment) is not None  # The first server of a day waits for the engine.
    for number in range(RUNS):
        with talking([(TOOL[client], {"text": f"run {number}"})]) as model:
            done = agent.run(model)
        told = json.dumps(model.requests[-1])
        assert '"folder' in told.replace("\\", ""), (number, done.stderr[-2000:])
