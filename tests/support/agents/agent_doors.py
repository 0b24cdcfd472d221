"""One user's doors on one flow control: hooks of a coding agent, and MCP servers behind the pipeline of `wrap`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.contract.reader import read_contract
from assent.core.call import Call, ConversationRef, Request
from assent.core.catalogue import catalogue_of
from assent.core.outcome import Answer
from assent.core.tool import compile_tool
from assent.hooks.calls import HookSource
from assent.pipeline.govern import govern
from support.agents.hook_events import Agent, event

TOOLS: dict[str, dict[str, Any]] = {
    "read_inbox": {"side_effect": "read", "labels": {"reads_private": True, "sees_untrusted": True}},
    "read_issue": {"side_effect": "read", "labels": {"sees_untrusted": True}},
    "read_customers": {"side_effect": "read", "labels": {"reads_private": True, "sees_untrusted": False}},
    "send_message": {"side_effect": "write", "labels": {"public_sink": True}, "open_world": True},
    "create_issue": {"side_effect": "write", "labels": {"public_sink": True}, "open_world": True},
    "transfer": {"side_effect": "write", "labels": {"public_sink": True}, "open_world": True},
    "open_page": {"side_effect": "read", "labels": {"public_sink": True, "sees_untrusted": True}, "open_world": True},
}


class _Server:
    """The upstream of the MCP tools: counts what it ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.text = "ok"

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        self.ran.append(call.tool.name)
        return {"content": [{"type": "text", "text": self.text}]}

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        raise NotImplementedError


class Doors:
    """A coding agent with built-in tools and MCP tools, with or without hooks."""

    def __init__(self, *, hooks: bool = True, mode: str = "ask") -> None:
        self.agent, self.hooks, self.server = Agent(f"mode: enforce\nflow: {{mode: {mode}}}"), hooks, _Server()
        self.agent.source = HookSource(conversation="")
        tools = catalogue_of(compile_tool(read_contract(name, fields)) for name, fields in TOOLS.items())
        self.ports = self.agent.ports._replace(catalogue=lambda: tools, upstream=self.server)

    async def prompt(self, text: str) -> None:
        """The user's words, which only a hook passes on."""
        if self.hooks:
            await self.agent.send(event("UserPromptSubmit", prompt=text))

    async def use(self, tool: str, given: Mapping[str, Any], result: str = "ok") -> bool:
        """Call a tool through its own door; whether it runs without a person's yes."""
        if tool in TOOLS:
            self.server.text = result
            request = Request(tool, dict(given), self.agent.door.principal, conversation=ConversationRef())
            return isinstance(await govern(request, self.ports), Answer)
        if not self.hooks:
            return True
        decision, reason = await self.agent.before(tool, given)
        assert "hook failed" not in reason, reason
        if decision in ("deny", "ask"):
            return False
        await self.agent.after(tool, given, result)
        return True
