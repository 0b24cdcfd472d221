"""What is written down about a request, however it ends?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from assent.core.audit import Entry, call_facts, call_values, principal_values, request_values
from assent.core.call import Request
from assent.core.outcome import Answer, Outcome, Pause, Refusal
from assent.errors import StoreError
from assent.pipeline.trace import CallTrace
from assent.ports import Ports

Sentence = Callable[[Request, Ports, CallTrace], Awaitable[Answer]]


async def record(request: Request, ports: Ports, sentence: Sentence, trace: CallTrace | None = None) -> Outcome:
    """Say the sentence and write down its end. Encloses everything, failed authentication included."""
    trace = trace or CallTrace(observing=ports.mode == "observe")
    try:
        await _ensure_log_writable(ports)
        outcome: Outcome = await sentence(request, ports, trace)
    except (Pause, Refusal) as ending:
        outcome = ending
    except StoreError:
        outcome = Refusal("execute.in_doubt" if trace.started else "record.unavailable")
    except asyncio.CancelledError:
        if not trace.handed_over:  # a read may have reached its tool all the same
            _note_failure(request, ports, trace)
        raise
    except Exception:
        _note_failure(request, ports, trace)
        _tell(ports, trace, None)
        raise
    try:
        entry = _entry(request, outcome, ports, trace)
        if entry is not None:
            ports.store.note(entry)
    except StoreError:
        outcome = outcome if trace.started else Refusal("record.unavailable")
    _tell(ports, trace, outcome)
    return outcome


async def _ensure_log_writable(ports: Ports) -> None:
    """What cannot be written down is not begun; entries that could not be kept are tried again first."""
    try:
        ports.store.check()
    except StoreError:
        await ports.store.flush()


def _note_failure(request: Request, ports: Ports, trace: CallTrace) -> None:
    with suppress(StoreError):
        ports.store.note(Entry("failure", ports.now(), _facts(trace), _values(request, trace)))


def _tell(ports: Ports, trace: CallTrace, outcome: Outcome | None) -> None:
    ports.seen(trace.tool.name if trace.tool is not None else None, outcome, trace.would)


def _entry(request: Request, outcome: Outcome, ports: Ports, trace: CallTrace) -> Entry | None:
    """The entry that the stages have not written already: reads, replays, pauses and refusals."""
    if isinstance(outcome, Answer) and not outcome.replayed and _is_written(trace):
        return None
    facts, values = _facts(trace), _values(request, trace)
    if isinstance(outcome, Answer):
        kind = "replay" if outcome.replayed else "rehearsal" if "dry_run" in facts else "read"
        return Entry(kind, ports.now(), facts, values)
    facts = {**facts, "code": outcome.code}
    if isinstance(outcome, Pause):
        return Entry("pause", ports.now(), {**facts, "approval": outcome.approval.id}, values)
    return Entry("failure" if trace.started else "denial", ports.now(), facts, values)


def _is_written(trace: CallTrace) -> bool:
    """Whether the end of a call that was answered stands in the log already, with its claim or its rehearsal."""
    return trace.started or trace.rehearsed


def _facts(trace: CallTrace) -> dict[str, Any]:
    if trace.call is not None:
        facts = call_facts(trace.call)
    else:
        facts = {"tool": trace.tool.name} if trace.tool else {}
    return {**facts, "would": list(trace.would)} if trace.would else facts


def _values(request: Request, trace: CallTrace) -> dict[str, Any]:
    """Who and what; the name of a tool that nobody found is only what the caller wrote."""
    if trace.call is not None:
        return call_values(trace.call)
    asked = {} if trace.tool else request_values(request)
    return {**asked, **principal_values(trace.principal)} if trace.principal else asked
