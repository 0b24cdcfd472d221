"""Explains how a request would end, stage by stage.

It runs the same pipeline with a store that keeps nothing and an upstream that is never called, so an explanation
cannot differ from what happens. It is for operators: it distinguishes hidden tools from unknown ones.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from assent.core.call import Call, Presence, Request
from assent.core.outcome import Answer, Outcome, Pause
from assent.pipeline.govern import run_stages
from assent.pipeline.record import record
from assent.pipeline.trace import CallTrace, StageNote
from assent.ports import Ports, Upstream
from assent.stores.dry_run import DryRunStore

T = TypeVar("T")
STAGES = (
    "authenticate",
    "discover",
    "authorize",
    "validate",
    "recall",
    "guard",
    "rehearse",
    "step_up",
    "confirm",
    "claim",
    "execute",
)
NOT_ASKED_YET = "not-asked-yet"
_SEVERITY = ("pass", "would stop", "unknown", "stop")


@dataclass(frozen=True, slots=True)
class Explanation:
    """One note per stage in order, and how the request would end."""

    stages: tuple[StageNote, ...]
    outcome: Literal["answer", "pause", "refusal", "unknown"]
    code: str | None = None
    runs: bool = False
    """Whether the tool would run, so that the rest depends on the tool."""
    would: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"outcome": self.outcome}
        fields |= {"code": self.code} if self.code else {}
        fields |= {"would": list(self.would)} if self.would else {}
        return fields | {"stages": [note._asdict() for note in self.stages]}

    def as_text(self) -> str:
        """The explanation for people: the outcome, and a line per stage."""
        head = f"{self.outcome}: {self.code}" if self.code else self.outcome
        lines = (f"  {stage:<13}{verdict:<12}{reason}".rstrip() for stage, verdict, reason in self.stages)
        observed = f" (observe mode; enforcing would stop it: {', '.join(self.would)})" if self.would else ""
        return "\n".join([head + observed, *lines])


async def explain(request: Request, ports: Ports, *, reads: bool = False) -> Explanation:
    """Return each stage's verdict on one request, without running the tool or writing anything.

    A price or a look-up is another tool's answer. Without `reads` it is not requested, and what depends on it is
    unknown.
    """
    trace = CallTrace(observing=ports.mode == "observe")
    looking = ports._replace(
        store=DryRunStore(ports.store),
        upstream=_UncalledUpstream(ports.upstream if reads else None),
        work=_DirectWork(),
        new_id=lambda: NOT_ASKED_YET,
        seen=lambda *_: None,
    )
    try:
        outcome = await record(request, looking, run_stages, trace)
    except _UpstreamReached as reached:
        return _explain_reached(reached, trace)
    return _explain_ending(outcome, trace)


def _explain_ending(outcome: Outcome, trace: CallTrace) -> Explanation:
    if isinstance(outcome, Answer):
        return Explanation(_stage_notes(trace), "answer", would=tuple(trace.would))
    kind: Literal["pause", "refusal"] = "pause" if isinstance(outcome, Pause) else "refusal"
    reason = "a person is asked" if isinstance(outcome, Pause) else outcome.problem()["detail"]
    stop = StageNote(_next_stage(trace), "stop", f"{outcome.code}: {reason}")
    return Explanation(_stage_notes(trace, stop), kind, outcome.code, would=tuple(trace.would))


def _explain_reached(reached: _UpstreamReached, trace: CallTrace) -> Explanation:
    if reached.other is not None:
        depends = StageNote(
            _next_stage(trace), "unknown", f"it depends on the result of {reached.other}, which was not called"
        )
        return Explanation(_stage_notes(trace, depends), "unknown", would=tuple(trace.would))
    rehearsal = trace.call is not None and trace.call.dry_run
    run = (
        StageNote("rehearse", "pass", "the tool would preview it")
        if rehearsal
        else StageNote("execute", "pass", "it would run")
    )
    return Explanation(_stage_notes(trace, run), "answer", runs=True, would=tuple(trace.would))


def _next_stage(trace: CallTrace) -> str:
    """The first stage without a verdict: the one at which the request ended."""
    judged = {note.stage for note in trace.notes if note.verdict != "stop"}
    return next(stage for stage in STAGES if stage not in judged)


def _stage_notes(trace: CallTrace, *more: StageNote) -> tuple[StageNote, ...]:
    """One note per stage: its most severe one, the first of equals."""
    notes: dict[str, StageNote] = {}
    for note in (*trace.notes, *more):
        current = notes.get(note.stage)
        if current is None or _SEVERITY.index(note.verdict) > _SEVERITY.index(current.verdict):
            notes[note.stage] = note
    return tuple(notes.get(stage, StageNote(stage, "not reached", "")) for stage in STAGES)


class _UpstreamReached(BaseException):
    """The request has reached the upstream. Not an Exception, so that no stage treats it as a failure of the tool."""

    def __init__(self, other: str | None = None) -> None:
        super().__init__(other)
        self.other = other


class _UncalledUpstream:
    """An upstream that is never called, except for reads if they are allowed."""

    def __init__(self, upstream: Upstream | None) -> None:
        self._upstream = upstream

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        raise _UpstreamReached

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        if self._upstream is None:
            raise _UpstreamReached(tool)
        return await self._upstream.read(tool, arguments, call)


class _DirectWork:
    """Work without leases, in which effects do not outlive their callers."""

    async def shield(self, effect: Coroutine[Any, Any, T], presence: Presence | None = None) -> T:
        return await effect

    async def turn(self) -> None:
        return None

    def holding(self, claim_id: str | None, epoch: int) -> AbstractContextManager[None]:
        return nullcontext()
