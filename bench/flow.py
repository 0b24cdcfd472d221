"""What does flow control cost: a decision, remembering a result, and a whole call compared with flow control off?

A decision is measured one by one, with 1,000 remembered values, so that its slowest ones show. The whole call runs
through the pipeline with a store in memory. All times are CPU time.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from assent.core.call import Call, ConversationRef, Request
from assent.pipeline.govern import govern
from assent.rules.flow.control import FlowControl
from assent.testing.world import AGENT, World
from bench.calls import read_arguments, write_arguments

DECISIONS, CALLS, ROUNDS = 5_000, 1_000, 5
BAR = 1_000.0
"""Microseconds of a decision at the 99th percentile."""
USER = "Please answer Sarah Baker's mail about the Hiking Trip and invite mark.davies@hotmail.com for 12.00 at 10:00."
CONTRACTS: dict[str, dict[str, Any]] = {
    "search_mails": {"side_effect": "read"},
    "send_mail": {"side_effect": "write", "risk": "low", "labels": {"public_sink": True}},
}
MAIL = {
    "to": ["mark.davies@hotmail.com", "someone.else@example.com"],
    "subject": "The hiking trip on Saturday",
    "body": "Hello Mark,\nsee https://example.com/trip for the way. We meet at 8:00 at the island trailhead.\nEmma" * 3,
}


def mails(count: int, start: int = 0) -> dict[str, Any]:
    return {
        "structuredContent": {
            "result": [
                {
                    "id": f"m-{number}",
                    "from": f"person{number}@example.com",
                    "subject": f"Subject {number} of the week",
                    "body": f"Dear Emma, please look at https://host{number}.example.com/{number} and pay {number}.50.",
                }
                for number in range(start, start + count)
            ]
        }
    }


def world(mode: str | None) -> World:
    made = World(
        CONTRACTS, {"search_mails": lambda _: mails(20)["structuredContent"], "send_mail": lambda _: {"id": 1}}
    )
    if mode is not None:
        made.but(flow=FlowControl(mode))  # type: ignore[arg-type]
    return made


def a_call(table: World, tool: str, arguments: dict[str, Any]) -> Call:
    found = table.ports.catalogue().tools[tool]
    return Call(AGENT, found, arguments, b"", "", "", conversation=ConversationRef("bench", USER))


def measure_decisions() -> tuple[float, float, int]:
    """The median and the 99th percentile of a decision in microseconds, and how many values were remembered."""
    table, flow = world(None), FlowControl("ask")
    read, start = a_call(table, "search_mails", {}), 0
    while sum(map(len, flow.conversations(AGENT.tenant))) < 1_000:
        flow.remember(read, mails(5, start), 0.0)
        start += 5
    call, taken = a_call(table, "send_mail", MAIL), []
    for _ in range(DECISIONS):
        begun = time.thread_time()
        flow.check(call, 0.0)
        taken.append((time.thread_time() - begun) * 1e6)
    taken.sort()
    return taken[DECISIONS // 2], taken[DECISIONS * 99 // 100], len(flow.conversations(AGENT.tenant)[0])


def measure_remembering(count: int) -> float:
    """The time of remembering a result with so many mails, in microseconds."""
    table, best = world(None), float("inf")
    result = mails(count)
    for _ in range(ROUNDS):
        flow = FlowControl("observe")
        read = a_call(table, "search_mails", {})
        flow.check(read, 0.0)
        begun = time.process_time()
        flow.take(AGENT, read.conversation, read.tool, result, 0.0)
        best = min(best, (time.process_time() - begun) * 1e6)
    return best


def measure_differing(tool: str, arguments_of: Callable[[int], dict[str, Any]]) -> float:
    """The time of checking a call and remembering its result, whose values no call before had, in microseconds."""
    table, took, numbers = world(None), [], itertools.count(1_000_000)
    for _ in range(ROUNDS):
        flow = FlowControl("observe")
        calls = []
        for number in itertools.islice(numbers, CALLS // ROUNDS):
            arguments = arguments_of(number)
            call = Call(AGENT, table.ports.catalogue().tools[tool], arguments, b"", str(number), "", scratch={})
            calls.append((call, {"content": [], "structuredContent": arguments}))
        begun = time.process_time()
        for call, result in calls:
            flow.check(call, 0.0)
            flow.remember(call, result, 0.0)
        took.append((time.process_time() - begun) / len(calls) * 1e6)
    return statistics.median(took)


async def measure_call(tool: str, arguments: dict[str, Any], mode: str | None) -> float:
    """The time of a whole call through the pipeline, in microseconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        table = world(mode)
        request = Request(tool, arguments, AGENT, conversation=ConversationRef("bench", USER))
        await govern(request, table.ports)
        begun = time.process_time()
        for _ in range(CALLS // ROUNDS):
            await govern(request, table.ports)
        best = min(best, (time.process_time() - begun) / (CALLS // ROUNDS) * 1e6)
    return best


async def main() -> int:
    median, slow, remembered = measure_decisions()
    print(f"a decision with {remembered} remembered values: median {median:.0f} µs, 99th percentile {slow:.0f} µs")
    for count in (1, 20, 200):
        print(f"remembering a result with {count} mails: {measure_remembering(count):.0f} µs")
    for tool, arguments in (("search_mails", {}), ("send_mail", MAIL)):
        costs = {mode: await measure_call(tool, arguments, mode) for mode in (None, "observe")}
        print(f"a call of {tool}: {costs[None]:.0f} µs off, {costs['observe']:.0f} µs observed")
    differing = [("send_mail", write_arguments), ("search_mails", read_arguments)]
    for tool, arguments_of in differing:
        print(f"{tool} with values that differ in every call: {measure_differing(tool, arguments_of):.0f} µs in all")
    print(f"bar: a decision at the 99th percentile within {BAR:.0f} µs: {'met' if slow <= BAR else 'MISSED'}")
    return 0 if slow <= BAR else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
