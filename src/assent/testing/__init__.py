"""Helpers for tests of servers and contracts."""

from importlib import import_module
from typing import Any

from assent.core.tool import collecting_events
from assent.testing.world import AGENT, ANN, BrokenStore, Clock, FakeUpstream, World, as_given, failing_at, failing_nth

# These need the SDK, which explaining a decision does not.
_HOMES = {
    "assert_annotations": "assent.testing.assertions",
    "assert_promises_kept": "assent.testing.assertions",
    "every_tool_annotated": "assent.testing.assertions",
}

__all__ = [
    "AGENT",
    "ANN",
    "BrokenStore",
    "Clock",
    "FakeUpstream",
    "World",
    "as_given",
    "assert_annotations",
    "assert_promises_kept",
    "collecting_events",
    "every_tool_annotated",
    "failing_at",
    "failing_nth",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assent.testing' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
