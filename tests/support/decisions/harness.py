"""Harness that runs a decision case and records what happened."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from assent.core.approval import Approval
from assent.core.audit import Entry
from assent.core.call import Request, UserAnswer
from assent.core.claims import ClaimRecord
from assent.core.outcome import Answer, Outcome, Pause, Refusal
from assent.core.quotas import NOTHING, Quotas
from assent.pipeline.authenticate import authenticate
from assent.pipeline.govern import govern
from assent.ports import NotReached, NotRun, OutcomeUnknown, Ports, Store, ToolFailed
from assent.rules.guards import build_guard
from assent.rules.policy.engine import PolicyEngine
from assent.rules.policy.source import parse_policies
from assent.stores.memory import MemoryStore
from assent.testing.world import BrokenStore, Clock, World, as_given, failing_at
from support.decisions.model import Asks, Script, WorldSettings


class Scripted:
    """Tools that follow a script, one line per call and then the last line again, and log their effects."""

    def __init__(self, scripts: Mapping[str, tuple[Script, ...]]) -> None:
        self._lines: dict[str, list[Script]] = {}
        self._soon: dict[str, Script] = {}
        self._gate = asyncio.Event()
        self._entered: asyncio.Queue[str] = asyncio.Queue()
        self.effects: list[str] = []
        self.follow(scripts)

    def follow(self, scripts: Mapping[str, Iterable[Script]]) -> None:
        self._lines.update({tool: list(lines) for tool, lines in scripts.items()})

    def soon(self, tool: str, script: Script) -> None:
        """Make the next call of a tool do this instead of its script."""
        self._soon[tool] = script

    def speaks_text(self, tool: str) -> bool:
        """Whether a tool answers in text only."""
        return any(line.text is not None for line in self._lines.get(tool, ()))

    async def entered(self) -> None:
        """Wait until a tool hangs."""
        await self._entered.get()

    def release(self) -> None:
        """Release all hanging calls."""
        self._gate.set()

    async def respond(self, tool: str, *, effect: bool = True) -> Any:
        """Return the next line: a result, its structured part, or an exception to raise."""
        if effect:
            self.effects.append(tool)
        line = self._soon.pop(tool, None) or self._next(tool)
        if line.does == "hangs":
            self._entered.put_nowait(tool)
            await self._gate.wait()
        return _result_of(line)

    def _next(self, tool: str) -> Script:
        lines = self._lines.get(tool) or [Script()]
        return lines.pop(0) if len(lines) > 1 else lines[0]


def _result_of(line: Script) -> Any:
    match line.does:
        case "lost":
            return OutcomeUnknown("the connection broke")
        case "unreached":
            return NotReached("nobody listens")
        case "not_run":
            return NotRun("The tool refused the arguments.")
    if line.fails is not None:
        return ToolFailed(line.fails)
    if line.error is not None:
        return {"content": [], "structuredContent": line.error, "isError": True}
    if line.text is not None:
        return {"content": [{"type": "text", "text": line.text}]}
    return {"ok": True} if line.returns is None else line.returns


Contracts = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Observed:
    """How a call ended, in terms common to all edges."""

    kind: str
    code: str | None = None
    problem: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    replayed: bool = False
    error: bool = False
    approval: str | None = None
    text: str = ""


def seen(outcome: Outcome) -> Observed:
    """Convert an outcome of the pipeline."""
    if isinstance(outcome, Pause):
        return Observed("pause", outcome.code, approval=outcome.approval.id, text=outcome.approval.text)
    if isinstance(outcome, Answer):
        wire = outcome.on_wire()
        return Observed(
            "answer",
            result=wire.get("structuredContent", wire),
            replayed=outcome.replayed,
            error=wire.get("isError") is True,
        )
    problem = outcome.problem()
    return Observed("refusal", outcome.code, problem, approval=problem.get("approval"))


class Harness(Protocol):
    """A place to run a case: the pipeline itself, or an edge that runs it."""

    clock: Clock
    scripted: Scripted

    @property
    def ports(self) -> Ports: ...

    async def call(self, credentials: Any, tool: str, arguments: Any, key: str | None, asks: Asks) -> Observed:
        """Make one call, and answer the question if the person at the client is asked and answers."""
        ...

    async def change(self, contracts: Contracts, scene: WorldSettings) -> None:
        """Continue with other contracts and settings; the stored state stays."""
        ...

    async def close(self) -> None: ...


class RaceStore(MemoryStore):
    """A store in which, on request, another caller uses an approval just before it is claimed."""

    overtakes = False

    async def claim(
        self, draft: ClaimRecord, entry: Entry, approval: str | None, now: float, quotas: Quotas = NOTHING
    ) -> ClaimRecord:
        if self.overtakes and approval is not None:
            await super().claim(draft._replace(id="overtaking"), entry, approval, now)
        return await super().claim(draft, entry, approval, now, quotas)


def store_for(scene: WorldSettings, memory: RaceStore) -> Store:
    """Return the store for the settings: in memory, and failing if they say so."""
    memory.overtakes = scene.approval_overtaken
    return BrokenStore(memory, failing_at(*scene.store_fails)).as_store() if scene.store_fails else memory


def settings_of(scene: WorldSettings) -> dict[str, Any]:
    """Return what the world sets of the ports and their rules."""
    policies = PolicyEngine(parse_policies(scene.policies)) if scene.policies else None
    return {
        "policy_digest": scene.policy + (policies.digest if policies is not None else ""),
        "policies": policies,
        "critical_confirmer": scene.critical_confirmer,
        "most_pending": scene.most_pending,
        "cooldown": float(scene.cooldown),
        "limits": scene.limits,
        "budgets": scene.budgets,
        "attach": 0.0,
        "mode": scene.mode,
    }


class WorldHarness:
    """The pipeline itself, with ports in memory."""

    def __init__(self, contracts: Contracts, scene: WorldSettings, scripted: Scripted) -> None:
        self.scripted, self.clock = scripted, Clock()
        self._memory, self._ids = RaceStore(), itertools.count(1)
        self._set(contracts, scene)

    def _set(self, contracts: Contracts, scene: WorldSettings) -> None:
        self._world = World(
            contracts,
            profile=scene.profile,
            store=store_for(scene, self._memory),
            guards=tuple(build_guard(line) for line in scene.guards),
            has_test=scene.test_endpoint,
        )
        self._world.clock = self.clock
        self._world.upstream.functions = {name: self._function(name, fields) for name, fields in contracts.items()}
        self._world.but(now=self.clock, new_id=lambda: f"id-{next(self._ids)}", **settings_of(scene))

    def _function(self, name: str, fields: Mapping[str, Any]) -> Any:
        argument = (fields.get("dry_run") or {}).get("argument", "dryRun")
        rehearses = (fields.get("dry_run") or {"mode": "none"}).get("mode") != "none"

        def function(arguments: dict[str, Any]) -> Any:
            return self.scripted.respond(name, effect=not (rehearses and arguments.get(argument) is True))

        return function

    @property
    def ports(self) -> Ports:
        return self._world.ports

    async def call(self, credentials: Any, tool: str, arguments: Any, key: str | None, asks: Asks) -> Observed:
        keys = (key,) if key is not None else ()
        try:
            principal = await authenticate(as_given(credentials), tool, self.ports)
        except Refusal as refusal:
            return seen(refusal)
        request = Request(tool, arguments, principal, keys, can_ask=asks != "none")
        outcome = await self.say(request)
        if isinstance(outcome, Pause) and asks in ("accept", "decline", "cancel"):
            reply = UserAnswer(outcome.approval.id, asks)
            return replace(seen(await self.say(request._replace(reply=reply))), text=outcome.approval.text)
        return seen(outcome)

    async def say(self, request: Request) -> Outcome:
        return await govern(request, self.ports)

    async def change(self, contracts: Contracts, scene: WorldSettings) -> None:
        self._set(contracts, scene)

    async def close(self) -> None:
        self.scripted.release()


def newest(approvals: list[Approval], known: set[str]) -> str | None:
    """Return the approval that did not exist before."""
    return next((one.id for one in approvals if one.id not in known), None)
