"""One handshake-era session of a client."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from assent.mcp.event_log import EventLogs
from assent.mcp.jsonrpc import RequestId, RpcError
from assent.mcp.seen_events import SeenEventIds


class McpSession:
    """One client's session: what it said of itself, what it was asked, what waits for its stream.

    The id is a name, not a credential: it opens nothing without the caller it belongs to.
    """

    def __init__(self, session_id: str, owner: Hashable, *, outbox: int = 256) -> None:
        self.id = session_id
        self.owner = owner
        self.version: str | None = None
        self.capabilities: dict[str, Any] | None = None
        self.log_level: str | None = None
        self.subscriptions: dict[str, str] = {}
        self.at_end: dict[str, Callable[[], Awaitable[None]]] = {}
        self.streaming = False
        self.logs = EventLogs()
        self.heard = SeenEventIds()
        self._asked: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._running: dict[RequestId, asyncio.Task[Any]] = {}
        self._cancelled: set[RequestId] = set()
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue(outbox)

    def question(self) -> tuple[str, asyncio.Future[dict[str, Any]]]:
        """An id for a request to the client, and the answer to come.

        An upstream may put questions of its own to the same client: one that guessed our id would collect our answer.
        """
        question_id = f"assent-{secrets.token_urlsafe(16)}"
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[question_id] = future
        return question_id, future

    def forget(self, question_id: str) -> None:
        self._asked.pop(question_id, None)

    def settle(self, response: dict[str, Any]) -> bool:
        """Hand a posted response to whoever asked; False where nobody did."""
        response_id: RequestId | None = response.get("id")
        future = self._asked.pop(response_id, None) if isinstance(response_id, str) else None
        if future is None or future.done():
            return False
        error = response.get("error")
        if isinstance(error, dict):
            future.set_exception(RpcError(_code(error), str(error.get("message", "")), error.get("data")))
        else:
            result = response.get("result")
            future.set_result(result if isinstance(result, dict) else {})
        return True

    @contextmanager
    def running(self, request_id: RequestId) -> Iterator[None]:
        """While the running task answers this request, the client may cancel it by its id."""
        task = asyncio.current_task()
        assert task is not None
        self._running[request_id] = task
        try:
            yield
        finally:
            if self._running.get(request_id) is task:
                del self._running[request_id]

    def cancel(self, request_id: Any) -> bool:
        """Cancel a request that is answered here; False where it is not."""
        task = self._running.pop(request_id, None) if isinstance(request_id, str | int) else None
        if task is None:
            return False
        self._cancelled.add(request_id)
        task.cancel()
        return True

    def was_cancelled(self, request_id: RequestId) -> bool:
        """Whether the client cancelled this request; asking clears it."""
        if request_id not in self._cancelled:
            return False
        self._cancelled.discard(request_id)
        return True

    def tell(self, message: dict[str, Any]) -> None:
        """Put a notification on the session's own stream; the oldest goes when nobody reads."""
        if self._outbox.full():
            self._outbox.get_nowait()
        self._outbox.put_nowait(orjson.dumps(message))

    async def next_message(self) -> bytes:
        """The next message for the session's stream; empty when the session is over."""
        return await self._outbox.get()

    def close(self) -> None:
        while not self._outbox.empty():
            self._outbox.get_nowait()
        self._outbox.put_nowait(b"")
        for future in self._asked.values():
            if not future.done():
                future.cancel()
        self._asked.clear()
        for farewell in self.at_end.values():
            _farewells.add(task := asyncio.ensure_future(farewell()))
            task.add_done_callback(_farewells.discard)
        self.at_end.clear()


_farewells: set[asyncio.Future[None]] = set()


def _code(error: dict[str, Any]) -> int:
    code = error.get("code")
    return code if isinstance(code, int) else -32603
