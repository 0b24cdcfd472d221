"""Requests nobody thought of, made from the document itself: never a failure of ours, never what it does not declare."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edges.api.scene import Scene, key_of, scene

schemathesis = pytest.importorskip("schemathesis")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A gateway in a thread of its own, since these requests come from one that waits for them."""
    folder: Path = tmp_path_factory.mktemp("fuzz")
    ready, over, found = threading.Event(), asyncio.Event(), list[Any]()

    async def serve() -> None:
        async with scene(folder) as running:
            await running.ask()
            found.extend([running, asyncio.get_running_loop()])
            ready.set()
            await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    yield found[0]
    found[1].call_soon_threadsafe(over.set)
    thread.join()


@pytest.fixture(params=["root", "ci", "eve", None])
def schema(request: pytest.FixtureRequest, there: Scene) -> Any:
    loaded = schemathesis.openapi.from_url(f"{there.base}/api/openapi.json")
    loaded.headers = {"authorization": f"Bearer {key_of(request.param)}"} if request.param else {}
    loaded.caller = request.param
    return loaded
