"""How are HTTP requests read and answered on our side, within bounds?"""

import asyncio
from typing import Protocol

import orjson

from assent.web.asgi import Headers, Message, Receive, Send

WATCH_AFTER = 0.05
_JSON = (b"content-type", b"application/json")


class BodyTooLarge(Exception):
    """The request's body is larger than we take."""


class Disconnected(Exception):
    """The caller is gone."""


async def read_body(headers: Headers, receive: Receive, limit: int, patience: float = 30.0) -> bytes:
    """The whole body, or `BodyTooLarge` before more than `limit` bytes are held."""
    for name, value in headers:
        if name == b"content-length" and (len(value) > 12 or int(value) > limit):
            raise BodyTooLarge
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise BodyTooLarge
        return body
    return await _read_slowly(message, receive, limit, patience)


async def _read_slowly(message: Message, receive: Receive, limit: int, patience: float) -> bytes:
    parts, size = [], 0
    while True:
        if message["type"] != "http.request":
            raise Disconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return b"".join(parts)
        try:
            async with asyncio.timeout(patience):
                message = await receive()
        except TimeoutError:
            raise Disconnected from None


async def respond(send: Send, status: int, body: bytes, fields: Headers | None = None) -> None:
    """One whole JSON answer (or none: an empty body has no content type)."""
    length = (b"content-length", b"%d" % len(body))
    own = [_JSON, length] if body else [length]
    await send({"type": "http.response.start", "status": status, "headers": own + fields if fields else own})
    await send({"type": "http.response.body", "body": body})


async def respond_error(
    send: Send, status: int, message: str, fields: Headers | None = None, *, detail: str | None = None
) -> None:
    """An answer that is about HTTP and not about a message: JSON all the same."""
    more = {} if detail is None else {"detail": detail}
    await respond(send, status, orjson.dumps({"status": status, "title": message, **more}), fields)


class SlowRequest(Protocol):
    """Who wants to know that its request takes a while."""

    def on_slow(self) -> None: ...


class SlowRequestTimer:
    """Tells requests that they have been under way for a moment: one coarse timer for all of them.

    Nearly every request is over before it would be told, and a timer each costs more than all else it does to wait.
    """

    __slots__ = ("_before", "_every", "_now", "_walking")

    def __init__(self, every: float = WATCH_AFTER) -> None:
        self._every, self._walking = every, False
        self._now: dict[SlowRequest, None] = {}
        self._before: dict[SlowRequest, None] = {}

    def enter(self, request: SlowRequest) -> None:
        self._now[request] = None
        if not self._walking:
            self._walking = True
            asyncio.get_running_loop().call_later(self._every, self._walk)

    def leave(self, request: SlowRequest) -> None:
        self._now.pop(request, None)
        self._before.pop(request, None)

    def _walk(self) -> None:
        """Whoever was there on the last round already is slow."""
        slow, self._before, self._now = self._before, self._now, {}
        for request in slow:
            request.on_slow()
        self._walking = bool(self._before or self._now)
        if self._walking:
            asyncio.get_running_loop().call_later(self._every, self._walk)


class DisconnectWatcher:
    """Cancels the running task when the caller hangs up.

    Most answers are ready within milliseconds, so listening starts only after a moment (or when somebody else
    who has a timer calls `begin`): a quick call pays next to nothing.
    """

    __slots__ = ("_listener", "_receive", "_task", "_timer", "gone")

    def __init__(self, receive: Receive, after: float | None = WATCH_AFTER) -> None:
        self.gone = False
        self._receive = receive
        self._task = asyncio.current_task()
        self._listener: asyncio.Task[None] | None = None
        self._timer = None if after is None else asyncio.get_running_loop().call_later(after, self.begin)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._listener is not None:
            self._listener.cancel()

    def release(self) -> None:
        """The task goes on without its caller."""
        self._task = None
        self.stop()

    def begin(self) -> None:
        if self._task is not None and self._listener is None:
            self._listener = asyncio.ensure_future(self._listen())

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._task is not None:
            self.gone = True
            self._task.cancel()
