"""The gates that are compared, as configurations of `assent serve`, and the process of one.

No contract is written for AgentDojo's tools. Tiers and labels are what the gateway infers, as `assent classify` prints
them. `none`, `labels` and `provenance` use generated contracts that repeat the inferred effect and switch the
confirmation of risky tools off, so that only the flow control decides.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

GATES = ("none", "default", "tiers", "labels", "provenance")
PERSON = "assent_person00_the-key-of-the-scripted-person"
_ASK_FIRST = """
@id("ask-before-every-side-effect")
@effect("approve")
forbid (principal, action, resource)
unless { action in [Assent::Action::"read", Assent::Action::"compute"] };
"""
_FLOW: dict[str, dict[str, str]] = {
    "labels": {"mode": "ask", "by": "labels"},
    "provenance": {"mode": "ask", "by": "provenance"},
}


def agent_key(number: int) -> str:
    """The key of the caller of one conversation. Each has its own, so that no conversation knows of another."""
    return f"assent_agent{number:05}_a-key-of-the-bench-that-opens-nothing-else"


def settings_for(gate: str, upstream: dict[str, Any], conversations: int) -> dict[str, Any]:
    agents = [
        {"name": f"agent-{number}", "key": agent_key(number), "kind": "agent", "scopes": ["*"]}
        for number in range(conversations)
    ]
    person = {"name": "person", "key": PERSON, "kind": "human", "scopes": ["*"], "roles": ["approver"]}
    settings: dict[str, Any] = {
        "store": "sqlite:///assent.db",
        "upstreams": {"agentdojo": upstream},
        "auth": {"api_keys": [person, *agents]},
        "secrets": {"directory": "keys"},
        "approvals": {"cooldown": "1s"},
    }
    if gate == "tiers":
        settings["policies"] = ["tiers.cedar"]
    elif gate != "default":
        settings["contracts"] = ["generated.yaml"]
    return settings | ({"flow": _FLOW[gate]} if gate in _FLOW else {})


def contracts_of(tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What `assent classify` says of each tool as a contract, without the confirmation of risky ones."""
    lines = "\n".join(json.dumps(tool) for tool in tools)
    said = subprocess.run([_command(), "classify"], input=lines, capture_output=True, text=True, check=True)
    return {"tools": {one["name"]: _contract(one) for one in map(json.loads, said.stdout.splitlines())}}


def _contract(inferred: dict[str, Any]) -> dict[str, Any]:
    contract = {"side_effect": inferred["tier"], "open_world": inferred["open_world"]}
    if inferred["tier"] == "write":
        contract["overwrites"] = inferred["overwrites"]
    return contract | {"confirmation": {"by": "none", "because": "The flow control decides alone."}}


@asynccontextmanager
async def gateway(gate: str, contracts: dict[str, Any], url: str, conversations: int) -> AsyncIterator[str]:
    """`assent serve` in a folder of its own; gives its address."""
    with tempfile.TemporaryDirectory(prefix="assent-agentdojo-") as name:
        folder = Path(name)
        (folder / "tiers.cedar").write_text(_ASK_FIRST)
        (folder / "generated.yaml").write_text(yaml.safe_dump(contracts))
        (folder / "assent.yaml").write_text(yaml.safe_dump(settings_for(gate, {"url": url}, conversations)))
        options = ["serve", "-c", str(folder / "assent.yaml"), "--port", "0", "--log-level", "error"]
        running = await asyncio.create_subprocess_exec(_command(), *options, stderr=asyncio.subprocess.PIPE)
        assert running.stderr is not None
        try:
            yield await _address(running.stderr)
        finally:
            running.terminate()
            await running.communicate()


async def _address(lines: asyncio.StreamReader) -> str:
    said = ""
    while line := (await lines.readline()).decode():
        if found := re.search(r"serves \d+ tools at (http://127.0.0.1:\d+)/mcp", line):
            return found[1]
        said += line
    raise SystemExit(f"assent serve did not start:\n{said}")


def _command() -> str:
    return str(Path(sys.executable).with_name("assent"))
