"""What does deciding about one call cost, without any I/O?

Every stage that decides is run on a call of five arguments: discover, authorize, validate (schema, canonical form,
digest), guard, rehearse, confirm's question whether to ask, step_up. The store is in memory; the tool returns at once.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from assent.contract.documents import short_json
from assent.core.call import Request
from assent.core.principal import Principal
from assent.pipeline.authorize import authorize
from assent.pipeline.confirm import ambiguous, asked_by
from assent.pipeline.discover import discover
from assent.pipeline.govern import govern
from assent.pipeline.guard import guard
from assent.pipeline.record import CallTrace
from assent.pipeline.step_up import step_up
from assent.pipeline.validate import validate
from assent.rules.guards import build_guard
from assent.testing import World

BAR = 60.0
ROUNDS, CALLS = 7, 5_000
SCHEMA = {
    "type": "object",
    "properties": {
        "item": {"type": "string"},
        "quantity": {"type": "integer", "minimum": 1},
        "to": {"type": "array", "items": {"type": "string"}},
        "note": {"type": "string"},
        "express": {"type": "boolean"},
    },
    "required": ["item", "quantity"],
    "additionalProperties": False,
}
ARGUMENTS = {
    "item": "archive scene",
    "quantity": 2,
    "to": ["ann@example.com"],
    "note": "leave at door",
    "express": True,
}
AGENT = Principal("agent", "agent", scopes=frozenset({"orders:*", "mail:send"}))
CONTRACTS: dict[str, dict[str, Any]] = {
    "read": {"side_effect": "read", "permissions": ["orders:read"], "input": SCHEMA},
    "write": {
        "side_effect": "write",
        "permissions": ["orders:write", "mail:send"],
        "input": SCHEMA,
        "selects": ["item"],
        "bulk": 100,
        "step_up": {"acr": ["mfa"], "when": "quantity > 100"},
    },
}
GUARDS = (
    build_guard({"rule": "allow_domains", "domains": ["example.com"]}),
    build_guard({"rule": "bounds", "fields": ["quantity"], "most": 50}),
    build_guard({"rule": "block_keywords", "keywords": ["password"]}),
)


async def measure(run: Callable[[], Awaitable[Any]]) -> float:
    """Microseconds per call, the median of several rounds of CPU time."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(CALLS):
            await run()
        rounds.append((time.process_time() - start) / CALLS * 1e6)
    return statistics.median(rounds)


async def decide(world: World, tool: str) -> None:
    request = Request(tool, ARGUMENTS, AGENT)
    journal = CallTrace()
    found = discover(request, AGENT, world.ports, journal)
    authorize(request, AGENT, found, world.ports.rules, journal)
    call = validate(request, AGENT, found, journal, short_json(request.arguments))
    guard(call, world.ports, journal)
    asked_by(call, ambiguous(found.contract, call.arguments), world.ports.rules)
    step_up(call, world.ports, journal)


async def main() -> int:
    worst = 0.0
    for tool in CONTRACTS:
        world = World(CONTRACTS, guards=GUARDS)

        async def deciding(world: World = world, tool: str = tool) -> None:
            await decide(world, tool)

        async def whole(world: World = world, tool: str = tool) -> None:
            await govern(Request(tool, ARGUMENTS, AGENT), world.ports)

        decided, governed = await measure(deciding), await measure(whole)
        worst = max(worst, decided)
        print(f"{tool:6} deciding {decided:6.1f} µs   whole sentence, store in memory {governed:6.1f} µs")
    print(f"bar: deciding under {BAR:.0f} µs: {'held' if worst < BAR else 'BROKEN'}")
    return 0 if worst < BAR else 1


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
