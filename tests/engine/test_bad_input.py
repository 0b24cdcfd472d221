"""The engine's files and its socket in bad hands: leftovers, links, open folders, floods, and doors that misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assent.gateway.engine import client, door, find_or_start, wire
from assent.gateway.stdio.streams import StandardStreams
from support.clients.transports import ROOT
from support.gateway.wrap_process import ASSENT, Wrapped, home, running
from support.processes.engines import engine_process, has_engine

ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")
ECHO = str(ROOT / "tests" / "support" / "servers" / "echo_server.py")
INTRUDER = str(ROOT / "tests" / "support" / "servers" / "engine_intruder.py")


@contextmanager
def placed(environment: dict[str, str]) -> Iterator[find_or_start.Place]:
    found = find_or_start.find_place(None, environment)
    try:
        yield found
    finally:
        os.close(found.descriptor)


async def answers(environment: dict[str, str]) -> tuple[int, str]:
    """Whether a wrapped server works: its exit code, and what was said."""
    async with running(environment, sys.executable, ODD) as one:
        assert "result" in await one.greet()
        return await one.end()


@pytest.mark.parametrize("left", ["socket", "file", "link", "broken link"])
async def test_what_is_left_behind_at_the_socket_is_replaced(left: str, tmp_path: Path) -> None:
    environment = home(tmp_path)
    with placed(environment) as found:
        path = Path(found.folder, f"{found.name}.sock")
        if left == "socket":
            listener = socket.socket(socket.AF_UNIX)
            find_or_start._at(found, listener.bind)
            listener.close()
        elif left == "file":
            path.write_text("")
        else:
            target = tmp_path / "target"
            if left == "link":
                target.write_text("precious")
            path.symlink_to(target)
    code, said = await answers(environment)
    assert code == 0 and "observing odd_server" in said
    assert has_engine(environment)
    if left == "link":
        assert target.read_text() == "precious"


@pytest.mark.parametrize("kind", ["socket", "lock"])
async def test_a_folder_in_the_way_or_a_link_at_the_lock_stops_the_start(kind: str, tmp_path: Path) -> None:
    environment = home(tmp_path)
    with placed(environment) as found:
        path = Path(found.folder, f"{found.name}.{'sock' if kind == 'socket' else kind}")
        if kind == "socket":
            path.mkdir()
        else:
            path.symlink_to(tmp_path / "elsewhere")
    async with running(environment, sys.executable, ODD) as one:
        assert await one.hear() == {}
        code, said = await one.end()
    assert code == 2 and str(path) in said and "Remove it" in said and "Traceback" not in said
    assert not (tmp_path / "elsewhere").exists()


async def test_a_folder_that_others_can_write_stops_the_start(tmp_path: Path) -> None:
    environment = home(tmp_path)
    with placed(environment) as found:
        Path(found.folder).chmod(0o777)
    async with running(environment, sys.executable, ODD) as one:
        assert await one.hear() == {}
        code, said = await one.end()
    assert code == 2 and f"chmod 700 {found.folder}" in said
    Path(found.folder).chmod(0o700)
    assert (await answers(environment))[0] == 0


async def test_a_link_in_the_place_of_the_folder_stops_the_start(tmp_path: Path) -> None:
    environment = home(tmp_path)
    (tmp_path / "state" / "assent").mkdir(parents=True, mode=0o700)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "state" / "assent" / "engine").symlink_to(tmp_path / "elsewhere")
    async with running(environment, sys.executable, ODD) as one:
        assert await one.hear() == {}
        code, said = await one.end()
    assert code == 2 and "is a link. Remove it" in said
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_foreign_runtime_folder_is_not_used(tmp_path: Path) -> None:
    environment = {**home(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "runtime")}
    (tmp_path / "runtime").mkdir(mode=0o755)
    with placed(environment) as found:
        assert found.folder == str(tmp_path / "state" / "assent" / "engine")
    (tmp_path / "runtime").chmod(0o700)
    with placed(environment) as found:
        assert found.folder == str(tmp_path / "runtime" / "assent")


async def test_where_no_engine_can_be_the_server_runs_alone_and_says_so(tmp_path: Path) -> None:
    environment = home(tmp_path)
    (tmp_path / "state" / "assent").mkdir(parents=True, mode=0o700)
    (tmp_path / "state" / "assent" / "engine").write_text("a file where the folder should be")
    code, said = await answers(environment)
    assert code == 0 and "this server runs without the shared engine" in said and "observing odd_server" in said


async def test_twenty_servers_started_at_once_share_one_engine(tmp_path: Path) -> None:
    environment = home(tmp_path)

    async def one() -> int:
        async with running(environment, sys.executable, ECHO) as wrapped:
            assert "result" in await wrapped.greet()
            process = await asyncio.to_thread(engine_process, environment)
            started.release()
            await all_started.wait()
            assert (await wrapped.end())[0] == 0
            return process

    started, all_started = asyncio.Semaphore(0), asyncio.Event()

    async def watch() -> int:
        for _ in range(20):
            await started.acquire()
        status = await asyncio.to_thread(client.ask, "status", environment=environment, start=False)
        all_started.set()
        assert status is not None
        return len(status["servers"])

    count, *processes = await asyncio.gather(watch(), *(one() for _ in range(20)))
    assert count == 20 and len(set(processes)) == 1


async def test_doors_that_say_nothing_or_nonsense_hold_nobody_up(tmp_path: Path) -> None:
    environment = home(tmp_path)
    assert client.ask("status", environment=environment) is not None
    open_connections = []
    with placed(environment) as found:
        for number in range(40):
            one = find_or_start.connect(found)
            assert one is not None
            open_connections.append(one)
            if number % 2:
                one.sendall(os.urandom(3000))
        big = find_or_start.connect(found)
        assert big is not None
        big.settimeout(5)
        with pytest.raises(OSError):
            for _ in range(64):
                big.sendall(wire.frame(wire.HELLO, b"x" * 100_000))
        assert (await answers(environment))[0] == 0
    for one in (*open_connections, big):
        one.close()


async def test_a_door_that_sends_megabytes_without_reading_is_closed_and_others_go_on(tmp_path: Path) -> None:
    environment = home(tmp_path)
    pipe = asyncio.subprocess.PIPE
    async with running(environment, sys.executable, ECHO) as calm:
        await calm.greet()
        unread, writing = os.pipe()
        greedy = await asyncio.create_subprocess_exec(
            *ASSENT, "wrap", "--", sys.executable, ECHO, stdin=pipe, stdout=writing, stderr=writing, env=environment
        )
        os.close(writing)
        assert greedy.stdin is not None
        line = json.dumps({"jsonrpc": "2.0", "method": "tools/call", "id": 1, "params": {
            "name": "read_self", "arguments": {"text": "x" * 1_000_000}}}).encode() + b"\n"  # fmt: skip
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        greedy.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode())
        greedy.stdin.write(b"\n")

        async def flood() -> None:
            try:
                for _ in range(200):
                    greedy.stdin.write(line)  # type: ignore[union-attr]
                    await greedy.stdin.drain()  # type: ignore[union-attr]
            except ConnectionError:
                return

        flooding = asyncio.create_task(flood())
        for number in range(1, 11):
            await calm.say("tools/call", number, name="read_self", arguments={})
            assert (await asyncio.wait_for(calm.hear(), 20))["id"] == number
        status = await asyncio.to_thread(client.ask, "status", environment=environment, start=False)
        assert status is not None and status["memory"] < 600e6, "what waits for a client is bounded"
        flooding.cancel()
        greedy.kill()
        await greedy.wait()
        os.close(unread)
        assert (await calm.end())[0] == 0


async def test_streams_are_closed_once_and_an_input_that_others_read_is_never_waited_for() -> None:
    pipes = [os.pipe() for _ in range(3)]
    streams = StandardStreams((pipes[0][0], pipes[1][1], pipes[2][1]))
    await asyncio.wait_for(
        asyncio.to_thread(streams._read_input), 5
    )  # Ready a moment ago, and another process read it.
    os.write(pipes[0][1], b"a line\n")
    assert await anext(streams.lines()) == b"a line"
    await streams.close()
    others = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    await streams.close()
    for one in (*others, pipes[0][1], pipes[1][0], pipes[2][0]):
        os.close(one)  # Raises if it was closed behind the back of its owner.


async def test_a_named_pipe_whose_writer_has_left_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(read, True)
    write = os.open(tmp_path / "pipe", os.O_WRONLY)
    os.write(write, b"one\ntwo")
    os.close(write)
    streams = StandardStreams((read, os.open(os.devnull, os.O_WRONLY), os.open(os.devnull, os.O_WRONLY)))
    try:
        async with asyncio.timeout(5):
            assert [line async for line in streams.lines()] == [b"one", b"two"]
    finally:
        await streams.close()


async def test_a_variable_that_is_not_text_does_not_keep_hooks_from_the_engine(tmp_path: Path) -> None:
    environment = {**home(tmp_path), "ODD": os.fsdecode(b"caf\xe9")}
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "Bash", "tool_use_id": "1",
             "tool_input": {"command": "ls"}}  # fmt: skip
    done = await asyncio.to_thread(
        subprocess.run, [*ASSENT, "hook", "claude-code"], input=json.dumps(event), env=environment, text=True,
        capture_output=True,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("{}\n", 0)


CONFINED = {
    "no new privileges": ("--no-new-privs",),
    "fewer capabilities": ("--bounding-set=-sys_admin",),
}
needs_setpriv = pytest.mark.skipif(
    shutil.which("setpriv") is None or os.geteuid() != 0, reason="setpriv confines the client of this test"
)


@needs_setpriv
@pytest.mark.parametrize("how", CONFINED)
async def test_a_confined_client_has_an_engine_of_its_own(how: str, tmp_path: Path) -> None:
    environment = {**home(tmp_path), "NOTES": str(tmp_path / "notes")}
    outside = engine_started(environment)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "setpriv", *CONFINED[how], *ASSENT, "wrap", "--", sys.executable, ECHO,
        stdin=pipe, stdout=pipe, stderr=pipe, env=environment,
    )  # fmt: skip
    confined = Wrapped(process)
    assert "result" in await confined.greet()
    status = await asyncio.to_thread(client.ask, "status", environment=environment, start=False)
    assert status is not None and status["process"] == outside
    assert status["servers"] == [], "its server is not in the engine outside"
    assert (await confined.end())[0] == 0
    stop = [*CONFINED[how], *ASSENT, "engine", "stop"]
    stopped = await asyncio.to_thread(subprocess.run, ["setpriv", *stop], env=environment)
    assert stopped.returncode == 0
    assert engine_process(environment) == outside


@needs_setpriv
@pytest.mark.parametrize("how", CONFINED)
@pytest.mark.parametrize("route", ["itself", "a child that has ended"])
@pytest.mark.parametrize("wanted", ["wrap", "console", "stop", "hook"])
def test_a_confined_process_that_claims_to_be_the_users_gets_nothing_from_the_engine(
    wanted: str, route: str, how: str, tmp_path: Path
) -> None:
    environment = home(tmp_path)
    outside = engine_started(environment)
    with placed(environment) as found:
        words = [wanted, route, found.folder, found.name, os.fsdecode(found.identity), str(tmp_path / "escaped")]
    done = subprocess.run(
        ["setpriv", *CONFINED[how], sys.executable, INTRUDER, *words],
        env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kind, said = json.loads(done.stdout.splitlines()[-1])
    assert kind in ("E", "F") and "is confined" in said, done.stderr
    assert not (tmp_path / "escaped").exists()
    assert engine_process(environment) == outside


def engine_started(environment: dict[str, str]) -> int:
    status = client.ask("status", environment=environment)
    assert status is not None
    return int(status["process"])


def test_the_door_leaves_everything_unusual_to_the_command_line() -> None:
    plain = door.parse(["-c", "a.yaml", "--start-within=5s", "--sandbox", "enforce", "--read", "x", "--", "npx", "-y"])
    assert plain is not None
    assert (plain.command, plain.config, plain.start_within, plain.sandbox) == (
        ("npx", "-y"),
        "a.yaml",
        "5s",
        "enforce",
    )
    assert plain.read == (str(Path.cwd() / "x"),)
    assert door.parse(["npx", "-y", "--", "x"]).command == ("npx", "-y", "--", "x")  # type: ignore[union-attr]
    for words in (
        [], ["--help"], ["--"], ["-c"], ["--unknown", "x"], ["--start-within", "soon", "x"], ["--sandbox", "no", "x"],
        ["--read", "x", "--", "y"], ["-cx.yaml", "y"],
    ):  # fmt: skip
        assert door.parse(words) is None, words


def test_frames_are_read_alike_however_they_are_cut() -> None:
    sent = wire.frame(wire.HELLO, b"a") + wire.frame(wire.ASK) + b"X" + b"\xff" * 4
    for cut in range(len(sent)):
        frames, found = wire.Frames(), list[wire.Frame]()
        with pytest.raises(wire.BadFrame):
            for piece in (sent[:cut], sent[cut:]):
                for one in frames.feed(piece):
                    found.append(one)
        assert found == [(wire.HELLO, b"a"), (wire.ASK, b"")], cut
