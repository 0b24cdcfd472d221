"""Two clients in one engine: neither gets the other's environment, folder, streams or lines."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assent.gateway.engine import find_or_start, wire
from support.clients.transports import ROOT
from support.gateway.wrap_process import ASSENT, Wrapped, home

ECHO = str(ROOT / "tests" / "support" / "servers" / "echo_server.py")


async def started(environment: dict[str, str], folder: Path, mask: int = 0o022) -> Wrapped:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *ASSENT, "wrap", "--", sys.executable, ECHO, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=folder,
        umask=mask,
    )  # fmt: skip
    wrapped = Wrapped(process)
    await wrapped.greet()
    return wrapped


async def called(client: Wrapped, number: int, tool: str, **arguments: Any) -> Any:
    await client.say("tools/call", number, name=tool, arguments=arguments)
    answer = await client.hear()
    assert answer["id"] == number, answer
    return json.loads(answer["result"]["content"][0]["text"])


async def test_of_a_hundred_calls_of_two_clients_none_crosses(tmp_path: Path) -> None:
    common = home(tmp_path)
    clients = {}
    for who, mask in (("ann", 0o022), ("bob", 0o027)):
        (tmp_path / who).mkdir()
        clients[who] = await started({**common, "WHO": who, f"ONLY_{who.upper()}": "1"}, tmp_path / who, mask), mask

    async def calls(who: str) -> None:
        client, mask = clients[who]
        for number in range(1, 51):
            found = await called(client, number, "read_self", text=f"{who} {number}")
            expected = {"who": who, "folder": str(tmp_path / who), "mask": mask, "text": f"{who} {number}"}
            assert found == expected

    await asyncio.gather(calls("ann"), calls("bob"))
    variables = {who: await called(clients[who][0], 99, "list_variables") for who in clients}
    assert "ONLY_ANN" in variables["ann"] and "ONLY_BOB" not in variables["ann"]
    assert "ONLY_BOB" in variables["bob"] and "ONLY_ANN" not in variables["bob"]
    for client, _ in clients.values():
        assert (await client.end())[0] == 0


async def test_a_server_has_no_descriptor_or_variable_of_the_engine(tmp_path: Path) -> None:
    environment = {name: value for name, value in home(tmp_path).items() if name != "TERM"}
    one, two = await started(environment, tmp_path), await started(environment, tmp_path)
    found = await called(two, 1, "read_descriptors")
    assert set(found) == {"0", "1", "2"} and len(set(found.values())) == 3
    variables = await called(two, 2, "list_variables")
    assert {name for name in variables if name not in environment} <= {"LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_"}
    assert not any("engine-" in value for value in variables.values()), "the socket is not named"
    for client in (one, two):
        assert (await client.end())[0] == 0


async def test_what_a_server_says_on_standard_error_reaches_its_own_client(tmp_path: Path) -> None:
    environment = home(tmp_path)
    script = "import os, sys; print('I am', os.environ['WHO'], file=sys.stderr, flush=True); sys.stdin.read()"
    pipe = asyncio.subprocess.PIPE
    processes = [
        await asyncio.create_subprocess_exec(
            *ASSENT, "wrap", "--", sys.executable, "-c", script,
            stdin=pipe, stdout=pipe, stderr=pipe, env={**environment, "WHO": who},
        )
        for who in ("ann", "bob")
    ]  # fmt: skip
    for who, process in zip(("ann", "bob"), processes, strict=True):
        assert process.stderr is not None and process.stdin is not None
        lines = [await process.stderr.readline() for _ in range(2)]
        said = b"".join(lines).decode()
        assert f"I am {who}" in said and "I am" not in said.replace(f"I am {who}", "")
        process.stdin.close()
        assert await process.wait() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed, so only root can look")
async def test_another_user_cannot_use_the_engine(tmp_path: Path) -> None:
    environment = home(tmp_path)
    client = await started(environment, tmp_path)
    found = find_or_start.find_place(None, environment)
    os.close(found.descriptor)
    for folder in (tmp_path, *tmp_path.parents[:3], tmp_path / "state", tmp_path / "state" / "assent"):
        folder.chmod(folder.stat().st_mode | 0o011)  # All but the engine's own folder can be passed through.
    socket_file = Path(found.folder, f"{found.name}.sock")
    assert heard_by_stranger(socket_file) == "PermissionError"
    # Even with the folder and the socket open to all, the engine looks at who is there.
    Path(found.folder).chmod(0o755)
    socket_file.chmod(0o777)
    closed = {"nothing", "ConnectionResetError", "BrokenPipeError"}  # The engine closes before or after the question.
    assert heard_by_stranger(socket_file) in closed
    Path(found.folder).chmod(0o700)
    assert (await client.end())[0] == 0


def heard_by_stranger(socket_file: Path) -> str:
    """What another user hears who connects to the engine and asks it for its status."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.chdir(socket_file.parents[1])  # The path of a socket is short.
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(f"{socket_file.parent.name}/{socket_file.name}")
                with suppress(ConnectionError):
                    one.sendall(wire.hello(b"", b"ask") + wire.frame(wire.ASK, b'{"kind": "status"}'))
                os.write(writing, one.recv(100) or b"nothing")
        except BaseException as error:
            os.write(writing, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    try:
        return os.read(reading, 100).decode()
    finally:
        os.close(reading)
