"""Recorded calls: the entries of the audit log that hold a decision about a call, and what can be replayed of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from assent.audit.leaf import unpack
from assent.audit.log_reader import CHUNK
from assent.ports import RawLogRow, Store

Ending = Literal["runs", "asks", "refused"]
CALL_KINDS = frozenset({"intent", "read", "rehearsal", "pause", "denial"})
"""Each request leaves one entry of these kinds. The others belong to a call that is already counted, or to no call."""
_STAGES = frozenset(
    {"authenticate", "discover", "authorize", "validate", "recall", "guard", "rehearse", "step_up", "confirm", "claim"}
    | {"execute", "record"}
)
NEVER_STORED = "the arguments were never stored"
UNREADABLE = "the entry cannot be read"
ERASED = "the arguments or the caller were erased"
_UNREPLAYABLE = {
    "recall": "it depends on an earlier call with the same key",
    "guard.not_connected": "it depends on a connection to the upstream",
    "step_up.required": "the caller's authentication is not recorded",
    "rehearse.estimate_failed": "it depends on another tool",
    "rehearse.failed": "it depends on the tool's own dry run",
    "claim.unavailable": "the store could not be reached",
    "record.unavailable": "the store could not be reached",
}
_TOOL = {"tool", "tier", "risk"}
_SAME_AS = {"confirm": "asks", "claim.approval_used": "asks", "execute": "runs"}
_SAME_AS |= {"guard.result_denied": "runs", "guard.mask_misfit": "runs"}


class RecordedDecision(NamedTuple):
    """How a call ended: it ran, a person was asked, or it was refused; and what observe mode let pass."""

    ending: Ending
    code: str = ""
    would: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = f"refused {self.code}" if self.ending == "refused" else self.ending
        return f"{said} (would stop: {', '.join(self.would)})" if self.would else said


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call as the log has it. `gap` says why it cannot be replayed; empty if it can be."""

    index: int
    at: float
    kind: str
    facts: Mapping[str, Any]
    decision: RecordedDecision
    values: Mapping[str, Any] = field(default_factory=dict)
    gap: str = ""

    @property
    def ran(self) -> bool:
        return self.kind in ("intent", "read")


async def recorded_calls(store: Store, since: int = 0) -> AsyncIterator[RecordedCall | int]:
    """Every recorded call from a time (milliseconds) on, in log order; after each page its last index."""
    after = -1
    while rows := await store.sealed(after=after, limit=CHUNK):
        for row in rows:
            found = _read_or_count(row, since)
            if found is not None:
                yield found
        after = rows[-1].index
        yield after


def _read_or_count(row: RawLogRow, since: int) -> RecordedCall | None:
    """The call of one entry; an entry that cannot be read is counted like a call that cannot be replayed."""
    try:
        return read_call(row, since)
    except (ValueError, KeyError, TypeError, AttributeError):
        return RecordedCall(row.index, 0.0, "", {}, RecordedDecision("refused"), gap=UNREADABLE)


def read_call(row: RawLogRow, since: int = 0) -> RecordedCall | None:
    """The call of one entry; None if the entry holds no decision about a call, or is older."""
    leaf = orjson.loads(row.leaf)
    kind, facts = leaf["kind"], leaf["facts"]
    if kind not in CALL_KINDS or leaf["at"] < since:
        return None
    code = facts.get("code", "")
    if kind == "denial" and (code.partition(".")[0] not in _STAGES or "verdict" in facts):
        return None
    packed = unpack(row.vals)[0]
    values = {name: orjson.loads(value) for name, value in packed.items() if name != "call"}
    gap = _gap(code, leaf["commitments"], values) or ("" if facts.keys() >= _TOOL else NEVER_STORED)
    return RecordedCall(row.index, leaf["at"] / 1000, kind, facts, _decision(kind, facts, code), values, gap)


def _decision(kind: str, facts: Mapping[str, Any], code: str) -> RecordedDecision:
    would = tuple(sorted(set(facts.get("would", ()))))
    if kind == "pause" or (kind == "intent" and "approval" in facts):
        return RecordedDecision("asks", would=would)
    if kind != "denial":
        return RecordedDecision("runs", would=would)
    same: Any = _SAME_AS.get(code) or _SAME_AS.get(code.partition(".")[0])
    return RecordedDecision(same, would=would) if same else RecordedDecision("refused", code, would)


def _gap(code: str, committed: Mapping[str, str], values: Mapping[str, Any]) -> str:
    """Why the entry cannot be replayed: what it depends on, or what it lacks."""
    depends = _UNREPLAYABLE.get(code) or _UNREPLAYABLE.get(code.partition(".")[0])
    if depends:
        return depends
    needed = ("principal", "kind", "tenant", "arguments")
    if any(name in committed and name not in values for name in needed):
        return ERASED
    return "" if all(name in values for name in needed) else NEVER_STORED
