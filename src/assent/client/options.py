"""By which rules does a client act, as its caller configured them?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from assent.contract.tiers import Tier


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Trust, patience and limits; clock and sleep come in as values. Times are in seconds."""

    trusted: bool = False
    tiers: Mapping[str, Tier | str] = field(default_factory=dict)
    """Tiers of tools by name, where the caller knows better than the server and inference."""
    keys_by_header: bool = False
    """Whether the server is known to take `Idempotency-Key` by HTTP header for tools that say nothing of keys."""
    timeout: float = 60.0
    """How long one attempt may take; the time in which a person thinks does not count."""
    attempts: int = 3
    question_patience: float = 300.0
    """How long a person may take; no answer is no."""
    approval_patience: float = 300.0
    approval_interval: float = 2.0
    declined_for: float = 900.0
    fresh_for: float = 300.0
    """How long a listing is believed before it is fetched again."""
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts must be 1 or more")
        for name in ("timeout", "question_patience", "approval_interval", "fresh_for"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0 seconds")
        object.__setattr__(self, "tiers", {name: Tier(tier) for name, tier in self.tiers.items()})
