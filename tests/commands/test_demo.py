"""`assent demo` as a new user tries it: every printed line is tried."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters

ASSENT = [sys.executable, "-c", "from assent.cli import main; main()"]


@asynccontextmanager
async def demo(folder: Path, *arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, list[str]]]:
    """The demo in a folder of its own, and the lines it has printed until it serves."""
    process = await asyncio.create_subprocess_exec(
        *ASSENT, "demo", "--port", "0", *arguments, cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    lines: list[str] = []
    try:
        assert process.stdout is not None
        while line := (await process.stdout.readline()).decode():
            lines.append(line.rstrip("\n"))
            if line.startswith("Serving until"):
                break
        yield process, lines
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


def printed(lines: list[str], *words: str) -> list[str]:
    """The one printed command that has these words in it."""
    (found,) = [line for line in lines if all(word in line for word in words)]
    return shlex.split(found)


async def run(command: list[str], folder: Path) -> int:
    if command[0].endswith("assent"):
        command = [*ASSENT, *command[1:]]
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=asyncio.subprocess.DEVNULL)
    return await process.wait()


async def curl(command: list[str]) -> Any:
    """What a printed `curl` line gets."""
    headers = dict(value.split(": ") for flag, value in itertools.pairwise(command) if flag == "-H")
    async with httpx2.AsyncClient() as client:
        answer = await client.post(command[2], content=command[-1].encode(), headers=headers)
    return answer.json()["result"]


async def test_the_story_is_told_and_every_printed_line_is_true(tmp_path: Path) -> None:
    async with demo(tmp_path) as (process, lines):
        text = "\n".join(lines)
        listed = await curl(printed(lines, "curl", "tools/list"))
        checked = await run(printed(lines, "pin --check"), tmp_path)
        accepted = await run(printed(lines, "pin --write"), tmp_path)
        waiting = await curl(printed(lines, "curl", "delete_files"))
        approved = await run(printed(lines, "approvals approve"), tmp_path)
        deleted = await curl(printed(lines, "curl", "delete_files"))
        snippet = json.loads(next(line for line in lines if "mcpServers" in line))["mcpServers"]["demo"]
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
    for said in ("Price: 480", "rehearse.dry_run_required", "confirm.approval_pending", "replayed: true", "book: 1."):
        assert said in text
    assert "the tool is withheld until somebody accepts" in text
    assert len(listed["tools"]) == 9
    assert (checked, accepted, approved) == (1, 0, 0)
    assert waiting["structuredContent"]["code"] == "confirm.approval_pending"
    assert deleted["structuredContent"] == {"deleted": 3}
    assert [path.name for path in tmp_path.iterdir()] == [".assent-demo"], "nothing outside its folder"
    state = {"XDG_STATE_HOME": str(tmp_path / "s"), "XDG_CONFIG_HOME": str(tmp_path / "c")}
    server = StdioServerParameters(command=ASSENT[0], args=[*ASSENT[1:], *snippet["args"]], env={**os.environ, **state})
    async with Client(server) as client:
        assert "list_orders" in [tool.name for tool in (await client.list_tools()).tools]


async def test_it_starts_afresh_each_time_and_ends_by_itself_when_told_once(tmp_path: Path) -> None:
    for _ in range(2):
        async with demo(tmp_path, "--once") as (process, lines):
            assert await process.wait() == 0
        assert "Refused (rehearse.dry_run_required)" in "\n".join(lines)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_while_the_story_is_told_stops_it_cleanly(number: int, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *ASSENT, "demo", "--port", "0", cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    process.send_signal(number)
    _, said = await process.communicate()
    assert (process.returncode, "Traceback" in said.decode()) == (0, False)
    process._transport.close()  # type: ignore[attr-defined]
