"""Audit events that a tool's function records while it runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from assent.contract.digest import canonical

MOST_EVENTS = 100_000
"""The maximum number of events of one call."""
_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,200}")


@dataclass(frozen=True, slots=True)
class ToolEvent:
    """One event of a running call: a public name, and values that can be erased."""

    name: str
    values: bytes
    kind: Literal["event", "violation"] = "event"


_collected: ContextVar[list[ToolEvent] | None] = ContextVar("assent_tool_events", default=None)


def record_event(name: str, /, **values: Any) -> None:
    """Record an event of the running call. It is written to the audit log together with the call's outcome.

    The name is public, so it must not identify a person. Values are JSON; they can be erased later.
    """
    events = _collected.get()
    if events is None:
        raise RuntimeError("record_event needs a governed call that runs; a dry run has no events, so return before it")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:40]!r} is not an event name: use up to 200 letters, digits and . _ : / -")
    if len(events) >= MOST_EVENTS:
        raise RuntimeError(f"a call can record at most {MOST_EVENTS} events")
    events.append(ToolEvent(name, canonical(values)))


def record_violation(code: str, **values: Any) -> None:
    """Record that the running call broke a promise of its contract; outside of a call nothing is recorded."""
    events = _collected.get()
    if events is not None and len(events) < MOST_EVENTS:
        events.append(ToolEvent(code, canonical(values), "violation"))


class collecting_events:
    """Collects the events that are recorded in this block, in order."""

    __slots__ = ("_token",)

    def __enter__(self) -> Sequence[ToolEvent]:
        events: list[ToolEvent] = []
        self._token = _collected.set(events)
        return events

    def __exit__(self, *_: object) -> None:
        _collected.reset(self._token)


def recorded_events() -> Sequence[ToolEvent]:
    """The events of the running call so far."""
    return tuple(_collected.get() or ())
