"""Sends notifications aside from calls: bounded queues, retries with growing pauses, once for all replicas."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from assent.config.notify import NotifySettings
from assent.core.approval import Approval
from assent.core.document import Document
from assent.core.limited_dict import LimitedDict
from assent.errors import StoreError
from assent.people.notify.channels import Channel, Notice, Undelivered, channel_of
from assent.ports import Store

logger = logging.getLogger(__name__)

KIND = "approval_notice"
MOST_WAITING = 1000
MOST_TRIES = 6
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
MOST_KNOWN = 10_000


class Notifier:
    """One worker for each channel, so that one that is down holds up no other."""

    def __init__(
        self,
        settings: Sequence[NotifySettings],
        store: Store,
        now: Callable[[], float],
        url: Callable[[str], str | None],
        pause: float = FIRST_PAUSE,
    ) -> None:
        self._settings, self._store, self._now, self._url, self._pause = tuple(settings), store, now, url, pause
        self._channels: list[Channel] = [channel_of(one) for one in self._settings]
        self._queues: list[asyncio.Queue[Approval]] = []
        self._known = LimitedDict[str, None](MOST_KNOWN)
        self._tasks: list[asyncio.Task[None]] = []
        self._users = 0
        self.sent, self.failed, self.dropped = 0, 0, 0

    def start(self) -> None:
        """Begin to send. A library server starts it once for each of its sessions in this process."""
        self._users += 1
        # Nothing is left from before, and a queue serves one event loop only.
        self._queues = self._queues if self._tasks else [asyncio.Queue(MOST_WAITING) for _ in self._settings]
        self._tasks = self._tasks or [asyncio.create_task(self._work(index)) for index in range(len(self._settings))]

    async def stop(self) -> None:
        """End with the last user. What was not sent yet is not sent any more: the inbox has every approval."""
        self._users -= 1
        if self._users > 0:
            return
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def offer(self, approval: Approval) -> None:
        """Tell people of an approval that waits; again for the same one does nothing. Never waits, never raises."""
        if not self._tasks or approval.id in self._known or self._url(approval.id) is None:
            return
        self._known[approval.id] = None
        for one, queue in zip(self._settings, self._queues, strict=True):
            if one.tenant in (None, approval.tenant):
                try:
                    queue.put_nowait(approval)
                except asyncio.QueueFull:
                    self.dropped += 1
                    logger.error("notify (%s): too many wait; approval %s is not announced", one.channel, approval.id)

    async def _work(self, index: int) -> None:
        while True:
            approval = await self._queues[index].get()
            try:
                if await self._is_ours(index, approval):
                    await self._deliver(index, approval)
            except StoreError as error:
                logger.error("notify (%s): %s", self._settings[index].channel, error)
            except Exception:
                logger.exception("notify (%s): approval %s", self._settings[index].channel, approval.id)

    async def _is_ours(self, index: int, approval: Approval) -> bool:
        """Whether no other replica announces it on this channel."""
        mark = Document(KIND, f"{approval.id}.{index}", b"{}", approval.tenant, expires_at=approval.expires_at)
        return await self._store.put_document(mark, self._now(), expected=0) is not None

    async def _deliver(self, index: int, approval: Approval) -> None:
        one, url = self._settings[index], self._url(approval.id)
        assert url is not None
        notice, pause, why = Notice.of(approval, url, arguments=one.arguments), self._pause, ""
        for attempt in range(MOST_TRIES):
            if attempt:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            if self._now() >= approval.expires_at:
                why = why or "it expired before"
                break
            try:
                await self._channels[index].send(notice)
            except Undelivered as error:
                why = str(error)
                logger.warning("notify (%s): approval %s: %s", one.channel, approval.id, why)
                if not error.again:
                    break
            else:
                self.sent += 1
                return
        self.failed += 1
        logger.error("notify (%s): approval %s was not announced: %s", one.channel, approval.id, why)
        with suppress(StoreError):
            await self._store.delete_document(KIND, f"{approval.id}.{index}", self._now())
