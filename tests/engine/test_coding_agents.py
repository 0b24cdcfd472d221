"""The coding agents' own programs list the tools of a wrapped server on their first turn."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from support.coding_agents import AgentHome, needs_agent, talking
from support.engines import stopped_after_test
from support.transports import ROOT

ECHO = str(ROOT / "tests" / "support" / "echo_server.py")
RUNS = int(os.environ.get("CODING_AGENT_RUNS", "2"))


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_wrapped_tools_are_listed_on_the_first_turn(client: str, tmp_path: Path) -> None:
    needs_agent(client)
    assent = str(Path(sys.executable).with_name("assent"))
    agent = AgentHome(client, tmp_path, [assent, "wrap", "--", sys.executable, ECHO])
    stopped_after_test(agent.environment)
    listed = []
    for _ in range(RUNS):
        with talking([]) as model:
            done = agent.run(model)
        turns = [one for one in model.requests if one.get("tools")]
        assert turns, done.stderr[-2000:]
        listed.append("read_self" in json.dumps(turns[0]["tools"]))
    assert listed == [True] * RUNS
