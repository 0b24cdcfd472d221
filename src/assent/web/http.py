"""Reads HTTP requests and writes responses, within limits."""

import asyncio
import ipaddress
from typing import Protocol

import orjson

from assent.web.asgi import Headers, Message, Receive, Send

WATCH_AFTER = 0.05
JSON_FIELD = (b"content-type", b"application/json")


class BodyTooLarge(Exception):
    """The request body exceeds the limit."""


class Disconnected(Exception):
    """The client closed the connection."""


def is_loopback(host: str) -> bool:
    """Whether an address is one of this machine itself; a name is not an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def read_body(headers: Headers, receive: Receive, limit: int, patience: float = 30.0) -> bytes:
    """Reads the whole body; raises `BodyTooLarge` before it holds more than `limit` bytes."""
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
    """Sends one complete JSON response; an empty body has no content type.

    Our server reads `whole` and writes the response at once; any other server ignores it.
    """
    length = (b"content-length", b"%d" % len(body))
    own = [JSON_FIELD, length] if body else [length]
    headers = own + fields if fields else own
    await send({"type": "http.response.start", "status": status, "headers": headers, "whole": body})
    await send({"type": "http.response.body", "body": body})


async def respond_error(
    send: Send, status: int, message: str, fields: Headers | None = None, *, detail: str | None = None
) -> None:
    """Sends an HTTP-level error as JSON."""
    more = {} if detail is None else {"detail": detail}
    await respond(send, status, orjson.dumps({"status": status, "title": message, **more}), fields)


class SlowRequest(Protocol):
    """A request that wants to be notified when it takes long."""

    def on_slow(self) -> None: ...


class SlowRequestTimer:
    """Notifies requests that have run for a while, with one coarse timer shared by all.

    Nearly every request ends before the timer fires, and one timer per request costs too much.
    """

    __slots__ = ("_before", "_every", "_now", "_ticking")

    def __init__(self, every: float = WATCH_AFTER) -> None:
        self._every, self._ticking = every, False
        self._now: dict[SlowRequest, None] = {}
        self._before: dict[SlowRequest, None] = {}

    def enter(self, request: SlowRequest) -> None:
        self._now[request] = None
        if not self._ticking:
            self._ticking = True
            asyncio.get_running_loop().call_later(self._every, self._tick)

    def leave(self, request: SlowRequest) -> None:
        self._now.pop(request, None)
        self._before.pop(request, None)

    def _tick(self) -> None:
        """Notifies the requests that were already running at the previous tick."""
        slow, self._before, self._now = self._before, self._now, {}
        for request in slow:
            request.on_slow()
        self._ticking = bool(self._before or self._now)
        if self._ticking:
            asyncio.get_running_loop().call_later(self._every, self._tick)


class DisconnectWatcher:
    """Cancels the running task when the client disconnects.

    Most responses are ready within milliseconds, so listening starts after a delay, or when a caller with its
    own timer calls `begin`. A quick call pays almost nothing.
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
        """Lets the task continue after the client has disconnected."""
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
