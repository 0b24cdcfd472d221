"""Calls the tools of a server and reports which promises were broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assent.checks.verify.inputs import NoExampleError, examples_of
from assent.checks.verify.observe import Observer, StateSnapshot, ToolSession
from assent.checks.verify.promises import Promises
from assent.checks.verify.tool_check import FAILS, Broken, ToolCheck

Calls = Literal["reads", "all"]
_MOST_READS = 20


@dataclass(frozen=True, slots=True)
class Checked:
    """Result for one tool: the number of answered calls, or why there were none."""

    tool: str
    calls: int = 0
    skipped: str = ""
    failed: bool = False
    """Whether every answer was a failure."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of the whole verification."""

    checked: tuple[Checked, ...]
    broken: tuple[Broken, ...]
    notes: tuple[str, ...] = ()


async def verify(
    session: ToolSession,
    tools: Sequence[Promises],
    *,
    observers: Sequence[Observer] = (),
    calls: Calls = "reads",
    examples: int = 5,
    only: Sequence[str] = (),
) -> Verdict:
    """Call tools with generated arguments and compare. Only reads are called, unless `calls="all"`."""
    plain = [one.tool for one in tools if one.readable and not one.input.get("required")]
    lookups = [(one.tool, argument) for one in tools for argument in [one.looks_up] if argument is not None]
    state_snapshot = StateSnapshot(session, plain[:_MOST_READS], observers, lookups[:_MOST_READS])
    await state_snapshot.settle()
    if state_snapshot.ended_by:
        return _verdict_after_end(state_snapshot, state_snapshot.ended_by, (), ())
    if state_snapshot.silenced_by:
        silent = Broken(state_snapshot.silenced_by, FAILS, "it did not answer, and no later call was answered")
        return _verdict_after_silence(state_snapshot, state_snapshot.silenced_by, (), (silent,))
    checked: list[Checked] = []
    broken: list[Broken] = []
    unheld: list[str] = []
    for promises in tools:
        if only and promises.tool not in only:
            continue
        reason = _reason_not_called(promises, calls)
        if reason:
            checked.append(Checked(promises.tool, skipped=reason))
            continue
        try:
            given = examples_of(promises.input, examples)
        except NoExampleError as error:
            checked.append(Checked(promises.tool, skipped=str(error)))
            continue
        trial = ToolCheck(session, promises, state_snapshot)
        for arguments in given:
            await trial.run(arguments)
            if trial.silent or trial.ended or state_snapshot.ended_by:
                break
        else:
            await trial.decline(given[-1])
        checked.append(Checked(promises.tool, trial.calls, trial.skipped, bool(trial.calls and not trial.answered)))
        broken += trial.broken
        if trial.unheld:
            places = ", ".join(trial.unheld)
            unheld.append(f"{promises.tool} names a secret at {places} that no answer held: nothing was seen of it")
        if trial.ended or state_snapshot.ended_by:
            return _verdict_after_end(state_snapshot, "" if trial.ended else state_snapshot.ended_by, checked, broken)
        if state_snapshot.silenced_by or (trial.silent and not await session.responds()):
            return _verdict_after_silence(state_snapshot, promises.tool, checked, broken)
    return Verdict(tuple(checked), tuple(broken), (*_notes(state_snapshot, checked), *unheld))


def _notes(state_snapshot: StateSnapshot, checked: Sequence[Checked]) -> tuple[str, ...]:
    said = [f"{name} differs by itself and proves nothing" for name in sorted(state_snapshot.unsteady)]
    said += [
        f"{name} changed although only reads were called: {' or '.join(others)} may not only read"
        for name, others in state_snapshot.changed_since.items()
        if others
    ]
    said += [
        f"{name} can no longer be seen since {tool} was called: whether that changed it is not known"
        for name, tool in state_snapshot.unseen_since.items()
        if not state_snapshot.silenced_by and not state_snapshot.ended_by
    ]
    failed = [one.tool for one in checked if one.failed and not one.skipped]
    return (*said, *(f"every call of {tool} failed, so nothing of what it does was seen" for tool in failed))


def _verdict_after_end(
    state_snapshot: StateSnapshot, read: str, checked: Sequence[Checked], broken: Sequence[Broken]
) -> Verdict:
    """Return the verdict when the server ended during a read; no further call is possible."""
    blamed = [Broken(read, FAILS, "the server ended when it was called")] if read else []
    note = "the server ended: no other tool was called after that"
    return Verdict(tuple(checked), (*broken, *blamed), (*_notes(state_snapshot, checked), note))


def _verdict_after_silence(
    state_snapshot: StateSnapshot, tool: str, checked: Sequence[Checked], broken: Sequence[Broken]
) -> Verdict:
    """Return the verdict when the server stopped answering."""
    note = f"the server no longer answers: no other tool was called after {tool}"
    return Verdict(tuple(checked), tuple(broken), (*_notes(state_snapshot, checked), note))


def _reason_not_called(promises: Promises, calls: Calls) -> str:
    if promises.absent:
        return "its contract forbids or hides it"
    if calls == "all":
        return ""
    if not promises.reads:
        return "it may have an effect; --calls all calls it"
    return "it claims to read, and its definition says otherwise; --calls all calls it" if promises.doubtful else ""
