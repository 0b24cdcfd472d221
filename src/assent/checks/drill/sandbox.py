"""The sandbox of a story: a gateway with the user's rules, in front of stand-in servers, and a client before it."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Any, Literal

import httpx2

from assent.checks.drill.standin import Reached, Standins, serve
from assent.checks.drill.story import AgentCall, Definition, Ended, Story, asked, let_through, stopped
from assent.config.callers import ApiKey, AuthSettings
from assent.config.lock_file import write_pins
from assent.config.model import AuditSettings, ConsoleSettings, SecretsSettings, Settings, UpstreamSettings
from assent.config.rules import load_engine
from assent.config.sandbox import SandboxSettings
from assent.core.pins import accepted_pins
from assent.core.problems import problem_in
from assent.features import load_feature
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.status_pages import StatusPages
from assent.mcp.protocol import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LATEST_MODERN_VERSION,
    PROTOCOL_VERSION_META_KEY,
)
from assent.mcp.requests import META_KEY

AGENT = "assent_drillagent_the-key-of-the-deceived-agent"
PERSON = "assent_drillperson_the-key-of-the-person"
URL = "http://127.0.0.1:8420"
_PUBLIC = "8.8.8.8"  # Nothing is sent to it: guards only look at what kind of address a name has.
PROJECT = "project"
"""The folder of stand-ins that work with files."""
SandboxMode = Literal["off", "observe", "enforce"]
_MODES: tuple[SandboxMode, ...] = ("off", "observe", "enforce")
_UNANSWERED = "The gateway gave no answer."


@dataclass(frozen=True)
class Reply:
    """What the agent gets back for a call: a text, or the code and the sentence of a refusal."""

    text: str = ""
    code: str = ""
    detail: str = ""
    approval: str = ""


class Sandbox:
    """What a story can do: list and call tools as the agent, decide as the person, look at what reached the servers."""

    def __init__(self, story: Story, settings: Settings, standins: Standins, gateway: GatewayApp, folder: Path) -> None:
        self.story, self.settings, self.standins, self.gateway, self.folder = story, settings, standins, gateway, folder
        self.project = folder / PROJECT
        self._keys = count(1)
        transport = httpx2.ASGITransport(gateway.app(StatusPages(gateway)))
        self.http = httpx2.AsyncClient(transport=transport, base_url=URL)

    @property
    def reached(self) -> list[Reached]:
        return self.standins.reached

    def name(self, tool: str) -> str:
        """The name of a stand-in's tool at the gateway: with several servers it has a prefix."""
        owner = next(name for name, tools in self.story.servers.items() if tool in tools)
        return tool if len(self.story.servers) == 1 else f"{owner}_{tool}"

    async def list_tools(self) -> list[dict[str, Any]]:
        answer = await self.post("tools/list", {})
        tools: list[dict[str, Any]] = answer.get("result", {}).get("tools", [])
        return tools

    async def call(self, tool: str, arguments: Mapping[str, Any], key: str | None = None) -> Reply:
        """Call a tool as the agent. Each call has a key of its own unless one is given, as a retry has."""
        meta = {META_KEY: key or f"{self.story.title}-{next(self._keys)}"}
        answer = await self.post("tools/call", {"name": tool, "arguments": dict(arguments)}, meta, {"Mcp-Name": tool})
        if "error" in answer:
            return Reply(code=str(answer["error"].get("code")), detail=str(answer["error"].get("message")))
        result = answer.get("result", {})
        problem = problem_in(result)
        if "code" in problem:
            return Reply("", str(problem["code"]), str(problem.get("detail", "")), str(problem.get("approval", "")))
        return Reply("\n".join(str(block.get("text", "")) for block in result.get("content", ())))

    async def post(
        self,
        method: str,
        params: dict[str, Any],
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send a request of the modern era as the agent."""
        own = {
            PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
            CLIENT_CAPABILITIES_META_KEY: {},
            CLIENT_INFO_META_KEY: {"name": "drill", "version": "1"},
            "dev.assent/conversation": self.story.title,
            "dev.assent/userText": self.story.user,
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": own | dict(meta or {})}}
        sent = {
            "Authorization": f"Bearer {AGENT}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": LATEST_MODERN_VERSION,
            "Mcp-Method": method,
        }
        answer: dict[str, Any] = (await self.http.post("/mcp", json=body, headers=sent | dict(headers or {}))).json()
        return answer

    async def decide(self, approval: str, verdict: str = "approve") -> None:
        """Say yes or no as the person, through the gateway's API."""
        headers = {"Authorization": f"Bearer {PERSON}"}
        (await self.http.post(f"/api/approvals/{approval}/{verdict}", json={}, headers=headers)).raise_for_status()

    async def question(self, approval: str) -> str:
        """The text that the person reads."""
        headers = {"Authorization": f"Bearer {PERSON}"}
        answer = (await self.http.get(f"/api/approvals/{approval}", headers=headers)).raise_for_status().json()
        return str(answer["text"])

    async def play(self) -> Ended:
        """Run the story."""
        if self.story.play is not None:
            return await self.story.play(self)
        reply = Reply(detail=_UNANSWERED)
        for one in self.story.calls:
            reply = await self.call(self.name(one.tool), one.arguments)
        return self.judge(self.story.calls[-1], reply)

    def judge(self, harm: AgentCall, reply: Reply) -> Ended:
        """How the harmful call ended. What reached the stand-in server counts, not what the answer says."""
        if any(one.tool == harm.tool and one.arguments == harm.arguments for one in self.reached):
            return let_through(self.story.harm)
        return self.refused(reply, self.name(harm.tool))

    def refused(self, reply: Reply, tool: str) -> Ended:
        """The ending of a call that reached no server."""
        if reply.code == "confirm.approval_pending":
            because = reply.detail.partition(" It is asked because ")[2].rstrip(".")
            risk = self.gateway.current.catalogue.tools[tool].contract.risk.value
            return asked(f"A person is asked first, because {because or f'the risk of the tool is {risk}'}.")
        if reply.code.startswith("-"):
            return stopped(f"The tool is not offered: {reply.detail}.")
        return stopped(f"{reply.code}: {reply.detail}")


@asynccontextmanager
async def sandbox_for(story: Story, settings: Settings, folder: Path) -> AsyncIterator[Sandbox]:
    """A sandbox for one story in an empty folder."""
    standins = Standins(story)
    package = logging.getLogger(__name__.partition(".")[0])
    package.addHandler(logging.NullHandler())  # what the gateway logs belongs to the story
    async with serve(standins) as address:
        gateway = await open_gateway(
            sandbox_settings(story, settings, address, folder),
            lambda ports: ports._replace(resolve=resolve_in_sandbox),
        )
        sandbox = Sandbox(story, settings, standins, gateway, folder)
        try:
            await gateway.start()
            yield sandbox
        finally:
            await sandbox.http.aclose()
            await gateway.stop(within=1)


async def resolve_in_sandbox(host: str) -> tuple[str, ...]:
    """The address of a host without asking a name server: every name but this machine's is a public one."""
    try:
        return (str(ip_address(host.strip("[]"))),)
    except ValueError:
        return ("127.0.0.1",) if host.rstrip(".").endswith("localhost") else (_PUBLIC,)


def sandbox_settings(story: Story, settings: Settings, address: str, folder: Path) -> Settings:
    """The user's settings with everything replaced that leads out of the sandbox."""
    upstreams = {
        name: _on_this_machine(tools, settings, folder / PROJECT)
        if story.on_this_machine
        else UpstreamSettings(url=f"{address}/{name}")
        for name, tools in story.definitions.items()
    }
    agent = ApiKey(name="agent", key=AGENT, kind="agent", scopes=("*",))
    person = ApiKey(name="person", key=PERSON, kind="human", scopes=("*",), roles=("approver",))
    return settings.model_copy(
        update={
            "store": "memory://",
            "public_url": URL,
            "upstreams": upstreams,
            "contracts": (),
            # Attacks come through servers with contracts too: a stand-in that is merely withheld would tell nothing.
            "without_contract": "infer",
            # Stand-ins have no contract that names a price.
            "budgets": tuple(one for one in settings.budgets if one.currency is None),
            "auth": AuthSettings(api_keys=(agent, person)),
            "policies": _fitting_policies(story, settings, folder),
            "pins": _pins(story, settings, folder),
            "notify": (),
            "audit": AuditSettings(),
            "secrets": SecretsSettings(directory=str(folder / "keys")),
            "console": ConsoleSettings(),
        }
    )


def _on_this_machine(definitions: list[Definition], settings: Settings, project: Path) -> UpstreamSettings:
    """A stand-in that a command starts. Its folder is its root; it is confined as the user's own servers are."""
    project.mkdir(exist_ok=True)
    granted = (str(project),)
    return UpstreamSettings(
        command=(sys.executable, "-m", "assent.checks.drill.stdio_server", str(project), json.dumps(definitions)),
        roots=granted,
        sandbox=SandboxSettings(mode=sandbox_mode(settings), read=granted, write=granted),
    )


def sandbox_mode(settings: Settings) -> SandboxMode:
    """How the user's servers on this machine are confined: as the least confined of them."""
    modes: list[SandboxMode] = [one.sandbox.mode for one in settings.upstreams.values() if one.command is not None]
    usual: SandboxMode = "observe" if settings.preset == "recommended" else "off"
    return min(modes, key=_MODES.index, default=usual)


def _fitting_policies(story: Story, settings: Settings, folder: Path) -> tuple[str, ...]:
    """The policies that name no tool and no upstream of the user's own; the others cannot match a stand-in."""
    if not settings.policies:
        return ()
    name_faults = load_feature("policy_checks").name_faults
    tools = [name for tools in story.servers.values() for name in tools]
    policies = load_engine(settings.policies).policies
    fitting = [one.text for one in policies if not name_faults([one], tools, story.servers)]
    file = folder / "policies.cedar"
    file.write_text("\n".join(fitting), encoding="utf-8")
    return (str(file),) if fitting else ()


def _pins(story: Story, settings: Settings, folder: Path) -> str | None:
    """A lock file with the stand-ins' definitions as they are at first, if the user pins definitions."""
    if settings.lock_file is None or not settings.lock_file.exists():
        return settings.pins if settings.pins == "off" else None
    file = folder / "assent.lock"
    write_pins(file, {name: accepted_pins(name, {}, tools) for name, tools in story.definitions.items()})
    return str(file)
