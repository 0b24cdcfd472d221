"""Events of coding agents, and a door that answers them on a store of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assent.config.callers import ConfiguredCaller
from assent.config.load import parse_settings
from assent.config.model import Settings
from assent.config.rules import flow_control, policies_of, rules_of
from assent.core.catalogue import Catalogue
from assent.hooks.calls import HookDoor, HookSource
from assent.hooks.process import local_settings, make_door
from assent.pipeline.approve import approve
from assent.pipeline.ports_factory import make_ports
from assent.ports import LogEntry, Ports
from assent.stores.memory import MemoryStore

OPERATOR = ConfiguredCaller(kind="human", scopes=("*",), roles=("operator", "approver"))


def event(name: str, tool: str = "", given: Mapping[str, Any] | None = None, **more: Any) -> bytes:
    """An event as Claude Code sends it."""
    found = {"session_id": "s1", "cwd": "/home/ann/project", "permission_mode": "default", "hook_event_name": name}
    if tool:
        found |= {"tool_name": tool, "tool_input": dict(given or {}), "tool_use_id": "toolu_1"}
    return json.dumps({**found, **more}).encode()


class Agent:
    """One coding agent with its door."""

    def __init__(self, settings: str = "mode: enforce", client: str = "claude-code") -> None:
        self.settings: Settings = local_settings(parse_settings(settings))
        self.client, self.store, self._calls = client, MemoryStore(), 0
        self.ports: Ports = make_ports(
            self.store,
            Catalogue,
            derive_key=str,
            rules=rules_of(self.settings, policies_of(self.settings), flow_control(self.settings)),
        )
        self.door: HookDoor = make_door(self.settings, self.ports)
        self.source = HookSource()

    async def send(self, raw: bytes) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(await self.door.answer(self.client, raw, self.source))
        return answer

    async def before(self, tool: str, given: Mapping[str, Any], **more: Any) -> tuple[str, str]:
        """The decision on a call and its reason; `none` if there is none."""
        answer = await self.send(event("PreToolUse", tool, given, **{"tool_use_id": self._next(), **more}))
        said = answer.get("hookSpecificOutput", {})
        return said.get("permissionDecision", "none"), said.get("permissionDecisionReason", "")

    async def after(self, tool: str, given: Mapping[str, Any], response: Any = "done", **more: Any) -> dict[str, Any]:
        """The answer after the newest call."""
        told = {"tool_use_id": f"toolu_{self._calls}", "tool_response": response, **more}
        return await self.send(event("PostToolUse", tool, given, **told))

    async def run(self, tool: str, given: Mapping[str, Any], response: Any = "done", **more: Any) -> str:
        """Make a call that the client runs if nothing denies it; gives the decision."""
        decision, _ = await self.before(tool, given, **more)
        if decision != "deny":
            await self.after(tool, given, response, **more)
        return decision

    def _next(self) -> str:
        self._calls += 1
        return f"toolu_{self._calls}"

    async def approve(self, reason: str) -> None:
        """Say yes, as a person does in a terminal, to the approval that a denial names."""
        from assent.config.callers import principal_of

        person = principal_of(OPERATOR, "operator:ann")
        await approve(person, reason.partition("Approval: ")[2].split(".")[0], "approve", self.ports)

    async def log(self) -> list[LogEntry]:
        await self.store.flush()
        return await self.store.entries()

    async def kinds(self) -> list[str]:
        """The log as `kind tool`."""
        return [f"{one.entry.kind} {one.entry.facts.get('tool', '')}" for one in await self.log()]


def write_settings(folder: Path, text: str = "mode: enforce") -> Path:
    """A configuration with a store of its own."""
    file = folder / "assent.yaml"
    file.write_text(f"store: sqlite:///{folder}/assent.db\nsecrets: {{directory: {folder}/keys}}\n{text}\n")
    return file
