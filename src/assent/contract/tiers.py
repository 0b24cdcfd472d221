"""Tiers of side effects, risks, and the default risk of each tier."""

from __future__ import annotations

from enum import StrEnum


class Tier(StrEnum):
    """The kind of side effect, from none to irreversible."""

    READ = "read"
    COMPUTE = "compute"
    WRITE = "write"
    SHARE_EXPORT = "share_export"
    EXTERNAL_SPEND = "external_spend"
    DESTRUCTIVE = "destructive"


class Risk(StrEnum):
    """How much must happen before a call, as a word and as a number from 1 to 5."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"
    FORBIDDEN = "forbidden"

    @property
    def number(self) -> int:
        return _NUMBERS[self]


_NUMBERS = {risk: number for number, risk in enumerate(Risk, start=1)}

DEFAULT_RISK = {
    Tier.READ: Risk.LOW,
    Tier.COMPUTE: Risk.LOW,
    Tier.WRITE: Risk.MEDIUM,
    Tier.SHARE_EXPORT: Risk.HIGH,
    Tier.EXTERNAL_SPEND: Risk.CRITICAL,
    Tier.DESTRUCTIVE: Risk.CRITICAL,
}
