"""Calls that wait at a handshake-era upstream while a modern client answers a question.

The upstream asks on the stream of the call and holds it open; the client gets the question as a result and calls
again. In between the call waits at the upstream and here, under a name that only its caller can use. See ADR 0023.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import suppress
from typing import Any

from assent.mcp.channel import ClientChannel, StreamListener, can_answer
from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import INVALID_PARAMS

# A waiting call holds one of the hundred connections of its upstream, and the answer needs one too.
MOST_SUSPENDED = 50
MOST_OF_ONE = 20
TIMEOUT = 600.0
QUESTION = "question"

WireResult = dict[str, Any]
Ask = Callable[[StreamListener], Awaitable[WireResult]]


class UnknownRequestState(RpcError):
    """No call of this caller waits under this name: it was answered, given up, or asked elsewhere."""

    def __init__(self) -> None:
        super().__init__(INVALID_PARAMS, "requestState: no call waits for this answer; call again without it")


class SuspendedCall(StreamListener):
    """One running call and the question of its upstream. A modern client resumes no stream."""

    def __init__(
        self,
        suspended_calls: SuspendedCalls,
        owner: Hashable,
        request_key: Any,
        capabilities: dict[str, Any],
        token: Any,
    ) -> None:
        self._suspended_calls = suspended_calls
        self.owner, self.request_key, self.capabilities = owner, request_key, capabilities
        self._first_token = self.token = token
        self.reply: ClientChannel | None = None
        self.question: dict[str, Any] | None = None
        self.asked = asyncio.Event()
        self.answered: asyncio.Future[WireResult] | None = None
        self.task: asyncio.Future[WireResult] = asyncio.get_running_loop().create_future()
        self.timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        if self.reply is not None:
            await self.reply.open()

    async def notify(self, message: dict[str, Any]) -> None:
        """Pass a notification on; progress uses the token of the client's latest request."""
        params = message.get("params")
        if message["method"] == "notifications/progress" and self.token != self._first_token:
            if self.token is None or not isinstance(params, dict) or params.get("progressToken") != self._first_token:
                return
            message = {**message, "params": {**params, "progressToken": self.token}}
        if self.reply is not None:
            await self.reply.notify(message)

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """Wait, within the time limit, for the answer of the client's next call."""
        if not can_answer(self.capabilities, question["method"]) or not self._suspended_calls.admit(self):
            return None
        self.question, self.answered = question, asyncio.get_running_loop().create_future()
        self.asked.set()
        try:
            return {"jsonrpc": "2.0", "id": question["id"], "result": await self.answered}
        finally:
            self.question = self.answered = None
            self._suspended_calls.leave(self)

    def settle(self, responses: Any) -> None:
        """Pass the client's answer on; without one the question stays open."""
        response = responses.get(QUESTION) if isinstance(responses, Mapping) else None
        if isinstance(response, dict) and self.answered is not None and not self.answered.done():
            self.asked.clear()
            self.answered.set_result(response)


class SuspendedCalls:
    """The calls of one upstream that wait for an answer: limited in number, in total and per owner, and in time."""

    def __init__(self, most: int = MOST_SUSPENDED, most_of_one: int = MOST_OF_ONE, waits: float = TIMEOUT) -> None:
        self._most, self._most_of_one, self._waits = most, most_of_one, waits
        self._asking: set[SuspendedCall] = set()
        self._suspended_call: dict[str, SuspendedCall] = {}

    def __len__(self) -> int:
        return len(self._suspended_call)

    async def begin(
        self,
        ask: Ask,
        owner: Hashable,
        request_key: Any,
        capabilities: dict[str, Any],
        reply: ClientChannel,
        token: Any = None,
    ) -> dict[str, Any]:
        """Start a call and return its result, or its first question as a result."""
        suspended_call = SuspendedCall(self, owner, request_key, capabilities, token)
        suspended_call.reply = reply
        suspended_call.task = asyncio.ensure_future(ask(suspended_call))
        return await self._wait(suspended_call, reply)

    async def resume(
        self, name: Any, owner: Hashable, request_key: Any, responses: Any, reply: ClientChannel, token: Any = None
    ) -> dict[str, Any]:
        """Continue a call whose question was answered. Raises UnknownRequestState if this caller has none."""
        suspended_call = self._suspended_call.get(name) if isinstance(name, str) else None
        if suspended_call is None or (suspended_call.owner, suspended_call.request_key) != (owner, request_key):
            raise UnknownRequestState
        self._pop(name)
        suspended_call.token = token
        suspended_call.settle(responses)
        return await self._wait(suspended_call, reply)

    def admit(self, suspended_call: SuspendedCall) -> bool:
        """Whether there is room for another question; an owner's oldest gives way only to the same owner's newest."""
        own = [name for name, one in self._suspended_call.items() if one.owner == suspended_call.owner]
        if len(own) >= self._most_of_one:
            self._give_up(own[0])
        elif len(self._asking) >= self._most:
            return False
        self._asking.add(suspended_call)
        return True

    def leave(self, suspended_call: SuspendedCall) -> None:
        self._asking.discard(suspended_call)

    async def close(self) -> None:
        """Give up every waiting call."""
        tasks = [suspended_call.task for suspended_call in self._suspended_call.values()]
        for name in list(self._suspended_call):
            self._give_up(name)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait(self, suspended_call: SuspendedCall, reply: ClientChannel) -> dict[str, Any]:
        suspended_call.reply = reply
        asked = asyncio.ensure_future(suspended_call.asked.wait())
        try:
            waiting: list[asyncio.Future[Any]] = [suspended_call.task, asked]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            suspended_call.task.cancel()  # The caller disconnected, and this tells the upstream.
            with suppress(asyncio.CancelledError, Exception):
                await suspended_call.task
            raise
        finally:
            asked.cancel()
            suspended_call.reply = None
        return await suspended_call.task if suspended_call.task.done() else self._suspend(suspended_call)

    def _suspend(self, suspended_call: SuspendedCall) -> dict[str, Any]:
        name = secrets.token_urlsafe(24)
        self._suspended_call[name] = suspended_call
        suspended_call.timer = asyncio.get_running_loop().call_later(self._waits, self._give_up, name)
        assert suspended_call.question is not None
        asks = {"method": suspended_call.question["method"], "params": suspended_call.question.get("params") or {}}
        return {"resultType": "input_required", "inputRequests": {QUESTION: asks}, "requestState": name}

    def _pop(self, name: str) -> SuspendedCall:
        suspended_call = self._suspended_call.pop(name)
        assert suspended_call.timer is not None
        suspended_call.timer.cancel()
        return suspended_call

    def _give_up(self, name: str) -> None:
        """No answer came: cancel the call, which tells the upstream."""
        suspended_call = self._pop(name)
        # The exception is retrieved so that asyncio does not log it.
        suspended_call.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        suspended_call.task.cancel()
