"""Channels back to a client while its request runs."""

from collections.abc import Mapping
from typing import Any, Protocol


class StreamListener(Protocol):
    """Receives what an upstream sends before its answer. One that is never resumed ignores how the stream goes."""

    async def open(self) -> None:
        """The upstream answers with a stream."""
        return

    async def prime(self, retry: int | None) -> None:
        """The stream can be resumed after `retry` milliseconds."""
        return

    async def pause(self) -> None:
        """The upstream ended the stream before its answer; the rest is fetched later."""
        return

    async def notify(self, message: dict[str, Any]) -> None:
        """The upstream sent a notification."""

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """Forwards a request of the upstream; returns the JSON-RPC response, or None if the client cannot be asked."""


class CannotAsk(Exception):
    """The client cannot be asked on its stream: it has no session or did not declare the capability."""


class ClientChannel(StreamListener, Protocol):
    """The connection back to the client, as a request handler uses it."""

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Asks the client and waits for its answer; raises CannotAsk, or RpcError as the client sent it."""


ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
"""The key in `_meta` of a notification that names its subscription."""
_QUESTIONS = {"elicitation": ("form", "url"), "sampling": ("context", "tools"), "roots": ()}
_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def can_answer(capabilities: dict[str, Any] | None, method: str) -> bool:
    need = _NEEDS.get(method)
    return need is None or need in (capabilities or {})


def asks_of(capabilities: Mapping[str, Any] | None) -> dict[str, Any]:
    """The questions that a client can be asked, in the terms of the handshake era: few enough for a session each."""
    if not capabilities:
        return {}
    return {
        name: {kind: {} for kind in kinds if isinstance(declared.get(kind), dict)}
        for name, kinds in _QUESTIONS.items()
        if isinstance(declared := capabilities.get(name), dict)
    }
