"""The sockets of workers: nobody else gets the port or a request, and what is lost is opened again or refused."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assent.cli import cli
from assent.cli.serve_order import WorkerOrder, make_socket_folder, reserve
from assent.cli.serve_worker import Worker
from assent.cli.serve_workers import _how_it_ended
from assent.contract.yaml_document import write_yaml
from assent.errors import SettingsError, StoreError
from assent.gateway.workers import peers, private_server
from assent.gateway.workers.private_server import PrivateServer
from assent.web.asgi import Receive, Scope, Send
from assent.web.http import respond
from assent.web.server import bind
from support.gateway_workers import WORKERS, workers

REQUEST = b"GET / HTTP/1.1\r\nhost: worker\r\nconnection: close\r\n\r\n"
NOBODY = 65_534
CONNECTS = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.settimeout(30)
client.connect(sys.argv[1])
try:
    client.sendall(sys.argv[2].encode())
    print(client.recv(100))
except ConnectionError:
    print(b"")
"""


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, 200, b"{}")


@pytest.fixture
def place() -> Iterator[Path]:
    """A socket in a folder with a short path."""
    folder = Path(tempfile.mkdtemp(prefix="assent-test-"))
    yield folder / "0.sock"
    shutil.rmtree(folder, ignore_errors=True)


async def asked(place: Path) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(place))
    writer.write(REQUEST)
    try:
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 (files set no event)
            await asyncio.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux spreads connections over processes")
def test_a_reserved_port_is_refused_to_all_others_even_while_no_worker_listens() -> None:
    with reserve("127.0.0.1", 0) as kept:
        port = kept.getsockname()[1]
        with pytest.raises(SettingsError, match="cannot be used: Address already in use"):
            reserve("127.0.0.1", port)
        with pytest.raises(OSError, match="Address already in use"):
            bind("127.0.0.1", port)
        # A client is told at once that nobody is there.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=30)
        with bind("127.0.0.1", port, shared=True), bind("127.0.0.1", port, shared=True):
            socket.create_connection(("127.0.0.1", port), timeout=30).close()
    with reserve("127.0.0.1", port):
        pass  # The port is free again, although a connection has just ended.


def test_a_worker_that_starts_again_refuses_settings_that_may_not_be_served_at_its_address(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    settings = {"store": f"sqlite:///{tmp_path}/assent.db", "upstreams": {"one": {"url": "http://127.0.0.1:9/mcp"}}}
    file.write_text(write_yaml({**settings, "auth": {"anonymous": {"kind": "agent"}}}))
    order = WorkerOrder(str(file), "0.0.0.0", 1, 0, 0, 2, "", "", "text", "info")
    with pytest.raises(SettingsError, match=r"anonymous callers are not allowed on 0\.0\.0\.0"):
        Worker(order, 1).read_settings()


async def test_a_socket_that_disappears_is_opened_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_server, "LOOK_EVERY", 0.01)
    server = PrivateServer(answer, place)
    await server.open()
    assert place.stat().st_mode & 0o777 == 0o600
    keeping = asyncio.create_task(server.keep())
    assert b"200 OK" in await asked(place)
    shutil.rmtree(place.parent)
    await until(place.exists)
    assert place.parent.stat().st_mode & 0o777 == 0o700
    await until(lambda: place.exists() and place.stat().st_mode & 0o777 == 0o600)
    assert b"200 OK" in await asked(place)
    keeping.cancel()
    await server.close()


async def test_a_socket_is_not_opened_where_others_may_enter(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(private_server, "LOOK_EVERY", 0.01)
    server = PrivateServer(answer, place)
    await server.open()
    place.unlink()
    place.parent.chmod(0o755)
    keeping = asyncio.create_task(server.keep())
    await until(lambda: caplog.records)
    assert f"{place} was removed and cannot be made again" in caplog.text and not place.exists()
    place.parent.chmod(0o700)
    await until(place.exists)
    assert caplog.text.count("cannot be made again") == 1
    keeping.cancel()
    await server.close()


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED") or os.geteuid() != 0, reason="root alone can be somebody else")
async def test_another_user_gets_no_answer_even_if_the_folder_is_open(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = PrivateServer(answer, place)
    await server.open()
    place.parent.chmod(0o755)
    place.chmod(0o666)
    command = ("/usr/bin/env", "python3", "-c", CONNECTS, str(place), REQUEST.decode())
    other = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, user=NOBODY, cwd="/")
    assert (await other.communicate())[0] == b"b''\n" and other.returncode == 0
    assert "another user of this machine tried to connect" in caplog.text
    assert b"200 OK" in await asked(place)
    await server.close()


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="this system does not say whose a socket is")
async def test_nothing_is_sent_to_a_socket_of_another_user(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    got, ended = bytearray(), asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.extend(await reader.read())
        writer.close()
        await writer.wait_closed()
        ended.set()

    async with await asyncio.start_unix_server(take, str(place)):
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(peers.WorkerGone):
            await peers.Peers({0: place})._connect(0)
        await ended.wait()
    assert not got and "belongs to another user of this machine; nothing is sent to it" in caplog.text


async def test_a_worker_starts_again_after_the_folder_of_the_sockets_was_removed(tmp_path: Path) -> None:
    async with workers(tmp_path) as running:
        pids = running.pids()
        assert all(os.getpgid(pid) == pid for pid in pids)  # Ctrl-C must reach the supervisor alone.
        folder = running.folder()
        shutil.rmtree(folder)
        os.kill(pids[0], signal.SIGKILL)
        await running.command.said(r"worker \d \(process \d+\) serves again")
        async with asyncio.timeout(60):
            while len(list(folder.glob("*.sock"))) < WORKERS:  # noqa: ASYNC110 (files set no event)
                await asyncio.sleep(0.05)
        metrics = (await running.get("/metrics")).text
        assert all(f'worker="{number}"' in metrics for number in range(WORKERS))


def test_a_path_that_is_too_long_for_sockets_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with pytest.raises(SettingsError, match=r"is too long for the name of a socket\. Set TMPDIR to a shorter path"):
        make_socket_folder()
    assert list(long.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(SettingsError, match="there is no place for the sockets of the workers: No such file"):
        make_socket_folder()


def test_a_store_that_cannot_be_opened_is_named_once_and_not_by_every_worker(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    settings = {"store": f"sqlite:///{tmp_path}/no/assent.db", "upstreams": {"one": {"url": "http://127.0.0.1:9/mcp"}}}
    file.write_text(write_yaml({**settings, "auth": {"anonymous": {"kind": "agent"}}}))
    done = CliRunner().invoke(cli, ["serve", "-c", str(file), "--port", "0", "--workers", "2"])
    assert isinstance(done.exception, StoreError) and "does not exist. Create it first." in str(done.exception)


@pytest.mark.parametrize(
    ("code", "served", "said"),
    [
        (-9, True, "was ended by SIGKILL, so its running calls may be in doubt (assent claims list)"),
        (2, False, "ended with exit code 2 before it served"),
        (-300, False, "was ended by signal 300 before it served"),
    ],
)
def test_the_log_says_how_a_worker_ended(code: int, served: bool, said: str) -> None:
    assert _how_it_ended(code, served=served) == said
