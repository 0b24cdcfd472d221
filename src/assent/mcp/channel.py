"""Channels back to a client while its request is under way."""

from typing import Any, Protocol


class StreamListener(Protocol):
    """Who listens while an upstream talks before it answers; `Reply` is one."""

    async def open(self) -> None:
        """The answer is a stream."""

    async def prime(self, retry: int | None) -> None:
        """The stream can be resumed, after `retry` milliseconds."""

    async def pause(self) -> None:
        """The upstream ended the stream before its answer; we come back for the rest."""

    async def notify(self, message: dict[str, Any]) -> None:
        """A notification."""

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """A request of the upstream; its JSON-RPC response, or None where nobody can be asked."""


class CannotAsk(Exception):
    """This caller cannot be asked on its stream: no session, or it never said that it answers."""


class ClientChannel(StreamListener, Protocol):
    """The way back to a caller, as whoever serves its request uses it."""

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the client and wait for its answer; raises CannotAsk, or RpcError as the client sent it."""


_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def can_answer(capabilities: dict[str, Any] | None, method: str) -> bool:
    need = _NEEDS.get(method)
    return need is None or need in (capabilities or {})
