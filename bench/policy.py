"""What does a policy decision cost, and does it stay flat from 20 to 1,000 policies?

Twenty policies apply to the measured tool and read its arguments. The others are about 49 other tools, tiers, servers
and kinds of principal. A call is judged as the pipeline does it: once for principal and tool, once for the arguments.
CPU time, the median of several rounds.
"""

from __future__ import annotations

import statistics
import time

from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.rules.policy.engine import PolicyEngine
from assent.rules.policy.source import parse_policies
from assent.testing import World

BAR, FLAT = 100.0, 1.5
ROUNDS, CALLS, TOOLS = 7, 2_000, 50
SCHEMA = {
    "type": "object",
    "properties": {
        "item": {"type": "string"},
        "quantity": {"type": "integer"},
        "to": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["item", "quantity"],
}
AGENT = Principal("agent", "agent", "acme", frozenset({"orders:*"}), groups=frozenset({"staff", "emea"}))
APPLYING = 20
"""Policies that apply to the measured tool, in every set."""


def policies_for(count: int) -> str:
    """Twenty policies about the measured tool, and the rest about others."""
    mine = [
        f'@id("mine-{n}") forbid (principal, action == Assent::Action::"tool_0", resource) when {{ '
        f'context.input.quantity > {1000 + n} && !principal.groups.contains("group-{n}") }};'
        for n in range(APPLYING)
    ]
    return "\n".join([*mine, *(_about_others(n) for n in range(count - APPLYING))])


def _about_others(n: int) -> str:
    scopes = (
        f'principal, action == Assent::Action::"tool_{1 + n % (TOOLS - 1)}", resource',
        'principal, action in Assent::Action::"destructive", resource',
        'principal, action, resource in Assent::Upstream::"elsewhere"',
        "principal is Assent::Service, action, resource is Assent::Tool",
        "principal, action, resource is Assent::Tool",
    )
    when = f'context.mode == "m{n}"' if n % 5 < 4 else f"resource.risk > {3 + n % 2} && context.dry_run"
    return f'@id("other-{n}") forbid ({scopes[n % 5]}) when {{ {when} }};'


def measure(engine: PolicyEngine, tool: Tool) -> float:
    """Microseconds of CPU time per decision."""
    call = Call(AGENT, tool, {"item": "pen", "quantity": 2, "to": ["ann@example.com"]}, b"", "", "")
    rounds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(CALLS):
            engine.judge_tool(AGENT, tool)
            engine.judge_call(call, 1_800_000_000.0)
        rounds.append((time.process_time() - start) / CALLS * 1e6)
    return statistics.median(rounds)


def main() -> int:
    world = World({f"tool_{n}": {"side_effect": "write", "input": SCHEMA} for n in range(TOOLS)})
    costs: dict[int, float] = {}
    for count in (20, 100, 1_000):
        start = time.process_time()
        engine = PolicyEngine(parse_policies(policies_for(count)))
        faults = engine.faults_of(world.catalogue.tools.values())
        loaded = time.process_time() - start
        tool = world.catalogue.tools["tool_0"]
        costs[count] = measure(engine, tool)
        applying = len(engine.of_tool(tool).policies)
        print(
            f"{count:5} policies, {TOOLS} tools: loaded and validated in {loaded * 1e3:4.0f} ms, {len(faults)} faults; "
            f"{applying} can apply to the tool; decision {costs[count]:5.1f} µs"
        )
    ratio = costs[1_000] / costs[20]
    held = costs[20] < BAR and ratio < FLAT
    print(f"bar: 20 policies under {BAR:.0f} µs, and at most {FLAT} times that with 1,000 ({ratio:.2f}): "
          f"{'held' if held else 'BROKEN'}")  # fmt: skip
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
