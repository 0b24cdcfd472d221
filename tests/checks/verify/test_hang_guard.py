"""What happens when a tool holds the program that called it?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from queue import Queue
from typing import Any

import pytest

from assent.checks.verify.watched_sessions import HangGuard


class Held:
    """A session whose calls are answered once `free` is set."""

    questions_asked = 3

    def __init__(self) -> None:
        self.free = asyncio.Event()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, key: str | None = None, agree: bool = True
    ) -> dict[str, Any]:
        await self.free.wait()
        return {"tool": tool, "key": key, "agree": agree}

    async def responds(self) -> bool:
        return True


async def test_a_call_that_does_not_even_time_out_ends_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    codes: Queue[int] = Queue()
    session = Held()
    call = asyncio.create_task(HangGuard(0, grace=0, end=codes.put).over(session).call("list_notes", {}))
    assert await asyncio.to_thread(codes.get) == 1
    assert "list_notes did not answer and holds the program" in capsys.readouterr().err
    session.free.set()
    await call


async def test_a_call_that_is_answered_is_passed_on_and_no_longer_watched() -> None:
    codes: Queue[int] = Queue()
    session = Held()
    session.free.set()
    watched = HangGuard(3600, end=codes.put).over(session)
    assert watched.questions_asked == 3
    assert await watched.call("list_notes", {}, key="k", agree=False) == {
        "tool": "list_notes",
        "key": "k",
        "agree": False,
    }
    assert codes.empty()


def test_a_server_that_does_not_end_is_left_with_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    codes: Queue[int] = Queue()
    HangGuard(3600, grace=0, end=codes.put).leave(0)
    assert codes.get() == 0
    assert "may still be running" in capsys.readouterr().err


def test_nobody_is_left_behind_who_ends_by_himself() -> None:
    codes: Queue[int] = Queue()
    leaving = HangGuard(3600, grace=3600, end=codes.put).leave(0)
    leaving.cancel()
    leaving.join()
    assert codes.empty()
