"""Options of a governed client."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from assent.contract.profiles import profile
from assent.contract.tiers import Tier

What = Literal[
    "called", "answered", "failed", "retried", "refused", "asked", "decided", "estimated", "rehearsed", "waited",
    "secret", "open_world", "changed", "server_asked", "server_answered", "reconnected", "logged_in",
]  # fmt: skip


class Noted(NamedTuple):
    """One event. Results are not kept, so secrets in them are not either."""

    at: float
    what: What
    tool: str
    facts: Mapping[str, Any]


class Journal:
    """The latest events; `sink` receives every event as it happens."""

    def __init__(
        self, now: Callable[[], float], keep: int = 10_000, sink: Callable[[Noted], None] | None = None
    ) -> None:
        self._now = now
        self._noted: deque[Noted] = deque(maxlen=keep)
        self._outside: deque[Noted] = deque(maxlen=keep)
        self._sink = sink

    @property
    def entries(self) -> list[Noted]:
        return list(self._noted)

    @property
    def open_world(self) -> list[Noted]:
        """Calls that reached outside the server's own world."""
        return list(self._outside)

    def of(self, tool: str) -> list[Noted]:
        return [noted for noted in self._noted if noted.tool == tool]

    def note(self, what: What, tool: str = "", **facts: Any) -> None:
        noted = Noted(self._now(), what, tool, facts)
        (self._outside if what == "open_world" else self._noted).append(noted)
        if self._sink is not None:
            self._sink(noted)


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Trust, timeouts and limits. Times are in seconds; clock and sleep can be replaced."""

    trusted: bool = False
    tiers: Mapping[str, Tier | str] = field(default_factory=dict)
    """Tiers of tools by name; they override the server and the inference."""
    profile: str | None = None
    """The profile by which a trusted server writes its hints, if they do not have the specification's meaning."""
    repeat_destructive: bool | None = None
    """Whether a failed call of a trusted tool that is destructive and idempotent is repeated; None: as the profile
    says."""
    keys_by_header: bool = False
    """Whether the server accepts an `Idempotency-Key` HTTP header for tools that do not mention keys."""
    timeout: float = 60.0
    """Timeout of one attempt; the time a person takes to answer does not count."""
    attempts: int = 3
    question_patience: float = 300.0
    """Timeout of a question to a person; no answer means no."""
    approval_patience: float = 300.0
    approval_interval: float = 2.0
    declined_for: float = 900.0
    fresh_for: float = 300.0
    """Maximum age of a tool listing before it is fetched again."""
    conversation: str | None = None
    """The name of the conversation for flow control at a gateway; without it, one per client."""
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts must be 1 or more")
        for name in ("timeout", "question_patience", "approval_interval", "fresh_for"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0 seconds")
        said = profile(self.profile).repeats_destructive if self.profile is not None else False
        if self.repeat_destructive is None:
            object.__setattr__(self, "repeat_destructive", said)
        object.__setattr__(self, "tiers", {name: Tier(tier) for name, tier in self.tiers.items()})
