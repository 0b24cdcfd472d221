"""The engine killed, replaced or left: no call runs twice, no server is left behind, every door says why it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from assent.gateway.engine import client, find_or_start, wire
from assent.gateway.engine.engine import version_key
from support.clients.transports import ROOT
from support.gateway.wrap_process import Wrapped, home, running
from support.processes.engines import engine_process, has_engine

ECHO = str(ROOT / "tests" / "support" / "servers" / "echo_server.py")


DOUBTFUL = ("execute.in_doubt", "recall.in_doubt", "recall.in_flight")


def at_work(folder: Path) -> dict[str, str]:
    """A home folder whose servers write notes, and tell through a pipe that they have."""
    os.mkfifo(folder / "fifo")
    return {**home(folder, "mode: enforce\n"), "NOTES": str(folder / "notes"), "FIFO": str(folder / "fifo")}


def notes(folder: Path) -> list[str]:
    return (folder / "notes").read_text().splitlines() if (folder / "notes").exists() else []


async def call(wrapped: Wrapped, number: int, tool: str, text: str) -> None:
    meta = {"dev.assent/idempotencyKey": f"key of {text}"}
    await wrapped.say("tools/call", number, name=tool, arguments={"text": text}, _meta=meta)


async def is_gone(process: int) -> bool:
    for _ in range(200):
        try:
            os.kill(process, 0)
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        await asyncio.sleep(0.05)
    return False


async def test_an_engine_killed_in_a_call_leaves_it_in_doubt_and_its_server_ends(tmp_path: Path) -> None:
    environment = at_work(tmp_path)
    async with running(environment, sys.executable, ECHO) as one, running(environment, sys.executable, ECHO) as other:
        await one.greet()
        await other.greet()
        await call(one, 1, "write_and_wait", "a")
        server = int(await asyncio.to_thread(Path(environment["FIFO"]).read_text))
        os.kill(engine_process(environment), signal.SIGKILL)
        for wrapped in (one, other):
            assert await wrapped.hear() == {}, "the door ends"
            code, said = await wrapped.end()
            assert code == 1 and said.count("the engine has ended unexpectedly") == 1 and "Traceback" not in said
    assert await is_gone(server), "a server that does not look at its input is ended too"
    async with running(environment, sys.executable, ECHO) as again:
        await again.greet()
        await call(again, 1, "write_and_wait", "a")
        answer = (await asyncio.wait_for(again.hear(), 60))["result"]
        assert answer["structuredContent"]["code"] in ("execute.in_doubt", "recall.in_doubt", "recall.in_flight"), (
            answer
        )
        assert notes(tmp_path) == ["a"], "it is not run again"
        await call(again, 2, "write_note", "b")
        assert "result" in await again.hear()
        assert (await again.end())[0] == 0
    assert notes(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("moment", [0.0, 0.002, 0.005, 0.01, 0.02, 0.05])
async def test_an_engine_killed_at_any_moment_runs_no_call_twice(moment: float, tmp_path: Path) -> None:
    environment = at_work(tmp_path)
    async with running(environment, sys.executable, ECHO) as one:
        await one.greet()
        engine = engine_process(environment)
        await call(one, 1, "write_note", "a")
        await asyncio.sleep(moment)  # The fault is injected at this moment of the call.
        os.kill(engine, signal.SIGKILL)
        await one.end()
    async with running(environment, sys.executable, ECHO) as again:
        await again.greet()
        await call(again, 1, "write_note", "a")
        answer = await asyncio.wait_for(again.hear(), 60)
        assert "result" in answer
        assert (await again.end())[0] == 0
    assert notes(tmp_path) in (["a"], []), "never twice"
    if "structuredContent" not in answer["result"]:
        assert notes(tmp_path) == ["a"], "what is answered has happened"


async def test_a_door_that_is_killed_takes_its_server_with_it_and_no_other(tmp_path: Path) -> None:
    environment = at_work(tmp_path)
    async with running(environment, sys.executable, ECHO) as one, running(environment, sys.executable, ECHO) as other:
        await one.greet()
        await other.greet()
        await call(one, 1, "write_and_wait", "a")
        server = int(await asyncio.to_thread(Path(environment["FIFO"]).read_text))
        one.process.kill()
        assert await is_gone(server)
        await call(other, 1, "write_note", "b")
        assert "result" in await other.hear()
        assert (await other.end())[0] == 0


async def test_approvals_and_limits_are_one_for_all_servers_of_the_user(tmp_path: Path) -> None:
    environment = home(tmp_path, "mode: enforce\nlimits: [{match: {tool: read_self}, calls: 3, per: 1h}]\n")
    refused = []
    async with running(environment, sys.executable, ECHO) as one, running(environment, sys.executable, ECHO) as other:
        for wrapped in (one, other):
            await wrapped.greet()
        for number, wrapped in enumerate((one, other, one, other)):
            await wrapped.say("tools/call", number, name="read_self", arguments={"text": str(number)})
            answer = (await wrapped.hear())["result"]
            refused.append(answer.get("structuredContent", {}).get("code"))
        for wrapped in (one, other):
            assert (await wrapped.end())[0] == 0
    assert refused == [None, None, None, "claim.rate_limited"]


def greeting(version: str, protocol: int, identity: bytes, purpose: bytes = b"ask") -> bytes:
    fields = [wire.MAGIC, b"%d" % protocol, version.encode(), identity, purpose]
    return wire.frame(wire.HELLO, wire.join(fields)) + wire.frame(wire.ASK, b'{"kind": "status"}')


def answered(environment: dict[str, str], version: str, protocol: int = wire.PROTOCOL) -> tuple[bytes, Any]:
    """What an engine answers to a door of another version."""
    found = find_or_start.find_place(None, environment)
    try:
        connection = find_or_start.connect(found)
        assert connection is not None
        with connection:
            return client._exchange(connection, greeting(version, protocol, found.identity), 20)
    finally:
        os.close(found.descriptor)


async def test_a_newer_version_takes_over_an_idle_engine_and_waits_for_a_busy_one(tmp_path: Path) -> None:
    environment = home(tmp_path)
    async with running(environment, sys.executable, ECHO) as one:
        await one.greet()
        engine = engine_process(environment)
        kind, said = answered(environment, "99.0.0")
        assert kind == wire.ANSWER and json.loads(said)["version"] == wire.VERSION, "the same protocol: it is served"
        kind, said = answered(environment, "99.0.0", wire.PROTOCOL + 1)
        assert kind == wire.REFUSED and b"99.0.0" in said and wire.VERSION.encode() in said
        kind, said = answered(environment, "0.0.1", wire.PROTOCOL - 1)
        assert kind == wire.REFUSED and b"Upgrade this one" in said
        await one.say("tools/call", 1, name="read_self", arguments={})
        assert "result" in await one.hear(), "its server runs on"
        assert (await one.end())[0] == 0
    assert await is_gone(engine), "then it ends for the newer one"


async def test_an_idle_engine_ends_at_once_for_a_newer_version(tmp_path: Path) -> None:
    environment = home(tmp_path)
    assert client.ask("status", environment=environment) is not None
    engine = engine_process(environment)
    assert answered(environment, "0.0.1")[0] == wire.ANSWER, "an older door is served"
    assert answered(environment, "99.0.0")[0] == wire.REPLACED
    assert await is_gone(engine)
    assert not has_engine(environment)


@pytest.mark.parametrize(("older", "newer"), [("0.2.0", "0.10.0"), ("0.3.0rc1", "0.4.0"), ("0.9", "1.0")])
def test_versions_are_compared_by_their_numbers(older: str, newer: str) -> None:
    assert version_key(older) < version_key(newer)


async def test_an_engine_whose_socket_was_removed_ends_with_its_last_server(tmp_path: Path) -> None:
    environment = home(tmp_path)
    async with running(environment, sys.executable, ECHO) as one:
        await one.greet()
        engine = engine_process(environment)
        found = find_or_start.find_place(None, environment)
        os.close(found.descriptor)
        Path(found.folder, f"{found.name}.sock").unlink()
        Path(found.folder, f"{found.name}.lock").unlink()
        async with running(environment, sys.executable, ECHO) as two:
            await two.greet()
            assert engine_process(environment) != engine
            assert (await two.end())[0] == 0
        await one.say("tools/call", 1, name="read_self", arguments={})
        assert "result" in await one.hear()
        assert (await one.end())[0] == 0
    assert await is_gone(engine)


def test_the_socket_is_only_the_users(tmp_path: Path) -> None:
    environment = home(tmp_path)
    assert client.ask("status", environment=environment) is not None
    found = find_or_start.find_place(None, environment)
    os.close(found.descriptor)
    assert Path(found.folder).stat().st_mode & 0o777 == 0o700
    assert Path(found.folder, f"{found.name}.sock").stat().st_mode & 0o777 == 0o600
    left, right = socket.socketpair(socket.AF_UNIX)
    assert find_or_start.peer_of(left) == (os.geteuid(), os.getpid())
    for one in (left, right):
        one.close()
