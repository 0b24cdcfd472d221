"""The auditor's report: who approved what, what was refused, what broke its promise, and whether the log is whole.

It is read in one pass over the log. What it keeps is bounded: counts of everything, and the newest rows of each table.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from assent.audit.log_reader import EntryView, PrincipalIndex, StoredEntries, first_at
from assent.audit.sentences import sentence
from assent.audit.signed_log import AuditLogSigner
from assent.audit.verifier import LogReport
from assent.core.question import visible

MOST_ROWS = 500
MOST_NAMES = 2_000
MOST_DAYS = 92
LOOK_BACK = 20_000
PIECE = 2_048
DAY = 86_400_000
_RAN = {"succeeded": "done", "failed": "failed", "failed_no_effect": "failed", "in_doubt": "in doubt"}
_WAITS = frozenset({"confirm.approval_pending", "confirm.confirmation_required"})


@dataclass(slots=True)
class ReportTable:
    """The newest rows, and how many there were in all."""

    rows: deque[tuple[str, ...]] = field(default_factory=lambda: deque(maxlen=MOST_ROWS))
    total: int = 0

    def add(self, *cells: object) -> None:
        self.total += 1
        self.rows.append(tuple(visible(str(cell if cell is not None else "-"))[:300] for cell in cells))

    @property
    def left_out(self) -> int:
        return self.total - len(self.rows)


@dataclass(slots=True)
class Findings:
    """What one pass over the log found."""

    since: int
    until: int
    entries: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    days: dict[int, Counter[str]] = field(default_factory=dict)
    tools: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    people: Counter[tuple[str, str]] = field(default_factory=Counter)
    decisions: ReportTable = field(default_factory=ReportTable)
    violations: ReportTable = field(default_factory=ReportTable)
    doubts: ReportTable = field(default_factory=ReportTable)
    drift: ReportTable = field(default_factory=ReportTable)
    operators: ReportTable = field(default_factory=ReportTable)
    redactions: ReportTable = field(default_factory=ReportTable)

    def add(self, row: EntryView) -> None:
        """Counts one entry."""
        self.entries += 1
        handle = _HANDLERS.get(row.leaf.kind)
        if handle is not None:
            handle(self, row)

    def count(self, row: EntryView, outcome: str) -> None:
        """Counts how one call ended."""
        self.outcomes[outcome] += 1
        day = row.leaf.at // DAY
        if day in self.days or len(self.days) < MOST_DAYS:
            self.days.setdefault(day, Counter())[outcome] += 1
        name = (str(row.fact("tool") or "-"), str(row.fact("tier") or "-"), outcome)
        self.tools[name if name in self.tools or len(self.tools) < MOST_NAMES else ("other tools", "-", outcome)] += 1


def _outcome(found: Findings, row: EntryView) -> None:
    ended = _RAN.get(str(row.fact("state")), "waiting")
    found.count(row, ended)
    if ended == "in doubt":
        found.doubts.add(when(row.leaf.at), row.fact("tool"), row.who, row.fact("claim"))


def _denial(found: Findings, row: EntryView) -> None:
    code = str(row.fact("code") or "-")
    if code in _WAITS:
        found.count(row, "waiting")
        return
    found.count(row, "refused")
    found.refusals[code] += 1


def _decision(found: Findings, row: EntryView) -> None:
    values = row.values
    verdict, person = str(row.fact("verdict") or "-"), values.get("person")
    by_client = row.fact("channel") == "in-band"
    who = f"client {values.get('client') or ''}".strip() if by_client else str(person or "[erased]")
    found.people[(who, verdict)] += 1
    seconds = values.get("seconds")
    how = "signed with a passkey" if "signed" in row.leaf.commitments else str(row.fact("channel") or "-")
    took = f"{float(seconds):.1f} s" if isinstance(seconds, int | float) else "-"
    found.decisions.add(
        when(row.leaf.at), who, verdict, row.fact("tool"), row.fact("risk"), how, took, row.fact("approval")
    )


def _definition(found: Findings, row: EntryView) -> None:
    if row.fact("event") != "definition.loaded":
        found.drift.add(when(row.leaf.at), _words(row))


def _operator(found: Findings, row: EntryView) -> None:
    found.operators.add(when(row.leaf.at), row.who, _words(row))


def _redaction(found: Findings, row: EntryView) -> None:
    fields = ", ".join(map(str, row.fact("fields") or []))
    found.redactions.add(when(row.leaf.at), row.fact("entry"), fields, row.who)


_HANDLERS: dict[str, Callable[[Findings, EntryView], None]] = {
    "outcome": _outcome,
    "read": lambda found, row: found.count(row, "failed" if row.fact("code") else "done"),
    "replay": lambda found, row: found.count(row, "replayed"),
    "denial": _denial,
    "decision": _decision,
    "violation": lambda found, row: found.violations.add(
        when(row.leaf.at), row.fact("tool"), row.fact("code"), row.who
    ),
    "definition": _definition,
    "configuration": _operator,
    "operator": _operator,
    "key": _operator,
    "redaction": _redaction,
}


def _words(row: EntryView) -> str:
    """One sentence about an entry."""
    return sentence(row.leaf.kind, row.leaf.facts, None, None)


def when(at: int) -> str:
    """A time in UTC, to the second."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


async def read_findings(signer: AuditLogSigner, since: int, until: int, progress: Callable[[int], None]) -> Findings:
    """Reads the entries of a period. Entries shortly before it tell who made the calls that end in it."""
    length = await signer.store.length()
    first = await first_at(signer.store, since, length)
    found, callers, entries = Findings(since, until), PrincipalIndex(), StoredEntries(signer.store, progress)
    for start in range(max(0, first - LOOK_BACK), length, PIECE):
        for raw in await entries.rows(start, min(length, start + PIECE)):
            row = callers.read_entry(raw.index, raw.leaf, raw.vals)
            if since <= row.leaf.at < until:
                found.add(row)
        progress(start)
    return found


@dataclass(frozen=True, slots=True)
class Column:
    """One day of the chart: its place, and the height of each outcome."""

    x: float
    width: float
    label: str
    title: str
    parts: tuple[tuple[str, float, float], ...]


CHART_WIDTH, CHART_HEIGHT = 900.0, 160.0
_STACK = ("done", "replayed", "waiting", "refused", "failed", "in doubt")


def columns(found: Findings) -> tuple[list[Column], int]:
    """The columns of calls per day, and the largest day."""
    most = max((sum(counts.values()) for counts in found.days.values()), default=0)
    step = CHART_WIDTH / max(1, len(found.days))
    made = []
    for place, (day, counts) in enumerate(sorted(found.days.items())):
        parts, bottom = [], CHART_HEIGHT
        for name in _STACK:
            height = CHART_HEIGHT * counts[name] / most
            bottom -= height
            if height:
                parts.append((name.replace(" ", "-"), round(bottom, 1), round(height, 1)))
        label = when(day * DAY)[:10]
        title = label + ": " + ", ".join(f"{counts[name]} {name}" for name in _STACK if counts[name])
        made.append(
            Column(round(place * step + 1, 1), round(min(48.0, max(1.0, step - 2)), 1), label, title, tuple(parts))
        )
    return made, most


def render_report(found: Findings, log: LogReport, origin: str, made_at: int, version: str) -> str:
    """The report as one HTML page without scripts and without anything loaded from elsewhere."""
    environment = Environment(
        loader=PackageLoader("assent.people.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    bars, most = columns(found)
    tools: dict[tuple[str, str], Counter[str]] = {}
    for (tool, tier, outcome), count in found.tools.items():
        tools.setdefault((visible(tool), tier), Counter())[outcome] += count
    ranked = sorted(tools.items(), key=lambda item: -sum(item[1].values()))
    values: dict[str, Any] = {
        "found": found, "log": log, "origin": origin, "version": version, "made": when(made_at),
        "since": when(found.since), "until": when(found.until), "outcomes": _STACK, "bars": bars, "most": most,
        "tools": ranked[:MOST_ROWS], "more_tools": max(0, len(ranked) - MOST_ROWS), "visible": visible,
        "faults": [(visible(one.place), visible(one.detail), one.code) for one in log.faults[:50]],
        "width": CHART_WIDTH, "height": CHART_HEIGHT,
    }  # fmt: skip
    return environment.get_template("report.html").render(values)
