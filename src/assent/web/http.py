"""Reads HTTP requests and writes responses, within limits."""

import asyncio
import ipaddress
from typing import Any

import orjson

from assent.web.asgi import Headers, Receive, Send

WATCH_AFTER = 0.05
_PATIENCE = 30.0
"""Seconds between two parts of a body."""
_JSON_FIELD = (b"content-type", b"application/json")


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


def whole_body(receive: Receive, limit: int) -> bytes | None:
    """The body, if our server has received all of it already; raises `BodyTooLarge` if it exceeds the limit."""
    take = getattr(getattr(receive, "__self__", None), "take_body", None)
    body: bytes | None = None if take is None else take()
    if body is not None and len(body) > limit:
        raise BodyTooLarge
    return body


async def read_body(headers: Headers, receive: Receive, limit: int) -> bytes:
    """Reads the whole body; raises `BodyTooLarge` before it holds more than `limit` bytes."""
    for name, value in headers:
        if name == b"content-length" and (len(value) > 12 or int(value) > limit):
            raise BodyTooLarge
    parts, size, message = [], 0, await receive()
    while message["type"] == "http.request":
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return b"".join(parts)
        try:
            async with asyncio.timeout(_PATIENCE):
                message = await receive()
        except TimeoutError:
            break
    raise Disconnected


async def respond(send: Send, status: int, body: bytes, fields: Headers | None = None) -> None:
    """Sends one complete JSON response; an empty body has no content type.

    Our server writes a response that needs no other headers at once, without the steps for streams.
    """
    whole = getattr(getattr(send, "__self__", None), "send_whole", None)
    if whole is not None and body and not fields and whole(status, body):
        return
    length = (b"content-length", b"%d" % len(body))
    own = [_JSON_FIELD, length] if body else [length]
    headers = own + fields if fields else own
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def respond_error(
    send: Send, status: int, message: str, fields: Headers | None = None, *, detail: str | None = None
) -> None:
    """Sends an HTTP-level error as JSON."""
    more = {} if detail is None else {"detail": detail}
    await respond(send, status, orjson.dumps({"status": status, "title": message, **more}), fields)


class DisconnectWatcher:
    """Cancels the running task when the client disconnects.

    Most responses are ready within milliseconds, so listening starts after a delay, or when a caller with its
    own timer calls `begin`. A quick call pays almost nothing.
    """

    __slots__ = ("_listener", "_receive", "_task", "_timer", "gone")

    def __init__(self, receive: Receive, task: asyncio.Task[Any] | None = None) -> None:
        """Without a task, the current one is watched after a delay."""
        self.gone = False
        self._receive = receive
        self._task = task or asyncio.current_task()
        self._listener: asyncio.Task[None] | None = None
        self._timer = None if task else asyncio.get_running_loop().call_later(WATCH_AFTER, self.begin)

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
