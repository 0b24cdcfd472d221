"""Wraps the pipeline and appends the outcome of every request to the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from assent.core.audit import Entry, call_facts, call_values, principal_values, unknown_tool_values, unrun_values
from assent.core.call import Call, Request
from assent.core.guard_finding import GuardFinding, finding_facts, finding_values
from assent.core.outcome import Answer, Ending, Outcome, Pause, Refusal
from assent.core.policy_verdict import PolicyReason
from assent.core.principal import Principal, Rights
from assent.core.quotas import RateSlot
from assent.core.tool import Tool
from assent.errors import StoreError
from assent.ports import Ports, Rules


def always(tool: Tool, caller: Rights, rules: Rules) -> bool:
    """The statement of a stage that no call can do without."""
    return True


class StageNote(NamedTuple):
    """One stage's verdict and its reason."""

    stage: str
    verdict: str
    reason: str


class CallTrace:
    """The notes of one request: filled by the stages, read by `record` at the end."""

    principal: Principal | None = None
    tool: Tool | None = None
    call: Call | None = None
    started = False
    handed_over = False
    """Whether the rest runs without its caller and records itself."""
    rehearsed = False
    """Whether its dry run is recorded."""
    approval: str | None = None
    """The id of the approval with which a person said yes to this call."""

    def __init__(self, observing: bool = False, keeps_notes: bool = True) -> None:
        self.observing = observing
        self.keeps_notes = keeps_notes
        """Whether somebody reads the notes. Nobody does for a call that simply runs."""
        self._notes: list[tuple[str, str, str, tuple[object, ...]]] = []
        self.would: list[str] = []
        """Codes of pauses and refusals that did not happen because the mode is `observe`."""
        self.policies: list[str] = []
        """The ids of the policies that denied the call or asked for an approval."""
        self.approvals: list[PolicyReason] = []
        """The policies that ask for an approval of this call."""
        self.guards: list[GuardFinding] = []
        """What guards found in the arguments and the result."""
        self.rates: list[RateSlot] = []
        """What the call takes from the counts of guards."""

    @property
    def notes(self) -> list[StageNote]:
        """The notes as text, formatted only when they are read."""
        return [
            StageNote(stage, verdict, reason % parts if parts else reason)
            for stage, verdict, reason, parts in self._notes
        ]

    def identify(self, principal: Principal) -> Principal:
        """Note who calls; the edge has authenticated them."""
        self.principal = principal
        if self.keeps_notes:
            self.note_pass(
                "authenticate", "%s %s of tenant %s, %s", principal.kind, principal.id, principal.tenant, principal.mode
            )
        return principal

    def note_pass(self, stage: str, reason: str, *parts: object) -> None:
        """Note that a stage passed; `reason` is a format for `parts`, if there are any."""
        if self.keeps_notes:
            self._notes.append((stage, "pass", reason, parts))

    def would_stop(self, stage: str, code: str, detail: str) -> None:
        """Note what would have stopped the call if it were enforced."""
        if code not in self.would:
            self.would.append(code)
        self._notes.append((stage, "would stop", "%s: %s", (code, detail)))

    def note_warning(self, stage: str, reason: str) -> None:
        self._notes.append((stage, "warn", "%s", (reason,)))

    def note_stop(self, stage: str, reason: str) -> None:
        self._notes.append((stage, "stop", reason, ()))

    def refuse_or_note(self, stage: str, ending: Ending) -> None:
        """Raise a pause or refusal; in observe mode, note that it would have been raised."""
        if not self.observing:
            raise ending
        self.would_stop(
            stage, getattr(ending, "code", stage), getattr(ending, "detail", "") or "a person would be asked"
        )


E = TypeVar("E", bound=Ending)
Pipeline = Callable[[Request, Ports, CallTrace], Awaitable[Answer]]


async def record(request: Request, ports: Ports, pipeline: Pipeline, trace: CallTrace | None = None) -> Outcome:
    """Run the pipeline and append its outcome to the audit log, failed authentication included."""
    trace = trace or CallTrace(observing=ports.rules.mode == "observe", keeps_notes=False)
    try:
        try:
            ports.store.check()  # A call that cannot be recorded does not start.
        except StoreError:
            await ports.store.flush()  # It retries entries that could not be written.
        outcome: Outcome = await pipeline(request, ports, trace)
    except (Pause, Refusal) as ending:
        outcome = _without_frames(ending)
    except StoreError:
        outcome = Refusal("execute.in_doubt" if trace.started else "record.unavailable")
    except asyncio.CancelledError:
        if not trace.handed_over:  # The read may have reached its tool all the same.
            _note_failure(request, ports, trace)
        raise
    except Exception:
        _note_failure(request, ports, trace)
        _notify(ports, trace, None)
        raise
    try:
        entry = _entry(request, outcome, ports, trace)
        if entry is not None:
            ports.store.append(entry)
    except StoreError:
        outcome = outcome if trace.started else Refusal("record.unavailable")
    _notify(ports, trace, outcome)
    return outcome


def _without_frames(ending: E) -> E:
    """The ending without the frames it passed through: they hold the call, and its cycles would keep all that in
    memory.
    """
    ending.__context__ = None
    return ending.with_traceback(None)


def _note_failure(request: Request, ports: Ports, trace: CallTrace) -> None:
    with suppress(StoreError):
        ports.store.append(Entry("failure", ports.now(), _facts(trace), _values(request, trace)))


def _notify(ports: Ports, trace: CallTrace, outcome: Outcome | None) -> None:
    """Report the end of a request; a tool that is hidden from some callers is reported without its name."""
    name = trace.tool.name if trace.tool is not None and trace.tool.is_public else None
    ports.seen(name, outcome, trace.would)


def _entry(request: Request, outcome: Outcome, ports: Ports, trace: CallTrace) -> Entry | None:
    """The entry that the stages have not written themselves: reads, replays, pauses and refusals."""
    if isinstance(outcome, Answer) and not outcome.replayed and _is_written(trace):
        return None
    ran = isinstance(outcome, Answer) or trace.started
    facts, values = _facts(trace), _values(request, trace, ran=ran)
    if isinstance(outcome, Answer):
        kind = "replay" if outcome.replayed else "rehearsal" if "dry_run" in facts else "read"
        failed = kind == "read" and outcome.result.get("isError") is True
        return Entry(kind, ports.now(), {**facts, "state": "failed"} if failed else facts, values)
    facts = {**facts, "code": outcome.code}
    if isinstance(outcome, Pause):
        return Entry("pause", ports.now(), {**facts, "approval": outcome.approval.id}, values)
    return Entry("failure" if trace.started else "denial", ports.now(), facts, values)


def _is_written(trace: CallTrace) -> bool:
    """Whether the log already has the end of an answered call, with its claim or its dry run."""
    return trace.started or trace.rehearsed


def _facts(trace: CallTrace) -> dict[str, Any]:
    if trace.call is not None:
        facts = call_facts(trace.call)
    else:
        facts = {"tool": trace.tool.name} if trace.tool else {}
    facts = {**facts, "would": list(trace.would)} if trace.would else facts
    return {**facts, **finding_facts(trace.guards)} if trace.guards else facts


def _values(request: Request, trace: CallTrace, *, ran: bool = True) -> dict[str, Any]:
    """The principal and the arguments. The name of an unknown tool is only the caller's text."""
    policies = {"policies": list(trace.policies)} if trace.policies else {}
    if trace.call is not None:
        values = call_values(trace.call) if ran else unrun_values(trace.call)
        return {**values, **finding_values(trace.guards), **policies}
    unknown = {} if trace.tool else unknown_tool_values(request.tool)
    return {**unknown, **principal_values(trace.principal), **policies} if trace.principal else unknown
