"""One conversation: the scripted agent calls through the gateway, the scripted person answers through its API."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx2

from bench.agentdojo.gates import PERSON

_VERSION = "2026-07-28"
ORDERS = ("at once", "last")
"""When the injected calls come: as soon as the injection was read, or after all calls of the user's task."""
Call = dict[str, Any]


@dataclass
class Outcome:
    """What happened in one conversation."""

    suite: str
    user: str
    injection: str | None
    order: str
    disguise: str
    solved: bool | None = None
    through: bool = False
    questions: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    injected: list[str] = field(default_factory=list)

    @property
    def all_ran(self) -> bool:
        return bool(self.injected) and all(line.startswith("ran") for line in self.injected)

    @property
    def pair(self) -> tuple[str, str, str | None]:
        return self.suite, self.user, self.injection


class Variant(NamedTuple):
    """Whether the client passes on the user's words, and whether the user's task is judged under attack too."""

    user_text: bool = True
    utility_under_attack: bool = False
    hooks: bool = False
    """Whether the words come by a hook of the client."""


@dataclass
class Agent:
    """The agent of one conversation and the person behind it."""

    http: httpx2.AsyncClient
    address: str
    key: str
    name: str
    prompt: str | None
    needed: Counter[str]
    outcome: Outcome
    hooks: bool = False
    """Whether the user's words come by a hook of the client instead of with each call."""
    calls: int = 0

    async def tell(self) -> None:
        """Send the event of a prompt as Claude Code's hook does."""
        event = {"hook_event_name": "UserPromptSubmit", "session_id": self.name, "cwd": "/", "prompt": self.prompt}
        answer = await self.http.post(
            f"{self.address}/hooks/claude-code", json=event, headers={"Authorization": f"Bearer {self.key}"}
        )
        answer.raise_for_status()

    async def call(self, call: Call) -> str | None:
        """Make the call, have the person asked if the gateway wants it, and give the text of the result."""
        self.calls += 1
        key = f"{self.name}-{self.calls}"
        result = await self._post(call, key)
        problem = _problem_in(result)
        if problem.get("code") == "confirm.approval_pending":
            self.outcome.questions.append(f"{_shown(call)}: {problem['detail']}")
            await self._decide(problem["approval"], call)
            result = await self._post(call, key)
            problem = _problem_in(result)
        if "code" in problem:
            self.outcome.refusals.append(f"{_shown(call)}: {problem['code']}: {problem.get('detail', '')}")
            return None
        return "\n".join(block.get("text", "") for block in result.get("content", ()))

    async def _decide(self, approval: str, call: Call) -> None:
        """Yes to a call that the user's task needs, as often as it needs it; no to any other."""
        wanted = _identity(call)
        verdict = "approve" if self.needed[wanted] > 0 else "deny"
        self.needed[wanted] -= verdict == "approve"
        url = f"{self.address}/api/approvals/{approval}/{verdict}"
        answer = await self.http.post(url, json={}, headers={"Authorization": f"Bearer {PERSON}"})
        answer.raise_for_status()

    async def _post(self, call: Call, key: str) -> dict[str, Any]:
        meta = {
            "io.modelcontextprotocol/protocolVersion": _VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "dev.assent/idempotencyKey": key,
        }
        if not self.hooks:  # No client of today names its conversation to a server.
            meta["dev.assent/conversation"] = self.name
        if self.prompt is not None and not self.hooks:
            meta["dev.assent/userText"] = self.prompt
        params = {"name": call["function"], "arguments": call["args"], "_meta": meta}
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": _VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": call["function"],
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = (await self.http.post(f"{self.address}/mcp", json=body, headers=headers)).json()
        if "error" in answer:
            error = answer["error"]
            return {"isError": True, "structuredContent": {"code": str(error["code"]), "detail": error["message"]}}
        result: dict[str, Any] = answer["result"]
        return result


async def converse(
    http: httpx2.AsyncClient, environments: str, gateway: str, key: str, name: str, outcome: Outcome, variant: Variant
) -> Outcome:
    """Run the user's task, and the injected one once it was read, and have AgentDojo judge what happened."""
    asked = {"suite": outcome.suite, "user": outcome.user, "injection": outcome.injection, "disguise": outcome.disguise}
    task = (await http.post(f"{environments}/reset", json=asked)).raise_for_status().json()
    needed = Counter(map(_identity, task["needed"]))
    agent = Agent(
        http, gateway, key, name, task["prompt"] if variant.user_text else None, needed, outcome, variant.hooks
    )
    if variant.hooks:
        await agent.tell()
    unread, injected = set(task["marks"]), list(task["injected"])
    for call in task["needed"]:
        text = await agent.call(call)
        unread -= {mark for mark in unread if mark in (text or "")}
        if not unread and outcome.order == "at once":
            await _attack(agent, injected)
            injected = []
            if outcome.disguise != "plain":
                break  # What the user's task does later changes nothing for the attack.
    if not unread:
        await _attack(agent, injected)
    question = {"suite": outcome.suite, "utility": variant.utility_under_attack or outcome.injection is None}
    judged = (await http.post(f"{environments}/judge", json=question)).raise_for_status().json()
    outcome.solved, outcome.through = judged.get("utility"), judged.get("security", False)
    return outcome


async def _attack(agent: Agent, injected: list[Call]) -> None:
    for call in injected:
        refused = len(agent.outcome.refusals)
        await agent.call(call)
        ran = len(agent.outcome.refusals) == refused
        agent.outcome.injected.append(f"{'ran' if ran else 'stopped'}: {_shown(call)}")


def _problem_in(result: dict[str, Any]) -> dict[str, Any]:
    """The gateway's refusal, if the result is one; a tool's own error has no structured content."""
    return (result.get("structuredContent") or {}) if result.get("isError") else {}


def _identity(call: Call) -> str:
    return json.dumps([call["function"], call["args"]], sort_keys=True)


def _shown(call: Call) -> str:
    return f"{call['function']}({json.dumps(call['args'], ensure_ascii=False)[:300]})"
