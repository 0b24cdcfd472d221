"""Kinds of audit entries."""

from __future__ import annotations

KINDS = frozenset(
    {
        "intent",
        "outcome",
        "event",
        "read",
        "rehearsal",
        "replay",
        "pause",
        "denial",
        "failure",
        "violation",
        "approval",
        "decision",
        "settlement",
        "definition",
        "configuration",
        "operator",
        "authentication",
        "key",
        "redaction",
    }
)
