"""LISTEN/NOTIFY: tells a process at once what another has ended or decided.

This only saves time: waiters also poll, so databases and poolers without LISTEN work too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from assent.errors import StoreError
from assent.stores.postgres.database import FAILURES, Database
from assent.stores.postgres.tables import CHANNEL

PAUSE = 5.0
"""Seconds before a lost listener connects again."""


class NotifyListener:
    """A connection that only listens; it opens when a caller first waits."""

    def __init__(self, database: Database, on_change: Callable[[Iterable[str]], None]) -> None:
        self._database, self._on_change = database, on_change
        self._connection: Any = None
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0.0

    def ensure_listening(self) -> None:
        """Start to listen, unless that is already so or failed moments ago."""
        if self._database.pooled:  # A pooler's session would listen for whoever has it next.
            return
        listening = self._connection is not None and not self._connection.is_closed()
        loop = asyncio.get_running_loop()
        if listening or (self._task is not None and not self._task.done()) or loop.time() < self._not_before:
            return
        self._task = loop.create_task(self._listen())

    async def _listen(self) -> None:
        connection: Any = None
        try:
            connection = await self._database.connect()
            await connection.add_listener(CHANNEL, self._on_notify)
            self._connection = connection
        except (*FAILURES, StoreError):
            self._not_before = asyncio.get_running_loop().time() + PAUSE
            await _close(connection)

    def _on_notify(self, connection: Any, process: int, channel: str, names: str) -> None:
        self._on_change(names.split("\n"))

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await _close(self._connection)


async def _close(connection: Any) -> None:
    if connection is not None:
        with suppress(*FAILURES):
            await connection.close(timeout=2.0)
