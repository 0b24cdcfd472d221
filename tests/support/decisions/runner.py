"""Runs decision cases and lists the differences."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assent.core.approval import Verdict
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.errors import FaultsError
from assent.pipeline.approve import approve
from support.decisions.cases import Case, load_cases
from support.decisions.harness import Contracts, Harness, Observed, Scripted, WorldHarness, newest, seen
from support.decisions.model import CallSpec, CaseStep, Expect, Script, WorldSettings

OpenTable = Callable[[Contracts, WorldSettings, Scripted], Harness]
INVALID = object()
"""Invalid credentials."""


async def play(case: Case, open_table: OpenTable = WorldHarness) -> list[str]:
    """Run a case and list every difference between expected and observed; an empty list is success."""
    scripted = Scripted(case.upstream)
    table = open_table(case.tools, case.world, scripted)
    game = _CaseRun(case, table)
    try:
        for number, step in enumerate(case.given, 1):
            if wrong := await game.step(step):
                return [f"given {number} ({step.verb}): {one}" for one in wrong]
        return await game.end()
    finally:
        scripted.release()
        await asyncio.gather(*game.running, return_exceptions=True)
        await table.close()


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case and its differences."""

    case: Case
    differences: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.case.file}:{self.case.line}"


async def run_cases(paths: Iterable[Path]) -> list[CaseResult]:
    """Run every case of these files and directories; raise CasesError for unusable files."""
    return [CaseResult(case, tuple(await play(case))) for case in load_cases(paths)]


class _CaseRun:
    """One running case."""

    def __init__(self, case: Case, table: Harness) -> None:
        self.case, self.table = case, table
        self.tools, self.scene = dict(case.tools), case.world
        self.begin = table.clock()
        self.asked: str | None = None
        self.running: list[asyncio.Task[Observed]] = []

    async def step(self, step: CaseStep) -> list[str]:
        """Run an earlier step and return what is wrong with it."""
        match step.verb:
            case "elapsed":
                assert step.elapsed is not None
                self.table.clock.advance(step.elapsed)
                return []
            case "changed":
                return await self._change(step)
            case "running":
                assert step.running is not None
                return await self._start(step.running.over(self.case.act))
            case "approved" | "declined":
                person = step.approved or step.declined
                assert person is not None
                verdict: Literal["approve", "decline"] = "approve" if step.approved else "decline"
                return await self._decide(person, verdict, None, step.expect)
        return await self._repeat(step)

    async def end(self) -> list[str]:
        """Run the call of the case and return what is wrong with its end."""
        if self.case.decide is not None:
            said = self.case.decide
            return await self._decide(said.by, said.verdict, said.approval, self.case.expect)
        return await self._differences(self.case.expect, await self._call(self.case.act))

    async def _repeat(self, step: CaseStep) -> list[str]:
        act = getattr(step, step.verb).over(self.case.act)
        if step.verb == "in_doubt":
            self.table.scripted.soon(act.tool, Script(does="lost"))
        if step.verb == "rehearsed":
            act = act.model_copy(update={"arguments": {**(act.arguments or {}), self._dry_run(act.tool): True}})
        found = await self._call(act)
        if step.expect is not None:
            return await self._differences(step.expect, found)
        return _check_usual_end(step.verb, found)

    def _dry_run(self, tool: str) -> str:
        spec: Mapping[str, Any] = self.tools.get(tool, {}).get("dry_run") or {}
        return str(spec.get("argument", "dryRun"))

    async def _call(self, act: CallSpec) -> Observed:
        before = {one.id for one in await self.table.ports.store.approvals(limit=10_000)}
        credentials = self._credentials(act.by)
        found = await self.table.call(credentials, act.tool, act.arguments, act.key, act.asks)
        fresh = newest(await self.table.ports.store.approvals(limit=10_000), before)
        self.asked = found.approval or fresh or self.asked
        return found

    async def _start(self, act: CallSpec) -> list[str]:
        self.table.scripted.soon(act.tool, Script(does="hangs"))
        self.running.append(asyncio.create_task(self._call(act)))
        hanging = asyncio.create_task(self.table.scripted.entered())
        await asyncio.wait([hanging, self.running[-1]], return_when=asyncio.FIRST_COMPLETED)
        if hanging.done():
            return []
        hanging.cancel()
        return [f"it did not run but ended: {_format_observed(self.running[-1].result())}"]

    async def _decide(self, person: str, verdict: Verdict, approval: str | None, expect: Expect | None) -> list[str]:
        who, about = self._credentials(person), approval or self.asked
        assert isinstance(who, Principal)
        if about is None:
            return ["no one was asked"]
        try:
            decided = await approve(who, about, verdict, self.table.ports)
        except Refusal as refusal:
            if expect is None:
                return [f"refused: {refusal.code}"]
            return await self._differences(expect, seen(refusal))
        state = decided.state_at(self.table.clock()).value
        wanted = expect.approval if expect else None
        if expect is not None and wanted != state:
            return [f"expected {_format_expected(expect)}, but the approval is {state}"]
        return []

    async def _change(self, step: CaseStep) -> list[str]:
        assert step.changed is not None
        for name, fields in step.changed.tools.items():
            self.tools[name] = {**self.tools.get(name, {}), **fields}
        self.scene = step.changed.world.over(self.scene)
        self.table.scripted.follow(step.changed.upstream)
        try:
            await self.table.change(self.tools, self.scene)
        except FaultsError as error:
            return [str(fault) for fault in error.faults]
        return []

    def _credentials(self, name: str) -> Any:
        if name == "nobody":
            return None
        return INVALID if name == "stranger" else self.case.principals[name].at(name, self.begin)

    async def _differences(self, expect: Expect, found: Observed) -> list[str]:
        wrong = _check_end(expect, found) or _details(expect, found)
        for tool, count in expect.effects.items():
            counted = self.table.scripted.effects.count(tool or self.case.tool)
            if counted != count:
                wrong.append(f"expected {count} effects of {tool or self.case.tool}, but there were {counted}")
        if expect.would is not None:
            would = await self._observed_refusals()
            if would != list(expect.would):
                wrong.append(f"expected it to be noted that {list(expect.would)} would have stopped it, not {would}")
        return wrong

    async def _observed_refusals(self) -> list[str]:
        entries = await self.table.ports.store.entries(limit=10_000)
        said = [logged.entry.facts["would"] for logged in entries if "would" in logged.entry.facts]
        return list(said[-1]) if said else []


def _check_usual_end(verb: str, found: Observed) -> list[str]:
    """Check that a step without an expected end has the usual end of its verb."""
    if verb == "asked":
        good = found.kind == "pause" or found.code == "confirm.approval_pending"
    elif verb == "in_doubt":
        good = found.code == "execute.in_doubt"
    else:
        good = found.kind == "answer"
    return [] if good else [_format_observed(found)]


def _check_end(expect: Expect, found: Observed) -> list[str]:
    if expect.answer:
        good = found.kind == "answer" and not found.error
    elif expect.error:
        good = found.kind == "answer" and found.error and found.result.get("code") == expect.error
    elif expect.pause:
        good = found.kind == "pause"
    else:
        good = found.kind == "refusal" and found.code == expect.refusal
    return [] if good else [f"expected {_format_expected(expect)}, got {_format_observed(found)}"]


def _details(expect: Expect, found: Observed) -> list[str]:
    wrong = [f"{place}: {what}" for place, what in _differences_in(expect.facts, found.problem)]
    wrong += [f"result{place}: {what}" for place, what in _differences_in(expect.result, found.result or {})]
    wrong += [f"the question does not show {text!r}" for text in expect.shows if text not in found.text]
    if expect.replayed is not None and expect.replayed != found.replayed:
        wrong.append(f"expected {'a replay' if expect.replayed else 'no replay'}")
    return wrong


def _differences_in(wanted: Any, found: Any, place: str = "") -> list[tuple[str, str]]:
    """Return where a value lacks something expected; objects may contain more."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return [wrong for key in wanted for wrong in _differences_in(wanted[key], found.get(key), f"{place}/{key}")]
    return [] if wanted == found else [(place, f"expected {wanted!r}, got {found!r}")]


def _format_expected(expect: Expect) -> str:
    if expect.error or expect.refusal:
        return f"refusal {expect.refusal}" if expect.refusal else f"the tool's error {expect.error}"
    return f"an approval that is {expect.approval}" if expect.approval else "pause" if expect.pause else "answer"


def _format_observed(found: Observed) -> str:
    detail = found.problem.get("detail", "")
    code = f" {found.code}" if found.code else ""
    return f"{found.kind}{code}" + (f" ({detail})" if detail else f" {found.result!r}" if found.error else "")
