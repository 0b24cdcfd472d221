"""What is under way between the client of `assent wrap` and its server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from assent.mcp.channel import ClientChannel
from assent.mcp.jsonrpc import RequestId

Ask = Callable[[str, dict[str, Any], float], Awaitable[dict[str, Any]]]


class StdioChannel(ClientChannel):
    """One stream for everything: always open, never resumed. Questions of the server reach the client without it."""

    __slots__ = ("_ask", "_tell")
    ask_within = 300.0

    def __init__(self, tell: Callable[[dict[str, Any]], None], ask: Ask) -> None:
        self._tell, self._ask = tell, ask

    async def notify(self, message: dict[str, Any]) -> None:
        self._tell(message)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self._ask(method, params, self.ask_within)

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """None: the server's questions do not come here."""
        return None


class OpenRequests:
    """What has been passed on and has no answer yet: requests of the client, questions of the server.

    Their ids pass unchanged.
    """

    def __init__(self) -> None:
        self._methods: dict[RequestId, str] = {}
        self._streams: set[RequestId] = set()
        self._questions: set[RequestId] = set()
        self._answered = asyncio.Event()

    def __bool__(self) -> bool:
        """Whether a request of the client waits. A subscription is answered when it is over: nobody waits for that."""
        return bool(self._methods)

    def add(self, message: dict[str, Any]) -> None:
        """Note a request of the client that is passed on."""
        if message["method"] == "subscriptions/listen":
            self._streams.add(message["id"])
        else:
            self._methods[message["id"]] = message["method"]

    def remove(self, request_id: RequestId | None) -> str | None:
        """Note that a request has its answer and return its method; None if it was not passed on."""
        method = None if request_id is None else self._methods.pop(request_id, None)
        if method is None and request_id in self._streams:
            self._streams.remove(request_id)
            method = "subscriptions/listen"
        if method is not None:
            self._answered.set()
        return method

    def clear(self) -> list[RequestId]:
        """Forget the client's requests and return their ids, because the server answers no more."""
        waiting = list(self._methods)
        self._methods.clear()
        return waiting

    async def next_answer(self) -> None:
        self._answered.clear()
        await self._answered.wait()

    def add_question(self, question_id: RequestId | None) -> None:
        if question_id is not None:  # Nobody answers a question without an id.
            self._questions.add(question_id)

    def take_question(self, question_id: Any) -> bool:
        """Whether a question of the server waits for this answer; it does so no longer."""
        waits = question_id.__class__ in (int, str) and question_id in self._questions
        self._questions.discard(question_id if waits else "")
        return waits

    @property
    def has_questions(self) -> bool:
        return bool(self._questions)
