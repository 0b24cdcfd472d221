"""An upstream that dies takes its own calls along, and nobody else's."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx2

from assent.contract.yaml_document import write_yaml
from assent.core.problems import problem_in
from support.gateway.gateways import HEADERS, gateway, rpc
from support.processes.servers import started

CONTRACTS = {
    f"{name}_{tool}": {"side_effect": effect, "risk": "low"}
    for name in ("steady", "doomed")
    for tool, effect in (("list_things", "read"), ("place_thing", "write"))
}


def address(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"


@asynccontextmanager
async def caller(url: str) -> AsyncIterator[Any]:
    """Calls by many clients: what one client does for a call grows with the calls that it has under way."""
    async with AsyncExitStack() as stack:
        made = [httpx2.AsyncClient(timeout=120, trust_env=False) for _ in range(20)]
        clients = cycle([await stack.enter_async_context(client) for client in made])

        async def call(name: str, number: int) -> dict[str, Any]:
            body = rpc("tools/call", name=name, arguments={"number": number})
            body["params"]["_meta"] = {"dev.assent/idempotencyKey": f"{name}-{number}"}
            answer = await next(clients).post(url, content=json.dumps(body).encode(), headers=HEADERS)
            said = answer.text.rsplit("data: ", 1)[-1]  # an answer that took its time is a stream
            result = json.loads(said).get("result", {})
            return problem_in(result) or result.get("structuredContent")  # type: ignore[no-any-return]

        yield call


async def say(port: int, method: str, path: str) -> None:
    async with httpx2.AsyncClient(timeout=120, trust_env=False) as client:
        (await client.request(method, f"http://127.0.0.1:{port}{path}")).raise_for_status()


async def killed_while_busy(folder: Path, each: int, tool: str) -> tuple[list[Any], list[Any], list[Any], list[str]]:
    """Answers of the steady upstream, of the killed one, of the same keys after its restart, and its own log."""
    log = folder / "doomed.log"
    (folder / "both.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    with (
        started("support.servers.killable_upstream", str(folder / "steady.log")) as (_, steady_port),
        started("support.servers.killable_upstream", str(log)) as (process, doomed_port),
    ):
        upstreams = {"steady": {"url": address(steady_port)}, "doomed": {"url": address(doomed_port)}}
        async with gateway(folder, upstreams, contracts=[str(folder / "both.yaml")]) as (url, _), caller(url) as call:
            steady = [asyncio.create_task(call(f"steady_{tool}", number)) for number in range(each)]
            doomed = [asyncio.create_task(call(f"doomed_{tool}", number)) for number in range(each)]
            for port in (steady_port, doomed_port):
                await say(port, "GET", f"/entered?count={min(each, 100)}")
            process.send_signal(signal.SIGKILL)
            lost = await asyncio.gather(*doomed)
            effects = log.read_text().splitlines()
            assert not any(task.done() for task in steady), "they were all under way when the other one died"
            await say(steady_port, "POST", "/go")
            good = await asyncio.gather(*steady)
            with started("support.servers.killable_upstream", str(log), str(doomed_port)):
                await say(doomed_port, "POST", "/go")
                async with asyncio.timeout(60):
                    while (await call("doomed_list_things", each)) != {"number": each}:
                        pass
                again = await asyncio.gather(*(call(f"doomed_{tool}", number) for number in range(each)))
    return good, lost, again, effects


async def test_killing_an_upstream_during_a_thousand_calls_loses_nothing_but_those_calls(tmp_path: Path) -> None:
    good, lost, again, effects = await killed_while_busy(tmp_path, 500, "place_thing")
    assert good == [{"number": number} for number in range(500)]
    codes = Counter(answer["code"] for answer in lost)
    assert set(codes) == {"execute.in_doubt", "execute.unavailable"}
    assert codes["execute.in_doubt"] >= len(effects) == len(set(effects)), "what it began is in doubt, and only once"
    for before, after in zip(lost, again, strict=True):
        if before["code"] == "execute.unavailable":
            assert "number" in after, "what never reached it may run with the same key"
        else:
            assert after["code"] == "recall.in_doubt"
    final = Counter((tmp_path / "doomed.log").read_text().splitlines())
    assert {line: count for line, count in final.items() if count > 1} == {}


async def test_reads_of_a_killed_upstream_fail_plainly_and_work_after_its_restart(tmp_path: Path) -> None:
    good, lost, again, _ = await killed_while_busy(tmp_path, 100, "list_things")
    assert good == again == [{"number": number} for number in range(100)]
    assert {answer["code"] for answer in lost} <= {"execute.failed", "execute.unavailable"}


async def test_an_upstream_that_is_down_at_start_says_so_and_is_served_once_it_is_up(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    (tmp_path / "both.yaml").write_text(write_yaml({"tools": CONTRACTS}))
    with started("support.servers.killable_upstream", log) as (process, port):
        process.kill()
        process.wait()
    upstreams = {"doomed": {"url": address(port)}, "dead": {"url": "http://127.0.0.1:9/mcp"}}
    async with (
        gateway(tmp_path, upstreams, contracts=[str(tmp_path / "both.yaml")]) as (url, gateway_app),
        caller(url) as call,
    ):
        assert set(gateway_app.tools.troubles) == {"doomed", "dead"}
        assert gateway_app.tools.troubles["dead"].startswith("no connection"), (
            "it is named beside it, and once is enough"
        )
        assert gateway_app.current.catalogue.tools == {}
        with started("support.servers.killable_upstream", log, str(port)):
            await say(port, "POST", "/go")
            async with asyncio.timeout(60):
                while (await call("doomed_list_things", 1)) != {"number": 1}:
                    pass
        assert set(gateway_app.tools.troubles) == {"dead"}
