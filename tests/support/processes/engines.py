"""Engines that tests start: each home folder has its own, which is stopped after the test."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from assent.config.folders import state_folder
from assent.gateway.engine import client, find_or_start

_HOMES: list[Mapping[str, str]] = []


def stopped_after_test(environment: dict[str, str]) -> dict[str, str]:
    """The same environment, whose engine is stopped after the test."""
    _HOMES.append(environment)
    return environment


def stop_engines() -> None:
    while _HOMES:
        environment = _HOMES.pop()
        if Path(state_folder(environment)).exists():
            stop_engine(environment)


def end_engines_under(folder: Path) -> None:
    """End the engines whose configuration or state lies under a folder of the tests."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if any(b"assent.gateway.engine.process" in word for word in words[:5]) and any(
                os.fsencode(folder) + b"/" in word for word in words
            ):
                os.kill(int(process.name), signal.SIGTERM)


def stop_engine(environment: Mapping[str, str], config: str | None = None) -> None:
    with suppress(client.EngineRefused, find_or_start.Unavailable, find_or_start.Unsafe, TimeoutError, OSError):
        client.ask("stop", environment=environment, config=config, start=False, within=20)


def engine_process(environment: Mapping[str, str], config: str | None = None) -> int:
    """The process of the engine of a home folder, which must run."""
    answer = client.ask("status", environment=environment, config=config, start=False)
    assert answer is not None, "no engine runs"
    return int(answer["process"])


def has_engine(environment: Mapping[str, str]) -> bool:
    found = find_or_start.find_place(None, environment)
    try:
        connection = find_or_start.connect(found)
        if connection is not None:
            connection.close()
        return connection is not None
    finally:
        os.close(found.descriptor)
