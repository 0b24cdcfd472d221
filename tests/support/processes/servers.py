"""Servers in processes of their own: an application that prints its port, and a way to start one."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from assent.web.server import bind, make_server, run_loop

_TESTS = Path(__file__).parents[2]


def run_app(app: Any, port: int = 0) -> None:
    """Serve `app` on 127.0.0.1, on a free port where none is given, and say which."""
    listener = bind("127.0.0.1", port)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    run_loop(make_server(app, drain=1, lifespan="auto").serve(sockets=[listener]))


@contextmanager
def running(module: str, *arguments: str) -> Iterator[int]:
    """Run `python -m module` until the block ends; gives its port."""
    with started(module, *arguments) as (_, port):
        yield port


@contextmanager
def started(module: str, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """The same, with the process, for a test that kills it."""
    environment = {**os.environ, "PYTHONPATH": str(_TESTS)}
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, env=environment, text=True
    )
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close() if process.stdout else None


class Command:
    """A running `assent` command, read line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def said(self, pattern: str) -> "re.Match[str]":
        """Wait until it says something on standard error."""
        assert self.process.stderr is not None
        async with asyncio.timeout(60):
            while line := (await self.process.stderr.readline()).decode():
                self.lines.append(line.rstrip())
                if found := re.search(pattern, line):
                    return found
        raise AssertionError(f"it never said {pattern!r}, but {self.lines}")

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


@asynccontextmanager
async def commanded(*arguments: str) -> AsyncIterator[Command]:
    """Run `assent` with arguments until the block ends."""
    command = await start_command(*arguments)
    try:
        yield command
    finally:
        await command.kill()


async def start_command(*arguments: str) -> Command:
    """A new process of `assent` with arguments."""
    program = str(Path(sys.executable).with_name("assent"))
    return Command(await asyncio.create_subprocess_exec(program, *arguments, stderr=subprocess.PIPE))
