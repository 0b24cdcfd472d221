"""How is `assent wrap` run by a test, and spoken to line by line?"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.processes.engines import stopped_after_test

ASSENT = [sys.executable, "-c", "from assent.cli import main; main()"]


def home(folder: Path, configuration: str = "") -> dict[str, str]:
    """The environment of a user whose files lie in a folder of the test."""
    if configuration:
        (folder / "config" / "assent").mkdir(parents=True)
        (folder / "config" / "assent" / "assent.yaml").write_text(configuration)
    places = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    return stopped_after_test({**os.environ, **places})


class Wrapped:
    """`assent wrap`, spoken to line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def say(self, method: str, request_id: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message if request_id is None else {**message, "id": request_id}).encode())
        self.process.stdin.write(b"\n")
        await self.process.stdin.drain()

    async def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        return json.loads(line) if line else {}

    async def greet(self, **capabilities: Any) -> dict[str, Any]:
        client = {"name": "t", "version": "0"}
        await self.say("initialize", 0, protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=client)
        result = await self.hear()
        await self.say("notifications/initialized")
        return result

    async def end(self) -> tuple[int, str]:
        """Close its input and wait; how it ended, and what it said on its standard error."""
        _, said = await self.process.communicate(b"")
        assert self.process.returncode is not None
        return self.process.returncode, said.decode()


@asynccontextmanager
async def running(environment: dict[str, str], *command: str, options: tuple[str, ...] = ()) -> AsyncIterator[Wrapped]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *ASSENT, "wrap", *options, "--", *command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
    )
    try:
        yield Wrapped(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate(b"")
        process._transport.close()  # type: ignore[attr-defined]
