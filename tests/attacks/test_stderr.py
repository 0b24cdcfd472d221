"""What a stdio server prints on its standard error: bounded, and never taken for a line of our own log."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from assent.upstreams.stdio.stderr import ALLOWED, LONGEST_LINE, WINDOW, StderrLog
from support.clients.transports import ROOT
from support.gateway.gateways import configuration, post, rpc
from support.gateway.wrap_process import home, running
from support.processes.servers import commanded

LOUD = [sys.executable, str(ROOT / "tests" / "support" / "servers" / "flooding_server.py")]
MOST = 1_000_000


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def served(folder: Path, kind: str) -> list[str]:
    file = folder / "assent.yaml"
    file.write_text(configuration(folder, {"loud": {"command": [*LOUD, kind]}}))
    return ["serve", "-c", str(file), "--port", "0"]


async def logged(caplog: pytest.LogCaptureFixture, *pieces: bytes, every: float = 0.0) -> list[str]:
    """What the log says of some output, with a clock that moves on with every piece."""
    caplog.clear()
    clock = Clock()
    stream = asyncio.StreamReader()
    log = StderrLog("loud", clock)
    with caplog.at_level(logging.INFO):
        for piece in pieces:
            clock.now += every
            held = log._log_lines(piece)
            assert len(held) <= LONGEST_LINE
        stream.feed_eof()
        await log.read(stream)
    return [record.getMessage() for record in caplog.records]


async def test_a_flood_is_cut_off_and_what_was_dropped_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    line = b"x" * 999 + b"\n"
    said = await logged(caplog, *[line * 64] * 1000, every=WINDOW / 1001)
    assert sum(map(len, said)) < MOST
    warnings = [text for text in said if "standard error" in text]
    assert len(warnings) == 2
    assert f"more than {ALLOWED // 1024} kB on its standard error within 10 seconds" in warnings[0]
    assert warnings[1].endswith("bytes of its standard error were dropped")
    dropped, shown = int(warnings[1].split()[1]), len(said) - 2
    assert abs(dropped + shown * len(line) - 1000 * 64 * len(line)) < 2 * len(line) + shown


async def test_a_flood_that_goes_on_is_allowed_less(caplog: pytest.LogCaptureFixture) -> None:
    said = await logged(caplog, *[b"x" * 999 + b"\n"] * 100_000, every=0.01)
    assert sum(map(len, said)) < 3 * MOST, "a thousand seconds of it"


async def test_one_endless_line_is_cut_off_too(caplog: pytest.LogCaptureFixture) -> None:
    said = await logged(caplog, *[b"x" * 65536] * 1000)
    assert sum(map(len, said)) < MOST
    assert max(map(len, said)) < LONGEST_LINE + 100


async def test_a_gateway_before_a_flooding_server_writes_little_and_serves(tmp_path: Path) -> None:
    async with commanded(*served(tmp_path, "flood")) as command:
        url = (await command.said(r"at (http\S+/mcp)"))[1]
        if not any("the rest is dropped" in line for line in command.lines):
            await command.said("the rest is dropped")
        for _ in range(20):
            answer = await post(url, rpc("tools/call", name="list_things", arguments={}))
            assert "things" in answer.text
        command.process.send_signal(signal.SIGTERM)
        await command.said("Stopped")
    assert sum(map(len, command.lines)) < MOST
    assert sum("the rest is dropped" in line for line in command.lines) == 1


async def test_a_wrapped_server_that_floods_writes_little(tmp_path: Path) -> None:
    async with running(home(tmp_path), *LOUD, "flood") as client:
        await client.greet()
        await client.say("tools/call", 1, name="list_things", arguments={})
        called = await client.hear()
        _, words = await client.end()
    assert called["result"]["content"][0]["text"] == "things"
    assert len(words) < MOST
    assert words.count("the rest is dropped") == 1


async def test_a_server_cannot_forge_a_line_of_our_log(tmp_path: Path) -> None:
    async with commanded(*served(tmp_path, "forge"), "--log-format", "json") as command:
        await command.said("at http")
        command.process.send_signal(signal.SIGTERM)
        await command.said("Stopped")
    lines: list[dict[str, Any]] = [json.loads(line) for line in command.lines]
    assert [one for one in lines if "forged" in one["message"] or "approved" in one["message"]]
    assert {one["logger"] for one in lines if "approved" in one["message"]} == {"assent.upstreams.stdio.stderr"}
    assert {one["upstream"] for one in lines if "approved" in one["message"]} == {"loud"}


async def test_a_server_cannot_forge_a_line_of_text_either(tmp_path: Path) -> None:
    async with commanded(*served(tmp_path, "forge")) as command:
        await command.said("at http")
        command.process.send_signal(signal.SIGTERM)
        await command.said("Stopped")
    theirs = [line for line in command.lines if any(word in line for word in ("approved", "forged", "red"))]
    assert len(theirs) == 4
    assert all(" INFO assent.upstreams.stdio.stderr: loud: " in line for line in theirs)
    assert theirs[1].count("\\r") == 1 and theirs[2].endswith("loud: red \\x1b[2Jcleared")


async def test_the_last_words_of_a_wrapped_server_are_shown(tmp_path: Path) -> None:
    async with running(home(tmp_path), *LOUD, "crash") as client:
        assert await client.hear() == {}
        code, words = await client.end()
    assert code == 1
    assert "there is no licence file" in words
