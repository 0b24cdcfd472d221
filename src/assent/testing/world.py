"""World for tests: in-memory ports, a manual clock, and a tool that records its calls."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from inspect import isawaitable
from typing import Any, cast

from assent.contract.profiles import profile as named_profile
from assent.contract.reader import read_contract
from assent.core.call import Call, Request, UserAnswer
from assent.core.catalogue import Catalogue, catalogue_of
from assent.core.outcome import Outcome, Refusal
from assent.core.principal import Principal
from assent.core.tool import compile_tool
from assent.errors import StoreError
from assent.pipeline.authenticate import authenticate
from assent.pipeline.govern import govern
from assent.pipeline.leased_effects import EffectRunner
from assent.pipeline.ports_factory import make_ports
from assent.ports import Rules, Store
from assent.rules.guards import GuardRule
from assent.stores.memory import MemoryStore

WRITES = ("claim", "admit", "retake", "mark_in_doubt", "settle", "extend", "ask", "decide", "put_document", "append")
READS = ("claim_by_id", "wait_until_ended", "approval", "approval_for", "document")

Fails = Callable[[str, int], bool]


class BrokenStore:
    """A store that refuses chosen operations before anything is written.

    `fails` gets the operation's name and its position; `operations` lists all attempts.
    """

    def __init__(self, inner: Store, fails: Fails) -> None:
        self.inner, self.fails = inner, fails
        self.operations: list[str] = []

    def as_store(self) -> Store:
        return cast("Store", self)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in WRITES + READS:
            return method
        return self._sync(name, method) if name == "append" else self._async(name, method)

    def _count_or_fail(self, name: str) -> None:
        before = len(self.operations)
        self.operations.append(name)
        if self.fails(name, before):
            raise StoreError(f"the store failed at {name}")

    def _sync(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call_or_fail(*args: Any, **kwargs: Any) -> Any:
            self._count_or_fail(name)
            return method(*args, **kwargs)

        return call_or_fail

    def _async(self, name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(method)
        async def call_or_fail(*args: Any, **kwargs: Any) -> Any:
            self._count_or_fail(name)
            return await method(*args, **kwargs)

        return call_or_fail


def failing_at(*names: str) -> Fails:
    """Fail every operation with one of these names."""
    return lambda name, _: name in names


def failing_nth(n: int) -> Fails:
    """Fail the n-th operation, counted from zero."""
    return lambda _, before: before == n


Function = Callable[[dict[str, Any]], Any]
"""A tool: takes arguments; returns a result, its structured part, an exception or an awaitable."""


@dataclass(slots=True)
class Clock:
    """A clock that moves only when told to."""

    at: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += seconds


@dataclass(slots=True)
class FakeUpstream:
    """An in-memory upstream with a log of effects, and a separate one of previews and reads."""

    functions: dict[str, Function] = field(default_factory=dict)
    effects: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)
    previews: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    reads: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        arguments = dict(call.arguments)
        if call.dry_run:
            self.previews.append((call.tool.name, arguments))
        else:
            self.effects.append((call.tool.name, arguments, key))
        return await self._result(call.tool.name, arguments)

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        self.reads.append((tool, dict(arguments)))
        return await self._result(tool, dict(arguments))

    async def _result(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        function = self.functions.get(tool)
        given = function(arguments) if function else {"ok": True}
        if isawaitable(given):
            given = await given
        if isinstance(given, BaseException):
            raise given
        whole = isinstance(given, dict) and ("content" in given or "resultType" in given)
        return given if whole else {"content": [], "structuredContent": given}


async def as_given(credentials: Any) -> Principal:
    """Authenticator for tests: the credentials are the principal."""
    if credentials is None:
        raise Refusal("authenticate.missing")
    if not isinstance(credentials, Principal):
        raise Refusal("authenticate.invalid")
    return credentials


AGENT = Principal("agent", "agent", scopes=frozenset({"*"}), asks="person")
ANN = Principal("ann", "human", scopes=frozenset({"*"}), roles=frozenset({"approver"}))


class World:
    """Everything the pipeline needs, in memory."""

    def __init__(
        self,
        contracts: Mapping[str, Mapping[str, Any]],
        functions: Mapping[str, Function] | None = None,
        *,
        profile: str = "spec",
        store: Store | None = None,
        guards: tuple[GuardRule, ...] = (),
        mode: Any = "enforce",
        has_test: bool = False,
    ) -> None:
        self.clock = Clock()
        self.store: Store = store or MemoryStore()
        self.upstream = FakeUpstream(dict(functions or {}))
        self._profile, self._has_test = profile, has_test
        self.deploy(contracts)
        self.work = EffectRunner(self.store, self.clock)
        ids = itertools.count(1)
        self.ports = make_ports(
            self.store,
            lambda: self.catalogue,
            upstream=self.upstream,
            now=self.clock,
            new_id=lambda: f"id-{next(ids)}",
            work=self.work,
            derive_key=lambda claim: f"key-of-{claim[:8]}",
            rules=Rules(mode=mode, guards=guards),
            attach=0.0,
        )

    def deploy(self, contracts: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace the contracts."""
        self.catalogue: Catalogue = catalogue_of(
            compile_tool(
                read_contract(name, fields),
                profile=named_profile(self._profile),
                upstream="test",
                has_test=self._has_test,
            )
            for name, fields in contracts.items()
        )

    async def call(
        self,
        tool: str,
        arguments: Any = None,
        *,
        by: Principal | None = AGENT,
        key: str | None = None,
        reply: UserAnswer | None = None,
        can_ask: bool = False,
    ) -> Outcome:
        """Run one request through the whole pipeline."""
        keys = (key,) if key is not None else ()
        try:
            principal = await authenticate(as_given(by), tool, self.ports)
        except Refusal as refusal:
            return refusal
        return await govern(Request(tool, arguments, principal, keys, reply, can_ask=can_ask), self.ports)

    def but(self, **changes: Any) -> None:
        """Change some of the ports or of their rules."""
        self.ports = self.ports.but(**changes)
