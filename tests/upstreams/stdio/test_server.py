"""A server that is a process of ours: started, heard, restarted, stopped."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from assent.mcp.jsonrpc import RpcError
from assent.upstreams.errors import ConnectionLost, TimedOut, Unreachable
from assent.upstreams.stdio.process import LaunchSpec, id_of_truncated_response, id_of_unversioned_response
from assent.upstreams.stdio.server import StdioUpstream
from support.clients.transports import ROOT

ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Listening:
    """An audience that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []

    async def open(self) -> None: ...

    async def prime(self, retry: int | None) -> None: ...

    async def pause(self) -> None: ...

    async def notify(self, message: dict[str, Any]) -> None:
        self.heard.append(message)

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        return None


@asynccontextmanager
async def upstream(*command: str, patience: float = 20.0, clock: Clock | None = None) -> AsyncIterator[StdioUpstream]:
    launch = LaunchSpec("odd", command or (sys.executable, ODD), dict(os.environ))
    made = StdioUpstream(launch, {"name": "t", "version": "0"}, mark="t", clock=clock or Clock(), patience=patience)
    try:
        yield made
    finally:
        await made.close()


def odd(kind: str) -> tuple[str, ...]:
    return sys.executable, ODD, kind


@pytest.mark.parametrize("kind", ["plain", "noisy"])
async def test_a_server_is_heard_through_its_noise_and_its_definitions_stay_as_they_are(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with upstream(*odd(kind)) as server:
        described = await server.ready()
        tools = await server.list_all("tools/list", "tools")
    assert described.info == {"name": "odd", "version": "1"}
    assert [tool["name"] for tool in tools][:3] == ["list_things", "delete_thing", "read_private_key"]
    assert len(tools) == 6
    assert tools[0]["x-kept"] == [1.50]
    noise = [record.message for record in caplog.records if "on stdout" in record.message]
    assert bool(noise) == (kind == "noisy")
    assert len(noise) <= 5


async def test_a_server_of_the_official_sdk_is_met_in_the_modern_era() -> None:
    async with upstream(sys.executable, str(ROOT / "examples" / "shop" / "server.py")) as server:
        described = await server.ready()
    assert described.version == "2026-07-28"


async def test_a_command_that_does_not_exist_says_so() -> None:
    async with upstream("no-such-command-at-all") as server:
        with pytest.raises(Unreachable, match="the command 'no-such-command-at-all'") as raised:
            await server.ready()
    assert raised.value.sent is False


async def test_a_folder_that_does_not_exist_is_not_blamed_on_the_command(tmp_path: Path) -> None:
    launch = LaunchSpec("odd", (sys.executable,), {}, str(tmp_path / "gone"))
    server = StdioUpstream(launch, {}, mark="t", clock=Clock())
    with pytest.raises(Unreachable, match=r"the folder .*gone does not exist"):
        await server.ready()


async def test_a_command_that_exits_at_once_says_how(caplog: pytest.LogCaptureFixture) -> None:
    async with upstream(*odd("brief")) as server:
        with pytest.raises(ConnectionLost, match="it exited with code 3"):
            await server.ready()


async def test_a_server_that_never_answers_is_given_up_and_stopped_and_that_is_the_reason_told() -> None:
    async with upstream(*odd("mute"), patience=0.1) as server:
        await server.start()
        ended = asyncio.ensure_future(server.wait_until_ended())  # of the process, by whoever watches it
        await asyncio.sleep(0)
        with pytest.raises(TimedOut, match="no response to initialize"):
            await server.ready()
        assert await ended == "no response to initialize in 0 seconds", "why we ended it, not how it took that"


async def test_a_server_that_dies_loses_the_call_and_is_started_again_after_growing_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    async with upstream(clock=clock) as server:
        first = await server.request("tools/call", {"name": "list_things"}, {})
        for pause in (1.0, 2.0, 4.0):
            with pytest.raises(ConnectionLost, match="it exited with code 7"):
                await server.request("tools/call", {"name": "die"}, {})
            with pytest.raises(Unreachable, match=f"starts again in {pause:.0f} s"):
                await server.request("tools/call", {"name": "list_things"}, {})
            clock.now += pause
            again = await server.request("tools/call", {"name": "list_things"}, {})
            assert again != first
        clock.now += 100
        with pytest.raises(ConnectionLost):
            await server.request("tools/call", {"name": "die"}, {})
        await server.request("tools/call", {"name": "list_things"}, {})


async def test_progress_goes_to_the_caller_who_asked_under_the_callers_own_token() -> None:
    one, two = Listening(), Listening()
    async with upstream() as server:
        for token, stream_listener in ((5, one), (5, two)):
            params = {"name": "list_things", "_meta": {"progressToken": token}}
            await server.request("tools/call", params, {}, stream_listener)
    for stream_listener in (one, two):
        assert [message["params"]["progressToken"] for message in stream_listener.heard] == [5]


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server() -> None:
    heard: list[dict[str, Any]] = []
    async with upstream(patience=0.2) as server:
        await server.ready()
        server.listen = heard.append
        with pytest.raises(TimedOut, match="no response to tools/call"):
            await server.request("tools/call", {"name": "list_slowly"}, {})
        await server.request("resources/list", {}, {})
    assert [message["params"]["data"] for message in heard] == ["cancelled"]


async def test_an_error_of_the_server_comes_as_it_is() -> None:
    async with upstream() as server:
        with pytest.raises(RpcError, match="Method not found: prompts/list") as raised:
            await server.request("prompts/list", {}, {})
    assert raised.value.code == -32601


async def test_a_process_that_ignores_everything_is_ended_with_all_it_started(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    inner, outer = tmp_path / "inner.py", tmp_path / "outer.py"
    inner.write_text(
        f"import time\nheld = open({str(alive)!r}, 'w')\nheld.write('here')\nheld.flush()\ntime.sleep(100)"
    )
    outer.write_text(
        "import signal, subprocess, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"subprocess.Popen([sys.executable, {str(inner)!r}])\ntime.sleep(100)"
    )
    async with upstream(sys.executable, str(outer)) as server:
        starting = asyncio.create_task(server.ready())
        held = await asyncio.to_thread(alive.open)
    with pytest.raises(ConnectionLost, match="it was stopped"):
        await starting
    with held:
        assert held.read() == "here", "the pipe ends when nobody holds it any more"


@pytest.mark.parametrize(
    ("line", "whose"),
    [
        (b'{"jsonrpc": "2.0", "id": "a", "result": {"content": [', "a"),
        (b'{"id": 7, "jsonrpc": "2.0", "error": {"code": 1', 7),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {', None),
        (b'Sending response: {"jsonrpc": "2.0", "id": "a", "result": {}}', None),
        (b'{"id": "a", "result": {"content": [', None),
        (b'{"jsonrpc": "2.0", "id": 007, "result": {', None),
        (b'{"jsonrpc": "2.0", "id": "a\x01", "result": {', None),
        (b'{"jsonrpc": "2.0", "id": "\xff", "result": {', None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "result": {', None),
        (b"", None),
    ],
)
def test_a_line_that_ends_too_soon_is_an_answer_only_if_it_begins_like_one(
    line: bytes, whose: int | str | None
) -> None:
    assert id_of_truncated_response(line) == whose


@pytest.mark.parametrize(
    ("message", "whose"),
    [
        ({"id": 1, "result": {}}, 1),
        ({"id": "a", "error": {"code": 1, "message": "no"}}, "a"),
        ({"id": 1, "result": "handled"}, None),
        ({"id": 1, "error": "timeout"}, None),
        ({"id": 1, "result": {}, "level": "info"}, None),
        ({"id": True, "result": {}}, None),
        ({"time": 10**30}, None),
        ([1], None),
        (None, None),
    ],
)
def test_a_line_of_a_log_is_no_answer(message: Any, whose: int | str | None) -> None:
    assert id_of_unversioned_response(message) == whose
