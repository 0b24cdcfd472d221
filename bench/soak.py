"""A gateway under modest load for a long time: do memory, descriptors, threads and latency stay flat?

    python -m bench.soak [--minutes 30] [--rate 40] [--store sqlite|postgres] [--out .cache/soak]

The gateway is the real command. It gets writes with keys, repeats of them, reads, lists, calls that are refused, and
sessions of the handshake era that open, call and end. Every answer is checked. A sample each few seconds goes to
`soak.csv`; `soak.svg` shows the curves. It ends with 1 if something grew: the slope is the median of the slopes between
all samples after the first fifth, so that single outliers of a busy machine do not count.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import os
import sys
import time
from collections.abc import Awaitable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import orjson

from bench.calls import META, VERSION, write_arguments
from bench.charts import Panel, line_charts
from bench.processes import KEY, Served, postgres, serve, server
from bench.servers import READS
from bench.turns import growth

HANDSHAKE = "2025-11-25"
MOST_GROWTH = {"rss_mb": 1.04, "descriptors": 1.05, "threads": 1.01, "times_echo": 1.5}
"""By what factor a figure may grow in the measured part."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Sample:
    minute: float
    calls: int
    rss_mb: float
    descriptors: int
    threads: int
    p50_ms: float
    p99_ms: float
    echo_ms: float
    """What the server behind the gateway takes without it, at the median: it shows what the machine adds of itself."""
    store_mb: float
    load: float

    @property
    def times_echo(self) -> float:
        return self.p50_ms / (self.echo_ms or 1.0)


@dataclass
class Traffic:
    """What the clients did so far."""

    url: str
    echo: str
    client: httpx2.AsyncClient
    calls: int = 0
    waits: list[float] = field(default_factory=list)
    echo_waits: list[float] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    async def step(self, number: int) -> None:
        """One of twenty kinds of steps, in turn."""
        kind = number % 20
        if kind == 19:
            await self._session()
            await self._ask_echo()
        elif kind == 18:
            await self._expect(READS[-1].encode(), self._post("tools/list", {}))
        elif kind == 17:
            await self._expect(b"validate.", self._call("echo", {"a": "no number"}))
        elif kind >= 13:
            await self._expect(b'"b":"read"', self._call("tool_1", {"a": "7", "b": "read"}))
        elif kind >= 11:
            key = f"soak {number - kind}"  # the key of the first step of these twenty
            await self._expect(b"dev.assent/replayed", self._call("echo", write_arguments(number - kind), key))
        else:
            await self._expect(b'"b":"Order', self._call("echo", write_arguments(number), f"soak {number}"))

    async def _expect(self, said: bytes, answer: Awaitable[bytes]) -> None:
        found = await answer
        assert said in found, found

    async def _call(self, tool: str, arguments: dict[str, Any], key: str | None = None) -> bytes:
        named = {"mcp-name": tool} | ({"idempotency-key": orjson.dumps(key).decode()} if key else {})
        return await self._post("tools/call", {"name": tool, "arguments": arguments}, **named)

    async def _post(self, method: str, params: dict[str, Any], **headers: str) -> bytes:
        body = {"jsonrpc": "2.0", "id": next(self.numbers), "method": method, "params": {**params, "_meta": META}}
        return await self._send(body, {"mcp-protocol-version": VERSION, "mcp-method": method, **headers})

    async def _session(self) -> None:
        """A client of the handshake era: opens a session, calls, and ends it."""
        who = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        opened = await self.client.post(self.url, json=_rpc(1, "initialize", who))
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": HANDSHAKE}
        await self.client.post(
            self.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session
        )
        body = _rpc(2, "tools/call", {"name": "tool_2", "arguments": {"a": "7", "b": "session"}})
        await self._expect(b'"b":"session"', self._send(body, session))
        ended = await self.client.delete(self.url, headers=session)
        assert ended.status_code < 300, ended.text

    async def _ask_echo(self) -> None:
        """The same call without the gateway."""
        body = orjson.dumps(_rpc(1, "tools/call", {"name": "echo", "arguments": write_arguments(next(self.numbers))}))
        started = time.perf_counter()
        await self.client.post(self.echo, content=body)
        self.echo_waits.append((time.perf_counter() - started) * 1000)

    async def _send(self, body: dict[str, Any], headers: dict[str, str]) -> bytes:
        started = time.perf_counter()
        answer = await self.client.post(self.url, content=orjson.dumps(body), headers=headers)
        self.waits.append((time.perf_counter() - started) * 1000)
        self.calls += 1
        assert answer.status_code == 200, answer.text
        return answer.content


def _rpc(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def sample(served: Served, traffic: Traffic, minute: float) -> Sample:
    """What the process has now, and how long the calls since the last sample took."""
    place = Path(f"/proc/{served.pid}")
    waits, traffic.waits = sorted(traffic.waits) or [0.0], []
    echo, traffic.echo_waits = sorted(traffic.echo_waits) or [0.0], []
    store = sum(file.stat().st_size for file in served.folder.glob("assent.db*"))
    return Sample(
        round(minute, 3),
        traffic.calls,
        round(int((place / "statm").read_text().split()[1]) * _PAGE / 1e6, 2),
        len([*(place / "fd").iterdir()]),
        len([*(place / "task").iterdir()]),
        round(waits[len(waits) // 2], 2),
        round(waits[len(waits) * 99 // 100], 2),
        round(echo[len(echo) // 2], 2),
        round(store / 1e6, 2),
        os.getloadavg()[0],
    )


async def run(minutes: float, rate: float, every: float, store: str, out: Path) -> list[Sample]:
    samples: list[Sample] = []
    headers = {
        "authorization": f"Bearer {KEY}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    with ExitStack() as stack:
        _, echo = stack.enter_context(server("echo"))
        _, other = stack.enter_context(server("mcp"))
        upstreams = {"echo": {"url": f"http://127.0.0.1:{echo}/mcp", "prefix": ""}}
        upstreams["sdk"] = {"url": f"http://127.0.0.1:{other}/mcp"}  # with two upstreams, the sessions are ours
        url = stack.enter_context(postgres()) if store == "postgres" else "sqlite:///assent.db"
        served = stack.enter_context(serve("", store=url, echo="write", upstreams=upstreams))
        async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as client:
            traffic = Traffic(f"http://127.0.0.1:{served.port}/mcp", upstreams["echo"]["url"], client)
            started = time.monotonic()
            with (out / "soak.csv").open("w", newline="") as file:
                table = csv.DictWriter(file, [one.name for one in fields(Sample)])
                table.writeheader()
                async with asyncio.TaskGroup() as group:
                    group.create_task(_keep_calling(traffic, rate, started + minutes * 60))
                    while (now := time.monotonic()) < started + minutes * 60:
                        await asyncio.sleep(min(every, started + minutes * 60 - now))
                        samples.append(sample(served, traffic, (time.monotonic() - started) / 60))
                        table.writerow(asdict(samples[-1]))
                        file.flush()
    return samples


async def _keep_calling(traffic: Traffic, rate: float, until: float) -> None:
    """Steps at an even rate; a slow answer holds up the next step, so that no queue builds up."""
    for number in count():
        due = time.monotonic() + 1 / rate
        if due > until:
            return
        await traffic.step(number)
        await asyncio.sleep(max(0.0, due - time.monotonic()))


def report(samples: list[Sample], out: Path) -> bool:
    """Writes the curves and says what grew."""
    first = samples[0].minute + (samples[-1].minute - samples[0].minute) / 5
    steady = [one for one in samples if one.minute >= first]
    flat = True
    for name, most in MOST_GROWTH.items():
        values = [(one.minute, getattr(one, name)) for one in steady]
        middle = sorted(value for _, value in values)[len(values) // 2] or 1
        grown = growth([(at, value / middle) for at, value in values])
        flat = flat and grown <= most
        verdict = "flat" if grown <= most else "GROWS"
        print(
            f"{name:12} median {middle:8.2f}  growth over {steady[-1].minute - first:.1f} min: x{grown:.3f}  {verdict}"
        )
    last = samples[-1]
    per_call = (last.store_mb - samples[0].store_mb) * 1e6 / max(1, last.calls - samples[0].calls)
    print(f"{last.calls:,} answers checked in {last.minute:.1f} min; the store grew by {per_call:,.0f} bytes an answer")
    (out / "soak.svg").write_text(_curves(samples))
    print(f"written to {out}/soak.csv and {out}/soak.svg")
    return flat


def _curves(samples: list[Sample]) -> str:
    def points(name: str) -> list[tuple[float, float]]:
        return [(one.minute, getattr(one, name)) for one in samples]

    panels = [
        Panel("Resident memory (MB)", points("rss_mb")),
        Panel("Open descriptors and threads", points("descriptors"), points("threads")),
        Panel("Answer time at the client, p50: gateway, and server alone (ms)", points("p50_ms"), points("echo_ms")),
        Panel("Answer time at the client, p99 (ms)", points("p99_ms")),
        Panel("Size of the store (MB), which keeps every call", points("store_mb")),
        Panel("Load of the machine", points("load")),
    ]
    last = samples[-1]
    note = f"{last.calls:,} answers, all checked; load of the machine {min(o.load for o in samples):.1f} to "
    note += f"{max(o.load for o in samples):.1f} on {os.cpu_count()} cores; {time.strftime('%Y-%m-%d')}"
    return line_charts(f"assent serve for {last.minute:.0f} minutes", note, panels)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=float, default=40, help="steps a second")
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--out", type=Path, default=Path(".cache/soak"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    samples = asyncio.run(run(options.minutes, options.rate, options.every, options.store, options.out))
    return 0 if report(samples, options.out) else 1


if __name__ == "__main__":
    sys.exit(main())
