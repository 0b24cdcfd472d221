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
from assent.pipeline.journal import Journal
from assent.ports import Ports

Sentence = Callable[[Request, Ports, Journal], Awaitable[Answer]]


async def record(request: Request, ports: Ports, sentence: Sentence, journal: Journal | None = None) -> Outcome:
    """Say the sentence and write down its end. Encloses everything, failed authentication included."""
    journal = journal or Journal(observing=ports.mode == "observe")
    try:
        await _be_recordable(ports)
        outcome: Outcome = await sentence(request, ports, journal)
    except (Pause, Refusal) as ending:
        outcome = ending
    except StoreError:
        outcome = Refusal("execute.in_doubt" if journal.started else "record.unavailable")
    except asyncio.CancelledError:
        if not journal.handed_over:  # a read may have reached its tool all the same
            _note_failure(request, ports, journal)
        raise
    except Exception:
        _note_failure(request, ports, journal)
        _tell(ports, journal, None)
        raise
    try:
        entry = _entry(request, outcome, ports, journal)
        if entry is not None:
            ports.store.note(entry)
    except StoreError:
        outcome = outcome if journal.started else Refusal("record.unavailable")
    _tell(ports, journal, outcome)
    return outcome


async def _be_recordable(ports: Ports) -> None:
    """What cannot be written down is not begun; entries that could not be kept are tried again first."""
    try:
        ports.store.check()
    except StoreError:
        await ports.store.flush()


def _note_failure(request: Request, ports: Ports, journal: Journal) -> None:
    with suppress(StoreError):
        ports.store.note(Entry("failure", ports.now(), _facts(journal), _values(request, journal)))


def _tell(ports: Ports, journal: Journal, outcome: Outcome | None) -> None:
    ports.seen(journal.tool.name if journal.tool is not None else None, outcome, journal.would)


def _entry(request: Request, outcome: Outcome, ports: Ports, journal: Journal) -> Entry | None:
    """The entry that the stages have not written already: reads, replays, pauses and refusals."""
    if isinstance(outcome, Answer) and not outcome.replayed and _is_written(journal):
        return None
    facts, values = _facts(journal), _values(request, journal)
    if isinstance(outcome, Answer):
        kind = "replay" if outcome.replayed else "rehearsal" if "dry_run" in facts else "read"
        return Entry(kind, ports.now(), facts, values)
    facts = {**facts, "code": outcome.code}
    if isinstance(outcome, Pause):
        return Entry("pause", ports.now(), {**facts, "approval": outcome.approval.id}, values)
    return Entry("failure" if journal.started else "denial", ports.now(), facts, values)


def _is_written(journal: Journal) -> bool:
    """Whether the end of a call that was answered stands in the log already, with its claim or its rehearsal."""
    return journal.started or journal.rehearsed


def _facts(journal: Journal) -> dict[str, Any]:
    if journal.call is not None:
        facts = call_facts(journal.call)
    else:
        facts = {"tool": journal.tool.name} if journal.tool else {}
    return {**facts, "would": list(journal.would)} if journal.would else facts


def _values(request: Request, journal: Journal) -> dict[str, Any]:
    """Who and what; the name of a tool that nobody found is only what the caller wrote."""
    if journal.call is not None:
        return call_values(journal.call)
    asked = {} if journal.tool else request_values(request)
    return {**asked, **principal_values(journal.principal)} if journal.principal else asked
