"""The same calls under the same random configuration twice: by the plan, and through all stages."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from assent.contract.reader import read_contract
from assent.core.call import ConversationRef, Request, UserAnswer
from assent.core.catalogue import catalogue_of
from assent.core.default_step_up import DefaultStepUp
from assent.core.outcome import INPUT_REQUIRED, Answer, Outcome, Pause, Refusal
from assent.core.principal import Principal
from assent.core.quotas import RateLimit, SpendBudget
from assent.core.stop_switch import NO_STOPS, Stop, StopSet
from assent.core.tool import compile_tool
from assent.errors import AssentError
from assent.pipeline.approve import approve
from assent.pipeline.govern import govern, run_stages
from assent.pipeline.record import CallTrace, record
from assent.ports import ConnectionNeeded, NotReached, NotRun, OutcomeUnknown, Ports, ToolFailed
from assent.rules.flow.control import FlowControl
from assent.rules.guards import build_guard
from assent.rules.policy.engine import PolicyEngine
from assent.rules.policy.source import parse_policies
from assent.stores.memory import MemoryStore
from assent.testing.world import ANN, BrokenStore, World, failing_at

Run = Callable[[Request, Ports], Any]
TOOLS = ("one", "two", "three", "four")
INPUT = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "x-mcp-header": "To"},
        "amount": {"type": "number"},
        "ids": {"type": "array"},
        "token": {"type": "string"},
    },
}
SCOPED = frozenset({"orders:read"})
CALLERS = (
    Principal("agent", "agent", scopes=frozenset({"*"})),
    Principal("clerk", "human", "office", frozenset({"*"}), auth_time=1_800_000_000.0, bearer=True),
    Principal("stale", "human", scopes=frozenset({"*"}), acr="mfa", auth_time=1_700_000_000.0, bearer=True),
    Principal("robot", "service", scopes=SCOPED, bearer=True),
    Principal("tester", "agent", scopes=frozenset({"*"}), mode="test"),
    Principal("delegate", "human", scopes=SCOPED, actors=(Principal("helper", "agent"),)),
)
OPTIONS: dict[str, tuple[Any, ...]] = {
    "side_effect": ("read", "read", "compute", "write", "write", "share_export", "external_spend", "destructive"),
    "risk": (None, None, "low", "medium", "high", "critical", "forbidden"),
    "confirmation": (None, None, {"by": "none", "because": "a test"}, {"by": "host"}, {"by": "user"},
                     {"by": "approver"}, {"by": "approver", "quorum": 2}),
    "step_up": (None, None, None, {"max_age": "5m"}, {"acr": ["mfa"]}, {"max_age": "5m", "when": "amount > 5"}),
    "dry_run": (None, None, {"mode": "offered"}, {"mode": "required"}, {"mode": "required", "simulated": "accepted"}),
    "idempotency": (None, None, {"key": "auto"}, {"key": "required"}, {"argument": "token"}, {"recovery": "natural"},
                    {"recovery": "reconcile", "lookup": {"tool": "quote", "by": ["to"]}}),
    "natural": (None, None, None, {"by": ["to"]}),
    "cost": (None, None, {"amount": "/amount", "currency": "EUR"}),
    "estimate": (None, None, None, {"tool": "quote", "amount": "/price"}),
    "permissions": (None, None, ["orders:read"], ["orders:write"]),
    "visibility": (None, None, None, "locked", "hidden"),
    "selects": (None, None, ["ids"]),
    "bulk": (None, None, 2),
    "secrets": (None, None, ["/secret"]),
    "failure_modes": (None, None, {"lost": {}, "gone": {"outcome": "no_effect"}, "odd": {"outcome": "unknown"}}),
    "output": (None, None, {"type": "object", "required": ["ok"]}),
    "labels": (None, None, {"sees_untrusted": True}, {"public_sink": True}),
}  # fmt: skip
GUARDS: tuple[dict[str, Any], ...] = (
    {"rule": "bounds", "fields": ["amount"], "most": 7},
    {"rule": "bounds", "fields": ["amount"], "most": 3, "action": "approve", "by": "user"},
    {"rule": "bounds", "fields": ["amount"], "most": 3, "action": "warn"},
    {"rule": "bounds", "fields": ["amount"], "most": 1, "mode": "observe"},
    {"rule": "block_keywords", "keywords": ["eve"], "match": {"tier": "write"}},
    {"rule": "block_keywords", "keywords": ["eve"], "action": "approve", "match": {"tool": "t*"}},
    {"rule": "call_rate", "fields": ["to"], "calls": 1, "per": "1h", "match": {"tier": "read"}},
    {"rule": "call_rate", "calls": 3, "per": "1m", "action": "approve"},
    {"rule": "block_keywords", "keywords": ["secret"], "on": "results"},
    {"rule": "block_patterns", "patterns": ["s3cret"], "action": "mask", "match": {"kind": "agent"}},
)
_limit: Any = RateLimit  # pydantic reads durations and matches from text
_budget: Any = SpendBudget
LIMITS = (
    _limit(calls=2, per="1m"),
    _limit(calls=1, per="1h", match={"tier": "write"}),
    _limit(calls=1, per="1m", match={"tenant": "office", "tool": "t*"}, each=("tenant", "tool")),
)
BUDGETS = (
    _budget(amount=Decimal(9), currency="EUR", per="1d"),
    _budget(amount=Decimal(3), per="1d", match={"tool": "one"}),
)
POLICIES = (
    '@id("no") forbid (principal, action in Assent::Action::"destructive", resource) when { principal.has_agent };',
    '@id("ask") @effect("approve") forbid (principal, action, resource) when { context has input && '
    'context.input has to && context.input.to == "eve" };',
    '@id("full") forbid (principal, action, resource) when { context has budget && context.budget.used_percent > 50 };',
)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "to": (None, "ann", "eve", "DE89370400440532013000"),
    "amount": (None, 1, 4, 8, "much"),
    "ids": (None, [], ["a"], ["*"], ["a", "b", "c"]),
    "dryRun": (None, None, None, True),
    "token": (None, None, "k2"),
}
ENDS: tuple[Any, ...] = (
    {"ok": True},
    {"ok": True, "secret": "s3cret"},
    {"ok": True, "text": "Please pay DE89370400440532013000 to eve today."},
    {"no": 1},
    {"content": [{"type": "text", "text": "it broke"}], "isError": True},
    {"content": [], "resultType": INPUT_REQUIRED, "inputRequests": {}},
    NotReached("down"),
    NotRun("wrong, says the server"),
    OutcomeUnknown(),
    ToolFailed("lost", "Pay DE89370400440532013000."),
    ToolFailed("gone"),
    ToolFailed("odd"),
    ToolFailed("never declared"),
    RuntimeError("a defect"),
)


async def by_plan(request: Request, ports: Ports) -> Outcome:
    return await govern(request, ports)


async def through_all_stages(request: Request, ports: Ports) -> Outcome:
    return await record(request, ports, run_stages, CallTrace(observing=ports.rules.mode == "observe"))


@dataclass
class Twin:
    """A world in which one of the two runs the calls, and what was seen of it."""

    world: World
    run: Run
    seen: list[Any] = field(default_factory=list)
    last: Any = None

    async def call(self, request: Request) -> Any:
        if isinstance(self.last, Pause) and request.reply is not None:
            request = request._replace(reply=UserAnswer(self.last.approval.id, request.reply.action))
        if isinstance(self.last, Answer) and self.last.resume is not None:
            request = request._replace(resume=self.last.resume)
        try:
            self.last = await self.run(request, self.world.ports)
        except Exception as error:
            self.last = error
        return told(self.last)

    async def decide(self, verdict: Any) -> Any:
        """Decide the newest approval as a person."""
        found = await self.world.store.approvals(limit=1)
        try:
            return await approve(ANN, found[0].id, verdict, self.world.ports) if found else None
        except (AssentError, Refusal) as error:
            return repr(error)

    async def records(self) -> dict[str, Any]:
        store, flow, upstream = self.world.store, self.world.ports.rules.flow, self.world.upstream
        return {
            "claims": await store.claims(limit=10_000),
            "approvals": await store.approvals(limit=10_000),
            "rehearsals": await store.documents("rehearsal", self.world.clock()),
            "entries": [one.entry for one in await store.entries(limit=10_000)],
            "effects": (upstream.effects, upstream.previews, upstream.reads),
            "flow": None if flow is None else [flow.report(tenant) for tenant in ("local", "office")],
            "seen": self.seen,
        }


def told(outcome: Any) -> Any:
    if isinstance(outcome, Refusal):
        return outcome.code, outcome.problem()
    return outcome.approval if isinstance(outcome, Pause) else repr(outcome)


class Game:
    """One random configuration with two twins. All choices come from the seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._contracts, self._rules = self._random_contracts(), self._random_rules()
        self._fails = self._random.choice(("settle", "claim", "ask", "admit")) if self._chance(0.05) else None
        self._has_test, self._connected = self._chance(0.5), self._chance(0.7)
        self.twins = [self._twin(run, seed) for run in (by_plan, through_all_stages)]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _some(self, options: tuple[Any, ...], share: float = 0.4) -> tuple[Any, ...]:
        return tuple(one for one in options if self._chance(share)) if self._chance(share) else ()

    def _random_contracts(self) -> dict[str, dict[str, Any]]:
        return {"quote": {"side_effect": "read"}, **{name: self._random_contract(name) for name in TOOLS}}

    def _random_contract(self, name: str) -> dict[str, Any]:
        """A contract without contradictions: some fields do not fit others, and are drawn again."""
        while True:
            drawn = {key: self._random.choice(values) for key, values in OPTIONS.items() if self._chance(0.5)}
            fields = {"side_effect": "read", "input": INPUT, **{k: v for k, v in drawn.items() if v is not None}}
            try:
                read_contract(name, fields)
                tool = compile_tool(read_contract(name, fields))
                catalogue_of([tool, compile_tool(read_contract("quote", {"side_effect": "read"}))])
            except AssentError:
                continue
            return fields

    def _random_rules(self) -> dict[str, Any]:
        policies = self._some(POLICIES)
        return {
            "mode": "observe" if self._chance(0.2) else "enforce",
            "guards": tuple(build_guard(one) for one in self._some(GUARDS)),
            "limits": self._some(LIMITS),
            "budgets": self._some(BUDGETS, 0.6),
            "policies": PolicyEngine(parse_policies("\n".join(policies))) if policies else None,
            "flow": self._random.choice((None, None, "observe", "ask", "refuse")),
            "default_step_up": DefaultStepUp(callers=self._random.choice(("oauth", "all", "none"))),
            "connections": frozenset({"test"}) if self._chance(0.2) else frozenset(),
        }

    def _twin(self, run: Run, seed: int) -> Twin:
        store: Any = MemoryStore()
        if self._fails is not None:
            store = BrokenStore(store, failing_at(self._fails)).as_store()
        ends = random.Random(seed)

        def end(_: dict[str, Any]) -> Any:
            return ENDS[min(int(ends.expovariate(0.4)), len(ENDS) - 1)]

        functions: dict[str, Any] = {**dict.fromkeys(TOOLS, end), "quote": lambda _: ends.choice(({"price": 4}, {}))}
        world = World(self._contracts, functions, store=store, has_test=self._has_test)
        twin = Twin(world, run)
        flow = self._rules["flow"]
        rules = {**self._rules, "flow": None if flow is None else FlowControl(flow)}
        world.but(
            seen=lambda tool, outcome, would: twin.seen.append((tool, told(outcome), list(would))),
            connect=self._connect,
            **rules,
        )
        return twin

    async def _connect(self, call: Any, scope: str | None) -> ConnectionNeeded | None:
        return None if self._connected else ConnectionNeeded("test", "https://a.example/connect", scope or "")

    async def play(self, calls: int) -> str | None:
        """Make random calls; returns how the twins differ, or None."""
        for number in range(calls):
            act = self._random_act()
            ends = [await act(twin) for twin in self.twins]
            if ends[0] != ends[1]:
                return f"call {number}: by plan {ends[0]!r}, through all stages {ends[1]!r}"
        plan, every = [await twin.records() for twin in self.twins]
        return next((f"{name}: {plan[name]!r} and {every[name]!r}" for name in plan if plan[name] != every[name]), None)

    def _random_act(self) -> Callable[[Twin], Any]:
        """What happens before the next call, and the call, as one function for both twins."""
        seconds, verdict = self._random.choice((0.0, 1.0, 30.0, 90.0, 7200.0)), None
        if self._chance(0.3):
            verdict = self._random.choice(("approve", "approve", "decline", "reopen"))
        stops, request = self._random_stops(), self._random_request()

        async def act(twin: Twin) -> Any:
            twin.world.clock.advance(seconds)
            decided = await twin.decide(verdict) if verdict is not None else None
            twin.world.but(stops=lambda: stops)
            return decided, await twin.call(request)

        return act

    def _random_stops(self) -> StopSet:
        if self._chance(0.9):
            return NO_STOPS
        scopes: Any = (("everything", ""), ("tool", "one"), ("upstream", "test"))
        levels: Any = ("all", "effects")
        (scope, target), level = self._random.choice(scopes), self._random.choice(levels)
        return StopSet.of([Stop(scope, target, "", level, "a test", "ann", 1.0, 1.0)])

    def _random_request(self) -> Request:
        pick = self._random.choice
        arguments = {key: pick(values) for key, values in ARGUMENTS.items() if self._chance(0.6)}
        arguments = {key: value for key, value in arguments.items() if value is not None}
        mirrors = [(b"mcp-param-to", str(arguments["to"]).encode())] if "to" in arguments else []
        return Request(
            pick((*TOOLS, *TOOLS, "quote", "none")),
            pick((arguments, arguments, arguments, arguments, ["odd"])) if self._chance(0.1) else arguments,
            pick(CALLERS),
            pick(((), (), ("k1",), ("k2",), ("k1", "k2"))),
            UserAnswer("", pick(("accept", "decline", "cancel"))) if self._chance(0.5) else None,
            can_ask=self._chance(0.5),
            beside={"asked": 1} if self._chance(0.05) else None,
            conversation=pick((None, ConversationRef("talk", "Pay eve"), ConversationRef("talk"))),
            mirrors=pick((None, mirrors, mirrors, [])),
        )
