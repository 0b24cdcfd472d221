"""Counts who watches which resource of an upstream, and tells the upstream when that changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterator

MOST_RESOURCES = 500
MOST_OF_ONE = 125

Telling = Callable[[str], Awaitable[None]]


class TooManyResources(Exception):
    """No room for another resource to watch, for anybody or for this caller."""


class ResourceInterest:
    """Counts who wants what at one upstream, which is told when a resource is first wanted, and when no longer."""

    def __init__(self) -> None:
        self._wanted: Counter[str] = Counter()
        self._by_caller: Counter[Hashable] = Counter()
        self.turn = asyncio.Lock()
        """Held by whoever tells the upstream anything about resources."""

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._wanted))

    async def add(self, uri: str, begin: Telling, caller: Hashable = None) -> None:
        """One more wants it; raises as `begin` does, and then nobody new wants it."""
        async with self.turn:
            if caller is not None and self._by_caller[caller] >= MOST_OF_ONE:
                raise TooManyResources
            if uri not in self._wanted:
                if len(self._wanted) >= MOST_RESOURCES:
                    raise TooManyResources
                await begin(uri)
            self._wanted[uri] += 1
            self._by_caller[caller] += 1

    async def remove(self, uri: str, end: Telling, caller: Hashable = None) -> None:
        """One fewer wants it."""
        async with self.turn:
            self._by_caller[caller] -= 1
            if self._by_caller[caller] <= 0:
                del self._by_caller[caller]
            self._wanted[uri] -= 1
            if self._wanted[uri] <= 0:
                del self._wanted[uri]
                await end(uri)
