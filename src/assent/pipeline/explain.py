"""What would become of this request, and why?

The same sentence is said with a store that keeps nothing and an upstream that is never called, so an explanation cannot
differ from what happens. It is for operators: it tells hidden tools from unknown ones.
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
    "confirm",
    "step_up",
    "claim",
    "execute",
)
NOT_ASKED_YET = "not-asked-yet"
_WEIGHT = ("pass", "would stop", "unknown", "stop")


@dataclass(frozen=True, slots=True)
class Explanation:
    """One note for every stage in order, and how the request would end."""

    stages: tuple[StageNote, ...]
    outcome: Literal["answer", "pause", "refusal", "unknown"]
    code: str | None = None
    runs: bool = False
    """Whether the tool would be run, so that the rest is the tool's own."""
    would: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"outcome": self.outcome}
        said |= {"code": self.code} if self.code else {}
        said |= {"would": list(self.would)} if self.would else {}
        return said | {"stages": [note._asdict() for note in self.stages]}

    def as_text(self) -> str:
        """The same for people: how it ends, and a line for every stage."""
        head = f"{self.outcome}: {self.code}" if self.code else self.outcome
        lines = (f"  {stage:<13}{verdict:<12}{reason}".rstrip() for stage, verdict, reason in self.stages)
        observed = f" (only observed; enforcing would stop it: {', '.join(self.would)})" if self.would else ""
        return "\n".join([head + observed, *lines])


async def explain(request: Request, ports: Ports, *, reads: bool = False) -> Explanation:
    """Each stage's verdict on one request, without running the tool and without writing anything.

    A price or a look-up is another tool's answer: without `reads` it is not asked for, and what hangs on it is unknown.
    """
    trace = CallTrace(observing=ports.mode == "observe")
    looking = ports._replace(
        store=DryRunStore(ports.store),
        upstream=_Untouched(ports.upstream if reads else None),
        work=_Idle(),
        new_id=lambda: NOT_ASKED_YET,
        seen=lambda *_: None,
    )
    try:
        outcome = await record(request, looking, run_stages, trace)
    except _Reached as reached:
        return _at_the_tool(reached, trace)
    return _ended(outcome, trace)


def _ended(outcome: Outcome, trace: CallTrace) -> Explanation:
    if isinstance(outcome, Answer):
        return Explanation(_in_order(trace), "answer", would=tuple(trace.would))
    kind: Literal["pause", "refusal"] = "pause" if isinstance(outcome, Pause) else "refusal"
    reason = "a person is asked" if isinstance(outcome, Pause) else outcome.problem()["detail"]
    stop = StageNote(_next(trace), "stop", f"{outcome.code}: {reason}")
    return Explanation(_in_order(trace, stop), kind, outcome.code, would=tuple(trace.would))


def _at_the_tool(reached: _Reached, trace: CallTrace) -> Explanation:
    if reached.other is not None:
        depends = StageNote(_next(trace), "unknown", f"it depends on what {reached.other} says, which was not asked")
        return Explanation(_in_order(trace, depends), "unknown", would=tuple(trace.would))
    rehearsal = trace.call is not None and trace.call.dry_run
    run = (
        StageNote("rehearse", "pass", "the tool would preview it")
        if rehearsal
        else StageNote("execute", "pass", "it would run")
    )
    return Explanation(_in_order(trace, run), "answer", runs=True, would=tuple(trace.would))


def _next(trace: CallTrace) -> str:
    """The first stage that has said nothing: where a request that ended must have ended."""
    heard = {note.stage for note in trace.notes if note.verdict != "stop"}
    return next(stage for stage in STAGES if stage not in heard)


def _in_order(trace: CallTrace, *more: StageNote) -> tuple[StageNote, ...]:
    """One note for each stage: its weightiest, the first of equals."""
    said: dict[str, StageNote] = {}
    for note in (*trace.notes, *more):
        standing = said.get(note.stage)
        if standing is None or _WEIGHT.index(note.verdict) > _WEIGHT.index(standing.verdict):
            said[note.stage] = note
    return tuple(said.get(stage, StageNote(stage, "not reached", "")) for stage in STAGES)


class _Reached(BaseException):
    """The request has come as far as the upstream. No failure, so that no stage can take it for one of the tool's."""

    def __init__(self, other: str | None = None) -> None:
        super().__init__(other)
        self.other = other


class _Untouched:
    """An upstream that is never called, but for reads where they are allowed."""

    def __init__(self, upstream: Upstream | None) -> None:
        self._upstream = upstream

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        raise _Reached

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        if self._upstream is None:
            raise _Reached(tool)
        return await self._upstream.read(tool, arguments, call)


class _Idle:
    """Work that holds no leases and outlives nobody."""

    async def shield(self, effect: Coroutine[Any, Any, T], presence: Presence | None = None) -> T:
        return await effect

    async def turn(self) -> None:
        return None

    def holding(self, claim_id: str | None, epoch: int) -> AbstractContextManager[None]:
        return nullcontext()
