"""One ear at a process: what it hears, also of a process that was started anew."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from assent.mcp.jsonrpc import RpcError
from assent.upstreams.errors import ConnectionLost
from assent.upstreams.stdio.process import LaunchSpec
from assent.upstreams.stdio.server import StdioUpstream
from assent.upstreams.stdio.subscriptions import StdioSubscriptions
from assent.upstreams.subscriptions import TooManyResources
from support.clients.transports import ROOT

LIBRARIES = str(ROOT / "tests" / "support" / "servers" / "library_server.py")
UPDATED = "notifications/resources/updated"


class Scene:
    """A process, an ear at it, and what the ear passed on."""

    def __init__(self, era: str) -> None:
        self.notices: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        launch = LaunchSpec("beta", [sys.executable, LIBRARIES, "beta", era], dict(os.environ))
        clock = iter(range(0, 1_000_000, 1000))  # so that no start waits for the one before
        self.server = StdioUpstream(
            launch, {"name": "test", "version": "1"}, mark="t", clock=lambda: float(next(clock)), patience=30
        )
        self.upstream_subscriptions = StdioSubscriptions(self.server, self.notices.put_nowait)

    async def news(self, *uris: str) -> None:
        for uri in uris:
            await self.server.request("tools/call", {"name": "get_news", "arguments": {"uri": uri}}, {})

    async def update(self) -> str:
        """The next resource of which the ear hears that it changed."""
        async with asyncio.timeout(10):
            while (notice := await self.notices.get())["method"] != UPDATED:
                pass
        return str(notice["params"]["uri"])

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        described = await self.server.ready()
        self.upstream_subscriptions.was_heard = False
        task = asyncio.ensure_future(self.upstream_subscriptions.listen(described))
        while not (self.upstream_subscriptions.was_heard or task.done()):  # noqa: ASYNC110 (no event for it)
            await asyncio.sleep(0)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(params=["modern", "handshake"])
async def scene(request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    made = Scene(request.param)
    yield made
    await made.server.close()


async def test_what_is_watched_is_watched_in_the_next_process_too_and_what_was_left_is_not(scene: Scene) -> None:
    async with scene.listening():
        await scene.upstream_subscriptions.watch("beta://books/1")
        await scene.upstream_subscriptions.watch("beta://books/1")
        await scene.upstream_subscriptions.watch("beta://pages/1")
        await scene.upstream_subscriptions.leave("beta://pages/1")
        await scene.news("beta://books/1")
        assert await scene.update() == "beta://books/1"
        with pytest.raises(ConnectionLost):
            await scene.server.request("tools/call", {"name": "find_end", "arguments": {}}, {})
        await scene.server.wait_until_ended()
    async with scene.listening():
        await scene.news("beta://books/1")
        assert await scene.update() == "beta://books/1"
        await scene.upstream_subscriptions.leave("beta://books/1")
        await scene.upstream_subscriptions.leave("beta://books/1")


async def test_no_more_resources_are_watched_than_there_is_room_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assent.upstreams.subscriptions.MOST_RESOURCES", 1)
    async with scene.listening():
        await scene.upstream_subscriptions.watch("beta://books/1")
        with pytest.raises(TooManyResources):
            await scene.upstream_subscriptions.watch("beta://pages/1")


async def test_where_each_person_has_a_process_nobody_watches_with_the_shared_one() -> None:
    server = Scene("modern").server
    with pytest.raises(RpcError, match="each person has their own process"):
        await StdioSubscriptions(server, lambda _: None, per_user=True).watch("library://alpha")


@pytest.mark.parametrize("params", [[1], "x", {"_meta": "x"}, {"_meta": [1]}])
async def test_an_acknowledgement_without_a_name_is_passed_over(params: Any) -> None:
    scene = Scene("modern")
    scene.server.on_notice({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params})
    assert scene.notices.empty()
