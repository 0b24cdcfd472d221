"""Subscriptions of the gateway at upstreams, and how many clients watch each resource."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterator
from typing import Any, ClassVar

from assent.mcp.jsonrpc import RpcError
from assent.mcp.protocol import INVALID_PARAMS
from assent.mcp.server_identity import Described

MOST_RESOURCES = 500
MOST_OF_ONE = 125

Notify = Callable[[str], Awaitable[None]]


LISTS = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}

Notice = Callable[[dict[str, Any]], None]


class TooManyResources(Exception):
    """The limit of watched resources is reached, in total or for this caller."""


class ResourceInterest:
    """Counts the watchers of each resource; the upstream is told about the first and after the last."""

    def __init__(self) -> None:
        self._wanted: Counter[str] = Counter()
        self._by_caller: Counter[Hashable] = Counter()
        self.turn = asyncio.Lock()
        """Held while telling the upstream anything about resources."""

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._wanted))

    async def add(self, uri: str, begin: Notify, caller: Hashable = None) -> None:
        """Add one watcher; raises as `begin` does, and then adds none."""
        async with self.turn:
            if caller is not None and self._by_caller[caller] >= MOST_OF_ONE:
                raise TooManyResources
            if uri not in self._wanted:
                if len(self._wanted) >= MOST_RESOURCES:
                    raise TooManyResources
                await begin(uri)
            self._wanted[uri] += 1
            self._by_caller[caller] += 1

    async def remove(self, uri: str, end: Notify, caller: Hashable = None) -> None:
        """Remove one watcher."""
        async with self.turn:
            self._by_caller[caller] -= 1
            if self._by_caller[caller] <= 0:
                del self._by_caller[caller]
            self._wanted[uri] -= 1
            if self._wanted[uri] <= 0:
                del self._wanted[uri]
                await end(uri)


class Subscriptions(ABC):
    """The gateway's subscriptions at one upstream, shared by all its clients."""

    own_thing: ClassVar[str]
    """What each person has alone at an upstream that nobody can watch together."""

    def __init__(self, notice: Notice, *, per_user: bool = False) -> None:
        self._notice, self._per_user = notice, per_user
        self._resource_interest = ResourceInterest()
        self.was_heard = False
        """Whether the upstream could be subscribed to at the last attempt."""

    @abstractmethod
    async def listen(self, described: Described) -> None:
        """Listen until the stream or the process ends. It is run again whenever that happens."""

    @abstractmethod
    def close(self) -> None: ...

    async def watch(self, uri: str, caller: Hashable = None) -> None:
        """Watch one more resource. Raises the upstream's refusal, or UpstreamError if it cannot be reached."""
        if self._per_user:
            raise RpcError(
                INVALID_PARAMS, f"Its resources cannot be watched: each person has their own {self.own_thing}"
            )
        await self._resource_interest.add(uri, self._first_watch, caller)

    async def leave(self, uri: str, caller: Hashable = None) -> None:
        """Remove one watcher; after the last one, unsubscribe at the upstream."""
        await self._resource_interest.remove(uri, self._end_watch, caller)

    @abstractmethod
    async def _first_watch(self, uri: str) -> None: ...

    @abstractmethod
    async def _end_watch(self, uri: str) -> None: ...

    def _pass_on(self, message: dict[str, Any]) -> None:
        if (notification := strip_subscription_meta(message)) is not None:
            self._notice(notification)


def lists_of(described: Described) -> dict[str, Any]:
    """The changes of lists that an upstream may announce, as a subscription names them."""
    return {flag: True for kind, flag in LISTS.items() if isinstance(described.capabilities.get(kind), dict)}


def strip_subscription_meta(message: dict[str, Any]) -> dict[str, Any] | None:
    """The notification as in the handshake era; the subscription id concerns only gateway and upstream."""
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str) or "id" in message:
        return None
    notification: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if isinstance(params, dict) and (kept := {key: value for key, value in params.items() if key != "_meta"}):
        notification["params"] = kept
    return notification
