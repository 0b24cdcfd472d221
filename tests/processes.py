"""Servers in processes of their own: an application that prints its port, and a way to start one."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assent.edges.server import bind, make_server

_TESTS = Path(__file__).parent


def run_app(app: Any, port: int = 0) -> None:
    """Serve `app` on 127.0.0.1, on a free port where none is given, and say which."""
    listener = bind("127.0.0.1", port)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    server = make_server(app, drain=1, lifespan="auto")
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))


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
