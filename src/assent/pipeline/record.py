"""Wraps the pipeline and appends the outcome of every request to the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from assent.core.audit import Entry, call_facts, call_values, principal_values, unknown_tool_values, unrun_values
from assent.core.call import Request
from assent.core.catalogue import is_public
from assent.core.guard_finding import finding_facts, finding_values
from assent.core.outcome import Answer, Ending, Outcome, Pause, Refusal
from assent.errors import StoreError
from assent.pipeline.trace import CallTrace
from assent.ports import Ports

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
    name = trace.tool.name if trace.tool is not None and is_public(trace.tool) else None
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
