"""Measures how many of AgentDojo's attacks pass each gate, and what each gate costs: `python -m bench.agentdojo`."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from bench.agentdojo.attacks import ADAPTIVE
from bench.agentdojo.conversation import ORDERS, Outcome, Variant, converse
from bench.agentdojo.gates import GATES, agent_key, contracts_of, gateway
from bench.agentdojo.report import Score, explain, last_line, table

SUITES = ("workspace", "travel", "banking", "slack")


@asynccontextmanager
async def environment_server(text_only: bool) -> AsyncIterator[str]:
    command = [sys.executable, "-m", "bench.agentdojo.environments", *(["--text-only"] if text_only else [])]
    running = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert running.stdout is not None
    try:
        port = (await running.stdout.readline()).decode().strip()
        if not port:
            raise SystemExit("The environment server did not start; its message is above.")
        yield f"http://127.0.0.1:{port}"
    finally:
        running.terminate()
        await running.wait()


def conversations(name: str, suite: dict[str, Any], limit: int | None, disguises: list[str]) -> Iterator[Outcome]:
    """The clean tasks, then each pair in both orders, then each disguise in the order that hides it best."""
    users = suite["users"][:limit]
    for user in users:
        yield Outcome(name, user, None, ORDERS[0], "plain")
    for user in users:
        for injection in suite["injections"]:
            for order in ORDERS:
                yield Outcome(name, user, injection, order, "plain")
    for disguise in disguises:
        for user in users:
            for injection in suite["injections"]:
                yield Outcome(name, user, injection, ORDERS[0], disguise)


async def run_suite(
    http: httpx2.AsyncClient,
    environments: str,
    gate: str,
    name: str,
    suite: dict[str, Any],
    planned: list[Outcome],
    variant: Variant,
) -> list[Outcome]:
    """All conversations of a suite, one after the other: they share its environment."""
    async with gateway(gate, suite["contracts"], f"{environments}/{name}/mcp", len(planned)) as address:
        return [
            await converse(http, environments, address, agent_key(number), f"{name}-{number}", one, variant)
            for number, one in enumerate(planned)
        ]


async def run(options: argparse.Namespace) -> dict[str, Score]:
    scores = {}
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)  # so that the processes end too
    async with environment_server(options.text_only) as environments, httpx2.AsyncClient(timeout=60) as http:
        tasks = (await http.get(f"{environments}/tasks")).raise_for_status().json()
        for suite in tasks.values():
            suite["contracts"] = contracts_of(suite["tools"])
        variant = Variant(not options.without_user_text, options.utility_under_attack, options.hooks)
        for gate in options.gate or GATES:
            started = time.monotonic()
            disguises = list(options.disguise or ADAPTIVE) if gate in options.adaptive else []
            plans = {name: list(conversations(name, tasks[name], options.limit, disguises)) for name in options.suite}
            runs = [
                run_suite(http, environments, gate, name, tasks[name], plan, variant) for name, plan in plans.items()
            ]
            scores[gate] = Score([one for outcomes in await asyncio.gather(*runs) for one in outcomes])
            print(f"{gate}: {sum(map(len, plans.values()))} conversations in {time.monotonic() - started:.0f} s")
    return scores


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.agentdojo", description=__doc__)
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this suite; may be repeated")
    parser.add_argument("--gate", action="append", choices=GATES, help="only this gate; may be repeated")
    parser.add_argument("--limit", type=int, help="only the first N tasks of users of each suite")
    parser.add_argument(
        "--adaptive", action="append", choices=GATES, help="the gates that meet the adaptive attacker [provenance]"
    )
    parser.add_argument("--disguise", action="append", choices=ADAPTIVE, help="only this disguise; may be repeated")
    parser.add_argument("--no-adaptive", action="store_true", help="leave the adaptive attacker out")
    parser.add_argument("--without-user-text", action="store_true", help="the client does not pass on the user's words")
    parser.add_argument(
        "--hooks", action="store_true", help="the user's words come by a hook, as coding agents send them"
    )
    parser.add_argument("--text-only", action="store_true", help="results without structured content")
    parser.add_argument(
        "--utility-under-attack", action="store_true", help="judge the user's task in attacked conversations too (slow)"
    )
    parser.add_argument(
        "--explain", type=Path, metavar="FILE", help="write what got through and what was asked, and why"
    )
    options = parser.parse_args()
    if importlib.util.find_spec("agentdojo") is None:
        print(
            "This bench needs AgentDojo: run `make agentdojo`, or `pip install -c constraints.txt --group agentdojo`.",
            file=sys.stderr,
        )
        return 2
    options.suite = options.suite or SUITES
    options.adaptive = [] if options.no_adaptive else options.adaptive or ["provenance"]
    try:
        scores = asyncio.run(run(options))
    except asyncio.CancelledError:
        print("Stopped.", file=sys.stderr)
        return 130
    if options.explain:
        lines = [line for gate, score in scores.items() for line in explain(gate, score)]
        options.explain.write_text("\n".join([*lines, ""]))
    print("", *table(scores), "", sep="\n")
    for gate, score in scores.items():
        print(last_line(gate, score))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
