"""`assent serve --workers N`: several processes on one port hold what one would promise."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from assent.cli import cli
from assent.cli.serve_order import WorkerOrder
from assent.cli.serve_workers import WorkerSupervisor
from assent.contract.yaml_document import write_yaml
from assent.errors import SettingsError
from assent.web.server import bind
from support import talking_server
from support.aging import aged
from support.gateway_workers import WORKERS, children, is_alive, spread, workers
from support.gateways import rpc
from support.loopback_server import serving
from support.postgres_server import drop_store, new_store_url
from support.processes import commanded

CALLERS = 60
HANDSHAKE = "2025-11-25"
OPEN = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_calls_with_one_key_at_all_workers_have_one_effect(kind: str, tmp_path: Path) -> None:
    store = await new_store_url() if kind == "postgres" else ""
    async with workers(tmp_path, store) as running:
        for number in range(2):
            results = await asyncio.gather(*(running.call("note", f"key {number}") for _ in range(CALLERS)))
            assert [one["structuredContent"] for one in results] == [{"number": number + 1}] * CALLERS
        assert running.notes.effects == ["key 0", "key 1"]
        metrics = (await running.get("/metrics")).text
        assert len(spread(metrics)) > 1, metrics
        assert sum(map(int, re.findall(r"^assent_calls_total.* (\d+)$", metrics, re.MULTILINE))) == 2 * CALLERS
        assert metrics.count("# TYPE assent_calls_total") == 1
        pretended = await running.get("/metrics", **{"x-assent-client": "127.0.0.1", "x-forwarded-for": "192.0.2.1"})
        assert pretended.status_code == 403
    if store:
        await drop_store(store)


async def test_a_killed_worker_is_started_again_and_the_port_keeps_answering(tmp_path: Path) -> None:
    async with workers(tmp_path) as running:
        before = running.pids()
        os.kill(before[0], signal.SIGKILL)
        await running.command.said(rf"worker \d \(process {before[0]}\) was ended by SIGKILL")
        answers = await asyncio.gather(*(running.call("note", f"after {number}") for number in range(9)))
        assert {one["structuredContent"]["number"] for one in answers} == set(range(1, 10))
        await running.command.said(r"worker \d \(process \d+\) serves again")
        assert len(running.pids()) == WORKERS and before[0] not in running.pids()


async def test_a_session_is_served_whichever_worker_its_requests_reach(tmp_path: Path) -> None:
    async with workers(tmp_path) as running:
        opened = await running.post(rpc("initialize", **OPEN))
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": HANDSHAKE}
        worker, _, own = session["mcp-session-id"].partition("~")
        assert worker in "01" and own
        answers = [await running.call("note", f"note {number}", **session) for number in range(12)]
        assert [one["structuredContent"]["number"] for one in answers] == list(range(1, 13))
        unknown = [
            await running.post(rpc("tools/list"), **session | {"mcp-session-id": f"{one}~x"}) for one in range(9)
        ]
        assert {one.status_code for one in unknown} == {404}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_is_asked_and_answered_over_changing_connections(mode: Any, tmp_path: Path) -> None:
    async def elicit(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"colour": "green"})

    app = aged(talking_server.server.streamable_http_app(), "handshake")
    async with serving(app) as upstream, workers(tmp_path, upstream=upstream, mode="observe") as running:
        anew = httpx2.Limits(max_connections=50, max_keepalive_connections=0)
        async with httpx2.AsyncClient(limits=anew, timeout=60, trust_env=False) as connections:
            transport = streamable_http_client(running.url, http_client=connections)
            async with Client(transport, mode=mode, elicitation_callback=elicit) as client:
                for _ in range(6):
                    (block,) = (await client.call_tool("get_colour", {})).content
                    assert isinstance(block, types.TextContent) and block.text == "accept green"


async def test_a_stop_finishes_running_calls_and_ends_every_worker(tmp_path: Path) -> None:
    async with workers(tmp_path) as running:
        pids = running.pids()
        call = asyncio.create_task(running.call("slow_note", "last"))
        await running.notes.started.wait()
        running.command.process.send_signal(signal.SIGTERM)
        running.notes.go.set()
        assert (await call)["structuredContent"] == {"number": 1}
        await running.command.said("Stopped.")
        assert await running.command.process.wait() == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


async def test_a_reload_and_the_end_of_the_supervisor_reach_every_worker_and_nobody_else_gets_the_port(
    tmp_path: Path,
) -> None:
    async with workers(tmp_path) as running:
        pids = running.pids()
        port = running.url.rsplit(":", 1)[1].removesuffix("/mcp")
        async with commanded("serve", "-c", str(running.file), "--port", port, "--workers", "2") as second:
            await second.said(rf"127.0.0.1:{port} cannot be used: Address already in use. Choose another --port")
            assert await second.process.wait() == 2
        running.command.process.send_signal(signal.SIGHUP)
        for _ in range(WORKERS):
            await running.command.said("the new configuration is used")
        running.command.process.kill()
        async with asyncio.timeout(60):
            while any(map(is_alive, pids)):  # noqa: ASYNC110 (other processes set no event)
                await asyncio.sleep(0.05)


async def test_a_reload_during_the_start_ends_no_worker_and_nothing_about_the_store_is_shown_to_other_users(
    tmp_path: Path,
) -> None:
    async with workers(tmp_path) as running:
        serve = ("serve", "-c", str(running.file), "--port", "0", "--workers", str(WORKERS))
        async with commanded(*serve) as second:
            async with asyncio.timeout(60):
                while len(children(second)) < WORKERS:  # noqa: ASYNC110 (other processes set no event)
                    await asyncio.sleep(0.01)
            second.process.send_signal(signal.SIGHUP)
            await second.said(rf"with {WORKERS} workers")
            for pid in children(second):
                assert Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"-m\0assent.cli.serve_worker\0")
                # Nobody reads what a worker prints, so it must not go into a pipe to the supervisor.
                assert Path(f"/proc/{pid}/fd/1").readlink() == Path(f"/proc/{pid}/fd/2").readlink()


async def test_a_worker_is_tried_again_when_the_machine_cannot_start_a_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    listener, start, tries = bind("127.0.0.1", 0), asyncio.create_subprocess_exec, []

    async def start_late(*command: str, **options: Any) -> asyncio.subprocess.Process:
        tries.append(command)
        if len(tries) < 3:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return await start("cat", **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_late)
    order = WorkerOrder(None, "127.0.0.1", 1, listener.fileno(), 0, 2, "", "", "text", "info")
    process, _ = await WorkerSupervisor(order, listener)._start_again(1, 0.0)
    said, _ = await process.communicate(b"")
    assert json.loads(said)["index"] == 1 and caplog.text.count("worker 1 cannot be started and is tried again") == 2
    listener.close()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"store": "memory://"},
            "several workers cannot share a store in memory. Use sqlite:///assent.db, or postgresql",
        ),
        (
            {"upstreams": {"one": {"command": ["server"]}}},
            "upstreams.one.command: each worker would start its own copy",
        ),
    ],
)
@pytest.mark.parametrize("options", [[], ["--check"]])
def test_what_workers_cannot_share_is_refused(
    wrong: dict[str, Any], said: str, options: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "assent.yaml"
    settings = {"upstreams": {"one": {"url": "http://127.0.0.1:9/mcp"}}, **wrong}
    file.write_text(write_yaml({"auth": {"anonymous": {"kind": "agent"}}, **settings}))
    result = CliRunner().invoke(cli, ["serve", "-c", str(file), "--workers", "2", *options])
    assert isinstance(result.exception, SettingsError) and said in str(result.exception)
