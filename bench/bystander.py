"""How long does a small call wait while others send calls that are costly to check? `python -m bench.bystander`

One gateway has every guard and mask, each on a tool of its own. Two callers send that tool ten large calls a second;
a bystander makes small calls with two durable writes. Windows take turns: quiet, the same large calls to a tool
without a guard, and with the guard. A row shows the bystander's p99 of all its windows, and what the guard adds to the
large call itself. Waits are wall time: read the ratio to the quiet windows of the same row, on a calm machine. On a
busy one, `added` still says what the guard adds: its windows by those of the same calls without a guard.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from typing import Any

from assent.rules.guards import build_guard, rule_class, rule_names
from bench.calls import post, writes
from bench.processes import Served, serve, server

SQL = "SELECT " + ", ".join(f"a{number}" for number in range(1_200)) + " FROM t"
MAIL = "Dear Ann, write to ann.lee@example.com or call +49 30 1234567 about https://example.com/a?b=c today.\n"
BARE = "tool_90"
"""The last tool that the server lists. No guard is placed on it."""
BAR = 2.0
PACE = 0.1
"""Seconds between two large calls of a caller."""


def heavy(kilobytes: int) -> dict[str, Any]:
    """Values that are costly to check, by what they are."""
    size = kilobytes * 1000
    return {
        "mail": MAIL * (size // len(MAIL)),
        **{f"SQL {number}": f"{SQL} WHERE x = {number}" for number in range(32)},
        "hosts": [f"https://h{number}.example.com/" for number in range(size // 30)],
        "numbers": list(range(min(90_000, size // 6))),
    }


_MASKS = (
    *({"rule": name} for name in ("personal_data", "payment_data", "secrets")),
    {"rule": "block_patterns", "patterns": ["INV-[0-9]{6}"]},
    {"rule": "content_types", "types": ["text", "structured"]},
    {"rule": "forbid_fields", "fields": ["mail"]},
)


def guards() -> list[dict[str, Any]]:
    """Every guard, with the options of its examples, and every mask."""
    rules = [{"rule": name, **rule_class(name).examples.options} for name in rule_names()]
    rules = [{**one, "calls": 1_000_000} if one["rule"] == "call_rate" else one for one in rules]
    masks = [{**one, "action": "mask"} for one in _MASKS]
    assert {one["rule"] for one in masks} == {name for name in rule_names() if rule_class(name).masks}
    return [*rules, *masks]


def kinds_of(rule: dict[str, Any]) -> list[str]:
    return (
        [f"SQL {number}" for number in range(32)] if rule["rule"].startswith("sql_") else ["mail", "hosts", "numbers"]
    )


def field_of(rule: dict[str, Any]) -> str:
    built = build_guard(rule)
    return (built.fields or built.usual_fields or ("text",))[0].strip("/").split("/")[0]


async def answer(reader: asyncio.StreamReader) -> None:
    """Read one answer; one that takes long comes in chunks."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"content-length: " in head:
        await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        return
    while size := int(await reader.readuntil(b"\r\n"), 16):
        await reader.readexactly(size + 2)
    await reader.readuntil(b"\r\n")


async def waits(port: int, calls: int) -> list[float]:
    """The bystander's waits, in milliseconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    found = []
    for request, _ in itertools.islice(writes(0), calls):
        begun = time.perf_counter()
        writer.write(request)
        await answer(reader)
        found.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(0.002)
    writer.close()
    return found


async def attack(port: int, requests: list[bytes], took: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    with suppress(asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError):
        for request in itertools.cycle(requests):
            begun = time.perf_counter()
            writer.write(request)
            await answer(reader)
            took.append((time.perf_counter() - begun) * 1000)
            await asyncio.sleep(max(0.0, begun + PACE - time.perf_counter()))
    writer.close()


async def window(port: int, requests: list[bytes], calls: int, took: list[float]) -> list[float]:
    """The bystander's waits while two callers send these requests; none if there are none."""
    attackers = [asyncio.create_task(attack(port, requests, took)) for _ in range(2 if requests else 0)]
    await asyncio.sleep(0.1)
    found = await waits(port, calls)
    for one in attackers:
        one.cancel()
    await asyncio.gather(*attackers, return_exceptions=True)
    return found


@contextmanager
def _quietly(url: str, placed: list[dict[str, Any]]) -> Iterator[Served]:
    """The gateway, without its warnings that the tools of the bench do not declare the fields."""
    with redirect_stderr(io.StringIO()), serve(url, guards=placed) as served:
        yield served


def p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)] if values else 0.0


async def run(calls: int, rounds: int, kilobytes: int, only: str) -> int:
    rules, values, slow = guards(), heavy(kilobytes), []
    placed = [{**rule, "match": {"tool": f"tool_{number}"}} for number, rule in enumerate(rules)]
    with server("echo") as (_, upstream), _quietly(f"http://127.0.0.1:{upstream}/mcp", placed) as served:
        await waits(served.port, 50)
        print(
            f"{'p99 of a bystander, ms':<28}{'quiet':>8}{'no guard':>10}{'guard':>8}{'ratio':>7}{'added':>7}"
            f"{'large call':>12}"
        )
        for number, rule in enumerate(rules):
            if only not in rule["rule"]:
                continue
            field = field_of(rule)
            calls_to = {
                tool: [
                    post(
                        "tools/call", {"name": tool, "arguments": {"a": "x", field: values[kind]}}, f"Mcp-Name: {tool}"
                    )
                    for kind in kinds_of(rule)
                ]
                for tool in (BARE, f"tool_{number}")
            }
            quiet, bare, guarded, took = [], [], [], list[float]()
            for _ in range(rounds):
                quiet += await window(served.port, [], calls, [])
                bare += await window(served.port, calls_to[BARE], calls, [])
                guarded += await window(served.port, calls_to[f"tool_{number}"], calls, took)
            ratio = p99(guarded) / p99(quiet)
            title = f"{'mask ' if rule.get('action') == 'mask' else ''}{rule['rule']}"
            median = sorted(took)[len(took) // 2] if took else 0.0
            print(
                f"{title:<28}{p99(quiet):8.1f}{p99(bare):10.1f}{p99(guarded):8.1f}{ratio:7.2f}"
                f"{p99(guarded) / p99(bare):7.2f}{median:12.0f}",
                flush=True,
            )
            slow += [title] if ratio > BAR else []
    print(f"load {os.getloadavg()[0]:.1f}; bar {BAR}: {'above it: ' + ', '.join(slow) if slow else 'all within it'}")
    return 1 if slow else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100, help="calls of the bystander per window")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--kilobytes", type=int, default=40, help="size of a large call")
    parser.add_argument("--only", default="", help="guards whose name contains this")
    options = parser.parse_args()
    return asyncio.run(run(options.calls, options.rounds, options.kilobytes, options.only))


if __name__ == "__main__":
    raise SystemExit(main())
