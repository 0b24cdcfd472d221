"""How does a call wait at an upstream of the old era while a client of the new one is asked?

The upstream asks on the stream of the call and holds it open; the client gets the question as a result and calls again.
In between the call stays where it is: at the upstream, and here, under a name that only its caller can use.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import suppress
from typing import Any

from mcp_types import INVALID_PARAMS

from assent.mcp.channel import ClientChannel, StreamListener, can_answer
from assent.mcp.jsonrpc import RpcError

# A call that waits holds one of the hundred connections of its upstream, and the answer needs one too.
MOST_PARKED = 50
MOST_OF_ONE = 20
WAITS = 600.0
QUESTION = "question"
_ASKS = {"elicitation": ("form", "url"), "sampling": ("context", "tools"), "roots": ()}

Answer = dict[str, Any]
Ask = Callable[[StreamListener], Awaitable[Answer]]


class UnknownRequestState(RpcError):
    """No call waits under this name for this caller: it was answered, given up, or asked elsewhere."""

    def __init__(self) -> None:
        super().__init__(INVALID_PARAMS, "requestState: no call waits for this answer; call again without it")


class SuspendedCall:
    """One call under way, and what its upstream asks; the audience of the upstream for as long as it talks."""

    def __init__(
        self, suspended_calls: SuspendedCalls, owner: Hashable, said: Any, capabilities: dict[str, Any], token: Any
    ) -> None:
        self._suspended_calls = suspended_calls
        self.owner, self.said, self.capabilities = owner, said, capabilities
        self._first_token = self.token = token
        self.reply: ClientChannel | None = None
        self.question: dict[str, Any] | None = None
        self.asked = asyncio.Event()
        self.answered: asyncio.Future[Answer] | None = None
        self.task: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.timer: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        if self.reply is not None:
            await self.reply.open()

    async def prime(self, retry: int | None) -> None:
        """A client of the new era does not resume streams."""

    async def pause(self) -> None:
        """Nor is it sent away."""

    async def notify(self, message: dict[str, Any]) -> None:
        """Pass a notification on; progress goes by the token of the client's newest round."""
        params = message.get("params")
        if message["method"] == "notifications/progress" and self.token != self._first_token:
            if self.token is None or not isinstance(params, dict) or params.get("progressToken") != self._first_token:
                return
            message = {**message, "params": {**params, "progressToken": self.token}}
        if self.reply is not None:
            await self.reply.notify(message)

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """Wait, as long as it is let, for what the client says when it calls again."""
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
        """Hand over what the client answered; without an answer the question stands."""
        response = responses.get(QUESTION) if isinstance(responses, Mapping) else None
        if isinstance(response, dict) and self.answered is not None and not self.answered.done():
            self.asked.clear()
            self.answered.set_result(response)


class SuspendedCalls:
    """The calls of one upstream that wait for an answer: bounded in number, in all and for each owner, and in time."""

    def __init__(self, most: int = MOST_PARKED, most_of_one: int = MOST_OF_ONE, waits: float = WAITS) -> None:
        self._most, self._most_of_one, self._waits = most, most_of_one, waits
        self._asking: set[SuspendedCall] = set()
        self._suspended_call: dict[str, SuspendedCall] = {}

    def __len__(self) -> int:
        return len(self._suspended_call)

    async def begin(
        self,
        ask: Ask,
        owner: Hashable,
        said: Any,
        capabilities: dict[str, Any],
        reply: ClientChannel,
        token: Any = None,
    ) -> dict[str, Any]:
        """Make a call; its result, or its first question as one."""
        suspended_call = SuspendedCall(self, owner, said, capabilities, token)
        suspended_call.reply = reply
        suspended_call.task = asyncio.ensure_future(ask(suspended_call))
        return await self._wait(suspended_call, reply)

    async def resume(
        self, name: Any, owner: Hashable, said: Any, responses: Any, reply: ClientChannel, token: Any = None
    ) -> dict[str, Any]:
        """Go on with a call whose question was answered. Raises NotParked where there is none for this caller."""
        suspended_call = self._suspended_call.get(name) if isinstance(name, str) else None
        if suspended_call is None or (suspended_call.owner, suspended_call.said) != (owner, said):
            raise UnknownRequestState
        self._take(name)
        suspended_call.token = token
        suspended_call.settle(responses)
        return await self._wait(suspended_call, reply)

    def admit(self, suspended_call: SuspendedCall) -> bool:
        """Whether there is room for another question; an owner's oldest gives way to its newest, and to no other's."""
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
        """Give up every call that waits."""
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
            suspended_call.task.cancel()  # the caller left, and so the upstream is told
            with suppress(asyncio.CancelledError, Exception):
                await suspended_call.task
            raise
        finally:
            asked.cancel()
            suspended_call.reply = None
        return await suspended_call.task if suspended_call.task.done() else self._put(suspended_call)

    def _put(self, suspended_call: SuspendedCall) -> dict[str, Any]:
        name = secrets.token_urlsafe(24)
        self._suspended_call[name] = suspended_call
        suspended_call.timer = asyncio.get_running_loop().call_later(self._waits, self._give_up, name)
        assert suspended_call.question is not None
        asks = {"method": suspended_call.question["method"], "params": suspended_call.question.get("params") or {}}
        return {"resultType": "input_required", "inputRequests": {QUESTION: asks}, "requestState": name}

    def _take(self, name: str) -> SuspendedCall:
        suspended_call = self._suspended_call.pop(name)
        assert suspended_call.timer is not None
        suspended_call.timer.cancel()
        return suspended_call

    def _give_up(self, name: str) -> None:
        """Nobody answers: the upstream is told that the call is over."""
        suspended_call = self._take(name)
        suspended_call.task.add_done_callback(_heard)
        suspended_call.task.cancel()


def asks_of(capabilities: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a client can be asked, as far as the old era has words for it: few enough for a session each."""
    found = {name: (capabilities or {}).get(name) for name in _ASKS}
    return {
        name: {kind: {} for kind in _ASKS[name] if isinstance(said.get(kind), dict)}
        for name, said in found.items()
        if isinstance(said, dict)
    }


def _heard(task: asyncio.Future[Answer]) -> None:
    """Whatever became of it, nobody waits for it any more."""
    if not task.cancelled():
        task.exception()
