"""Shares a limited number of places fairly between owners."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class NoPlace(Exception):
    """The owner has the most places allowed, or all are taken and no owner has more than a fair share."""


class TakenPlace:
    """One taken place. `given_up` is set when its holder must release it for another owner."""

    __slots__ = ("given_up", "owner")

    def __init__(self, owner: Hashable) -> None:
        self.owner = owner
        self.given_up = asyncio.Event()


class Places:
    """The taken places by owner. When all are taken, the owner with the most loses its oldest."""

    def __init__(self, per_owner: int) -> None:
        self._per_owner = per_owner
        self._owned: dict[Hashable, dict[TakenPlace, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @contextmanager
    def hold_place(self, owner: Hashable, limit: int) -> Iterator[TakenPlace]:
        """Holds a place while the block runs, of at most `limit` in all. Raises NoPlace if there is none."""
        place = self._reserve(owner, limit)
        try:
            yield place
        finally:
            self._release(place)

    def _reserve(self, owner: Hashable, limit: int) -> TakenPlace:
        mine = len(self._owned.get(owner, ()))
        if mine >= self._per_owner or (self._count >= limit and not self._make_room(mine)):
            raise NoPlace
        place = TakenPlace(owner)
        self._owned.setdefault(owner, {})[place] = None
        self._count += 1
        return place

    def _make_room(self, mine: int) -> bool:
        """Takes a place from the owner with the most, unless the new owner would then have more."""
        largest = max(self._owned.values(), key=len, default={})
        if len(largest) <= mine + 1:
            return False
        oldest = next(iter(largest))
        self._release(oldest)
        oldest.given_up.set()
        return True

    def _release(self, place: TakenPlace) -> None:
        places = self._owned.get(place.owner, {})
        if place in places:
            del places[place]
            self._count -= 1
            if not places:
                del self._owned[place.owner]
