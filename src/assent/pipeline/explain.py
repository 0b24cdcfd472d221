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
from assent.core.guard_finding import GuardFinding
from assent.core.outcome import Answer, Outcome, Pause
from assent.pipeline.govern import run_stages
from assent.pipeline.plan import STAGES
from assent.pipeline.record import CallTrace, StageNote, record
from assent.ports import Ports, Upstream
from assent.stores.dry_run import dry_run_store

T = TypeVar("T")
NOT_ASKED_YET = "not-asked-yet"
_SEVERITY = ("pass", "warn", "would stop", "unknown", "stop")


@dataclass(frozen=True, slots=True)
class Explanation:
    """One note per stage in order, and how the request would end."""

    stages: tuple[StageNote, ...]
    outcome: Literal["answer", "pause", "refusal", "unknown"]
    code: str | None = None
    runs: bool = False
    """Whether the tool would run, so that the rest depends on the tool."""
    would: tuple[str, ...] = ()
    guards: tuple[GuardFinding, ...] = ()
    """What guards found, also what they only warn about."""

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"outcome": self.outcome}
        fields |= {"code": self.code} if self.code else {}
        fields |= {"would": list(self.would)} if self.would else {}
        fields |= {"guards": [found.as_json() for found in self.guards]} if self.guards else {}
        return fields | {"stages": [note._asdict() for note in self.stages]}

    def as_text(self) -> str:
        """The explanation for people: the outcome, and a line per stage."""
        head = f"{self.outcome}: {self.code}" if self.code else self.outcome
        lines = [line for note in self.stages for line in self._lines(note)]
        observed = f" (observe mode; enforcing would stop it: {', '.join(self.would)})" if self.would else ""
        return "\n".join([head + observed, *lines])

    def _lines(self, note: StageNote) -> list[str]:
        """A stage's line; below `guard`, one line per finding."""
        found = self.guards if note.stage == "guard" else ()
        below = (f"{one.action}{' (observed)' if one.observed else ''} by {one.rule}: {one.sentence}" for one in found)
        line = f"  {note.stage:<13}{note.verdict:<12}{note.reason}".rstrip()
        return [line, *(f"{'':15}{one}" for one in below)]


async def explain(request: Request, ports: Ports, *, reads: bool = False) -> Explanation:
    """Return each stage's verdict on one request, without running the tool or writing anything.

    A price or a look-up is another tool's answer. Without `reads` it is not requested, and what depends on it is
    unknown.
    """
    trace = CallTrace(observing=ports.rules.mode == "observe")
    looking = ports._replace(
        store=dry_run_store(ports.store),
        upstream=_UncalledUpstream(ports.upstream if reads else None),
        work=DirectWork(),
        new_id=lambda: NOT_ASKED_YET,
        seen=lambda *_: None,
    )
    try:
        outcome = await record(request, looking, run_stages, trace)
    except UpstreamReached as reached:
        return _explain_reached(reached, trace)
    return _explain_ending(outcome, trace)


def _trace_fields(trace: CallTrace) -> dict[str, Any]:
    return {"would": tuple(trace.would), "guards": tuple(trace.guards)}


def _explain_ending(outcome: Outcome, trace: CallTrace) -> Explanation:
    if isinstance(outcome, Answer):
        return Explanation(_stage_notes(trace), "answer", **_trace_fields(trace))
    kind: Literal["pause", "refusal"] = "pause" if isinstance(outcome, Pause) else "refusal"
    reason = "a person is asked" if isinstance(outcome, Pause) else outcome.problem()["detail"]
    stop = StageNote(_next_stage(trace), "stop", f"{outcome.code}: {reason}")
    return Explanation(_stage_notes(trace, stop), kind, outcome.code, **_trace_fields(trace))


def _explain_reached(reached: UpstreamReached, trace: CallTrace) -> Explanation:
    if reached.other is not None:
        depends = StageNote(
            _next_stage(trace), "unknown", f"it depends on the result of {reached.other}, which was not called"
        )
        return Explanation(_stage_notes(trace, depends), "unknown", **_trace_fields(trace))
    rehearsal = trace.call is not None and trace.call.dry_run
    run = (
        StageNote("rehearse", "pass", "the tool would preview it")
        if rehearsal
        else StageNote("execute", "pass", "it would run")
    )
    return Explanation(_stage_notes(trace, run), "answer", runs=True, **_trace_fields(trace))


def _next_stage(trace: CallTrace) -> str:
    """The stage at which the request ended: the one that said so, or the first without a verdict."""
    stopped = next((note.stage for note in trace.notes if note.verdict == "stop"), None)
    if stopped is not None:
        return stopped
    judged = {note.stage for note in trace.notes}
    return next(stage for stage in STAGES if stage not in judged)


def _stage_notes(trace: CallTrace, *more: StageNote) -> tuple[StageNote, ...]:
    """One note per stage: its most severe one, with the reasons of all that are as severe; only the first stop."""
    notes: dict[str, StageNote] = {}
    for note in (*trace.notes, *more):
        current = notes.get(note.stage)
        if current is None or _SEVERITY.index(note.verdict) > _SEVERITY.index(current.verdict):
            notes[note.stage] = note
        elif note.verdict == current.verdict != "stop":
            notes[note.stage] = current._replace(reason=f"{current.reason}; {note.reason}")
    return tuple(notes.get(stage, StageNote(stage, "not reached", "")) for stage in STAGES)


class UpstreamReached(BaseException):
    """The request has reached the upstream. Not an Exception, so that no stage treats it as a failure of the tool."""

    def __init__(self, other: str | None = None) -> None:
        super().__init__(other)
        self.other = other


class _UncalledUpstream:
    """An upstream that is never called, except for reads if they are allowed."""

    def __init__(self, upstream: Upstream | None) -> None:
        self._upstream = upstream

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        raise UpstreamReached

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        if self._upstream is None:
            raise UpstreamReached(tool)
        return await self._upstream.read(tool, arguments, call)


class DirectWork:
    """Work without leases, in which effects do not outlive their callers."""

    async def shield(self, effect: Coroutine[Any, Any, T], presence: Presence | None = None) -> T:
        return await effect

    def holding(self, claim_id: str | None, epoch: int) -> AbstractContextManager[None]:
        return nullcontext()
