"""How does a test use a real browser, where there is one?"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Tab:
    """One tab of a browser without a window."""

    def __init__(self, wire: ClientConnection) -> None:
        self._wire, self._ids = wire, itertools.count(1)
        self._session: str | None = None

    async def open(self, url: str) -> None:
        target = await self._say("Target.createTarget", url="about:blank")
        attached = await self._say("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        await self._say("Page.enable")
        await self._say("Page.navigate", url=url)
        await self._heard("Page.loadEventFired")

    async def evaluate(self, script: str) -> Any:
        said = await self._say("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return said["result"].get("value")

    async def click(self, selector: str) -> None:
        """Click as a person does, and wait for the page that follows."""
        await self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        await self._heard("Page.loadEventFired")

    async def screenshot(self, to: Path) -> None:
        said = await self._say("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(said["data"]))

    async def _say(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        await self._wire.send(json.dumps(message | ({"sessionId": self._session} if self._session else {})))
        while (heard := json.loads(await self._wire.recv())).get("id") != number:
            pass
        assert "error" not in heard, heard
        return dict(heard["result"])

    async def _heard(self, event: str) -> None:
        while json.loads(await self._wire.recv()).get("method") != event:
            pass


@asynccontextmanager
async def browser() -> AsyncIterator[Tab]:
    """A browser of our own, on a profile of its own."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            CHROMIUM,
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
            *("--remote-debugging-port=0", f"--user-data-dir={profile}", "--window-size=900,1000", "about:blank"),
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "HOME": profile},
        )
        assert process.stderr is not None
        try:
            async with asyncio.timeout(60):
                while b"listening on" not in (line := await process.stderr.readline()):
                    assert line, "the browser ended"
                async with connect(line.split()[-1].decode(), max_size=None) as wire:
                    yield Tab(wire)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()
