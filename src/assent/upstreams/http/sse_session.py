"""One session of the HTTP+SSE transport (revision 2024-11-05): the stream, and the requests that wait on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Protocol

import orjson

from assent.mcp.channel import StreamListener
from assent.mcp.jsonrpc import cannot_be_asked, is_too_deep, settle
from assent.mcp.sse import Event, EventReader, EventTooLarge, Turns
from assent.upstreams.errors import ConnectionLost, ProtocolViolation, SessionLost, TimedOut, UpstreamError
from assent.upstreams.http.connection import UpstreamResponse
from assent.web.asgi import Headers

_FORWARDED = "notifications/message"
_MOST_UNREAD = 256
_MOST_QUESTIONS = 256


class Post(Protocol):
    """Posts a message to the session's endpoint, with the headers of a call."""

    async def __call__(self, message: dict[str, Any], fields: Headers | None = None) -> None: ...


class SseSession:
    """Reads the stream of one session. Every message on it belongs to the session's only caller."""

    def __init__(self, name: str, response: UpstreamResponse, limit: int, silence: float) -> None:
        self._name, self._response, self._limit, self._silence = name, response, limit, silence
        self.endpoint: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        """Where messages are posted to, as the server wrote it."""
        self.post: Post = _cannot_post
        self.is_over = False
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: dict[int, tuple[StreamListener | None, Any]] = {}
        self._questions: set[asyncio.Task[None]] = set()
        self._notices: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(_MOST_UNREAD)
        self._received = 0
        self._reading = asyncio.create_task(self._read())

    async def request(
        self, message: dict[str, Any], stream_listener: StreamListener | None = None, fields: Headers | None = None
    ) -> dict[str, Any]:
        """Post a request and wait for its response on the stream."""
        request_id = message["id"]
        answer = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        self._listeners[request_id] = stream_listener, _progress_token(message)
        try:
            await self.post(_with_progress_token(message), fields)
            return await self._wait_for(answer, message["method"])
        finally:
            del self._waiting[request_id], self._listeners[request_id]
            if answer.done() and not answer.cancelled():
                answer.exception()

    async def notices(self) -> AsyncIterator[dict[str, Any]]:
        """The notifications that belong to no request, until the stream ends."""
        while (message := await self._notices.get()) is not None:
            yield message

    def close(self) -> None:
        self._reading.cancel()
        self._end("closed by us")

    async def _wait_for(self, answer: asyncio.Future[dict[str, Any]], method: str) -> dict[str, Any]:
        """Wait for the response, unless the server is silent for too long and no question to the caller is open."""
        while not answer.done():
            received = self._received
            await asyncio.wait([answer], timeout=self._silence)
            if not answer.done() and received == self._received and not self._questions:
                raise TimedOut(self._name, f"no response to {method} in {self._silence:.0f} seconds", sent=True)
        return answer.result()

    async def _read(self) -> None:
        reader, turns, why = EventReader(self._limit), Turns(), "the stream ended"
        try:
            async for piece in self._response.pieces():
                for event in reader.feed(piece):
                    await turns.over()
                    await self._on_event(event)
        except UpstreamError as error:
            why = error.detail
        except (EventTooLarge, ValueError) as error:
            why = "a message on the stream is not JSON-RPC" if isinstance(error, orjson.JSONDecodeError) else str(error)
        finally:
            self._end(why)

    def _end(self, why: str) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._response.close()
        for task in self._questions:
            task.cancel()
        lost = ConnectionLost(self._name, why, sent=True)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(lost)
        if not self.endpoint.done():
            self.endpoint.set_exception(lost)
            self.endpoint.exception()  # Read here, because perhaps nothing waits for it.
        if self._notices.full():
            self._notices.get_nowait()
        self._notices.put_nowait(None)

    async def _on_event(self, event: Event) -> None:
        if event.event == b"endpoint":
            if not self.endpoint.done():
                self.endpoint.set_result(event.data)
        elif event.event == b"message" and event.data:
            message = orjson.loads(event.data)
            if not isinstance(message, dict):
                raise ValueError("a message on the stream is not JSON-RPC")
            if is_too_deep(event.data, message):
                raise ValueError("a message on the stream is nested too deeply")
            self._received += 1
            if isinstance(message.get("method", ""), str):
                await self._on_message(message)

    async def _on_message(self, message: dict[str, Any]) -> None:
        request_id = message.get("id")
        if "method" not in message:
            answer = self._waiting.get(request_id) if isinstance(request_id, int) else None
            if answer is not None and not answer.done():
                settle(answer, message, ProtocolViolation(self._name, "the response is not JSON-RPC", sent=True))
        elif request_id is not None:
            if len(self._questions) >= _MOST_QUESTIONS:
                raise ValueError("it asks too many questions at once")
            # Apart from the reading: the stream goes on while the caller thinks.
            self._questions.add(task := asyncio.create_task(self._answer(message)))
            task.add_done_callback(self._questions.discard)
        else:
            await self._on_notification(message)

    async def _answer(self, question: dict[str, Any]) -> None:
        """Put a question to the caller's request that runs; with none, it is refused."""
        answer: dict[str, Any] | None = None
        if question["method"] == "ping":
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": {}}
        elif self._listeners:
            stream_listener, _ = list(self._listeners.values())[-1]
            answer = await stream_listener.answer(question) if stream_listener is not None else None
        try:
            await self.post(answer or cannot_be_asked(question))
        except (UpstreamError, SessionLost):
            return  # The request that it belongs to gets the failure.

    async def _on_notification(self, message: dict[str, Any]) -> None:
        params = message.get("params")
        if message["method"] == "notifications/progress" and isinstance(params, dict):
            named = params.get("progressToken")
            stream_listener, token = self._listeners.get(named if isinstance(named, int) else 0, (None, None))
            if stream_listener is not None and token is not None:
                await stream_listener.notify({**message, "params": {**params, "progressToken": token}})
        elif message["method"] == _FORWARDED and self._listeners:
            stream_listener, _ = list(self._listeners.values())[-1]
            if stream_listener is not None:
                await stream_listener.notify(message)
        elif not self._notices.full():
            self._notices.put_nowait(message)


def _progress_token(message: dict[str, Any]) -> Any:
    meta = (message.get("params") or {}).get("_meta")
    return meta.get("progressToken") if isinstance(meta, dict) else None


def _with_progress_token(message: dict[str, Any]) -> dict[str, Any]:
    """The request with its id as its progress token, because several requests may share the caller's token."""
    if _progress_token(message) is None:
        return message
    params = message["params"]
    return {**message, "params": {**params, "_meta": {**params["_meta"], "progressToken": message["id"]}}}


async def _cannot_post(message: dict[str, Any], fields: Headers | None = None) -> None:
    raise AssertionError("the endpoint is not known yet")
