"""Keeps the names of a gateway's tools in the store, for commands that run beside it."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import orjson

from assent.config.model import Settings
from assent.core.document import Document
from assent.errors import StoreError
from assent.ports import Store

KIND = "gateway_tools"


class ToolNamesKeeper:
    """Writes the names when they change."""

    def __init__(self, store: Store, settings: Callable[[], Settings]) -> None:
        self._store, self._settings = store, settings
        self._kept_names: list[str] = []
        self._task: asyncio.Task[None] | None = None

    def keep(self, names: Iterable[str]) -> None:
        """Keep these names soon, unless they are kept already."""
        wanted = sorted(names)
        if wanted != self._kept_names:
            self._kept_names = wanted
            self._task = asyncio.create_task(self._write(wanted))

    async def stop(self) -> None:
        if self._task is not None:
            await self._task

    async def _write(self, names: list[str]) -> None:
        id = hashlib.sha256(orjson.dumps(sorted(self._settings().upstreams))).hexdigest()[:24]
        with suppress(StoreError):
            await self._store.put_document(Document(KIND, id, orjson.dumps(names)), time.time())
