"""One handshake-era session of a client."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from assent.mcp.channel import CannotAsk, can_answer
from assent.mcp.event_log import EventLogs
from assent.mcp.jsonrpc import RequestId, settle

SendMessage = Callable[[dict[str, Any]], Awaitable[None]]

_MOST_WAITING = 256


class McpSession:
    """One client's session: its capabilities, the open questions to it, and the messages waiting for its stream.

    The id is a name, not a credential: it is useless without its owner's credentials.
    """

    def __init__(self, session_id: str, owner: Hashable) -> None:
        self.id = session_id
        self.owner = owner
        self.version: str | None = None
        self.capabilities: dict[str, Any] | None = None
        self.client_info: Any = None
        self.log_level: str | None = None
        self.subscriptions: dict[str, str] = {}
        self.at_end: dict[str, Callable[[], Awaitable[None]]] = {}
        self.is_over = False
        self.streaming = False
        self.logs = EventLogs()
        self._questions: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._running: dict[RequestId, asyncio.Task[Any]] = {}
        self._cancelled: set[RequestId] = set()
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)

    async def ask(self, method: str, params: dict[str, Any], send: SendMessage, within: float) -> dict[str, Any]:
        """Asks the client and waits for its answer. Raises CannotAsk, or RpcError as the client sent it.

        The id is random because an upstream that could guess it would receive the client's answer.
        """
        if not can_answer(self.capabilities, method):
            raise CannotAsk(method)
        question_id = f"assent-{secrets.token_urlsafe(16)}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._questions[question_id] = answer
        try:
            await send({"jsonrpc": "2.0", "id": question_id, "method": method, "params": params})
            async with asyncio.timeout(within):
                return await answer
        except TimeoutError:
            cancelled = {"requestId": question_id, "reason": f"no answer within {within:.0f} seconds"}
            await send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
            raise CannotAsk(method) from None
        finally:
            self._questions.pop(question_id, None)

    def settle(self, response: dict[str, Any]) -> bool:
        """Delivers a posted response to the code that asked; returns False if there was no such question."""
        response_id: RequestId | None = response.get("id")
        future = self._questions.pop(response_id, None) if isinstance(response_id, str) else None
        if future is None or future.done():
            return False
        settle(future, response)
        return True

    @contextmanager
    def running(self, request_id: RequestId) -> Iterator[None]:
        """Lets the client cancel the current task by the request's id while the block runs."""
        task = asyncio.current_task()
        assert task is not None
        self._running[request_id] = task
        try:
            yield
        finally:
            if self._running.get(request_id) is task:
                del self._running[request_id]

    def cancel(self, request_id: Any) -> bool:
        """Cancels a request that is running here; returns False if there is none."""
        task = self._running.pop(request_id, None) if request_id.__class__ in (int, str) else None
        if task is None:
            return False
        self._cancelled.add(request_id)
        task.cancel()
        return True

    def was_cancelled(self, request_id: RequestId) -> bool:
        """Whether the client cancelled this request; reading the flag clears it."""
        if request_id not in self._cancelled:
            return False
        self._cancelled.discard(request_id)
        return True

    def tell(self, message: dict[str, Any]) -> None:
        """Queues a notification for the session's stream; a full queue drops its oldest message."""
        if self._outbox.full():
            self._outbox.get_nowait()
        self._outbox.put_nowait(orjson.dumps(message))

    async def next_message(self) -> bytes:
        """The next message for the session's stream; empty when the session has ended."""
        return await self._outbox.get()

    def abandon_questions(self) -> None:
        """Ends every open question without an answer, because the client has left."""
        for answer in self._questions.values():
            if not answer.done():
                answer.set_exception(CannotAsk("the client has left"))
        self._questions.clear()

    def when_over(self, name: str, on_close: Callable[[], Awaitable[None]]) -> None:
        """Calls this when the session ends; now if it has ended, as it may while a request still runs."""
        self.at_end[name] = on_close
        if self.is_over:
            self.close()

    def close(self) -> None:
        self.is_over = True
        while not self._outbox.empty():
            self._outbox.get_nowait()
        self._outbox.put_nowait(b"")
        self.abandon_questions()
        for on_close in self.at_end.values():
            _closing_tasks.add(task := asyncio.ensure_future(on_close()))
            task.add_done_callback(_closing_tasks.discard)
        self.at_end.clear()


_closing_tasks: set[asyncio.Future[None]] = set()
