"""How does one process hear at once what another has ended or decided?

Hearing only saves time: who waits also looks, so that databases and poolers without LISTEN serve as well.
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
"""Seconds before a listener that was lost is tried again."""


class NotifyListener:
    """A connection that only listens, opened when somebody first waits."""

    def __init__(self, database: Database, heard: Callable[[Iterable[str]], None]) -> None:
        self._database, self._heard = database, heard
        self._connection: Any = None
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0.0

    def wanted(self) -> None:
        """Somebody waits: listen, unless we do already or failed a moment ago."""
        listening = self._connection is not None and not self._connection.is_closed()
        loop = asyncio.get_running_loop()
        if listening or (self._task is not None and not self._task.done()) or loop.time() < self._not_before:
            return
        self._task = loop.create_task(self._listen())

    async def _listen(self) -> None:
        connection: Any = None
        try:
            connection = await self._database.connect()
            await connection.add_listener(CHANNEL, self._hear)
            self._connection = connection
        except (*FAILURES, StoreError):
            self._not_before = asyncio.get_running_loop().time() + PAUSE
            await _close(connection)

    def _hear(self, connection: Any, process: int, channel: str, names: str) -> None:
        self._heard(names.split("\n"))

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await _close(self._connection)


async def _close(connection: Any) -> None:
    if connection is not None:
        with suppress(*FAILURES):
            await connection.close(timeout=2.0)
