"""Tiers of side effects, risks, and the default risk of each tier."""

from __future__ import annotations

from enum import StrEnum
from functools import cache


class OrderedStrEnum(StrEnum):
    """Words in the order of their definition: `<` and `max` compare positions, not letters."""

    @property
    def number(self) -> int:
        """The position, from 1."""
        return _positions(self.__class__)[self]

    def __lt__(self, other: object) -> bool:
        return self.number < self._number_of(other)

    def __le__(self, other: object) -> bool:
        return self.number <= self._number_of(other)

    def __gt__(self, other: object) -> bool:
        return self.number > self._number_of(other)

    def __ge__(self, other: object) -> bool:
        return self.number >= self._number_of(other)

    def _number_of(self, other: object) -> int:
        if not isinstance(other, self.__class__):  # a plain word would be compared by its letters
            raise TypeError(f"{self.__class__.__name__} cannot be compared with {other.__class__.__name__}")
        return other.number


@cache
def _positions(words: type[OrderedStrEnum]) -> dict[OrderedStrEnum, int]:
    return {word: position for position, word in enumerate(words, start=1)}


class Tier(OrderedStrEnum):
    """The kind of side effect, from none to irreversible."""

    READ = "read"
    COMPUTE = "compute"
    WRITE = "write"
    SHARE_EXPORT = "share_export"
    EXTERNAL_SPEND = "external_spend"
    DESTRUCTIVE = "destructive"


class Risk(OrderedStrEnum):
    """How much must happen before a call, as a word and as a number from 1 to 5."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"
    FORBIDDEN = "forbidden"


DEFAULT_RISK = {
    Tier.READ: Risk.LOW,
    Tier.COMPUTE: Risk.LOW,
    Tier.WRITE: Risk.MEDIUM,
    Tier.SHARE_EXPORT: Risk.HIGH,
    Tier.EXTERNAL_SPEND: Risk.CRITICAL,
    Tier.DESTRUCTIVE: Risk.CRITICAL,
}
