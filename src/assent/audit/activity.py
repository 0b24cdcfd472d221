"""The newest activity: the log read from its end, one line per thing that happened, with filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import orjson

from assent.audit.leaf import BadEntry
from assent.audit.leaf_reader import unpack
from assent.audit.log_reader import first_at, has_values, holding, kind_of, needles_of, pieces_back, rows_at
from assent.audit.sentences import LINE_KINDS, OBSERVED, is_line, outcome_of, sentence
from assent.core.action_template import ActionTemplate
from assent.core.approval import IN_BAND, Decision
from assent.core.shown_records import decider_of
from assent.ports import RawLogRow, Store

MOST_LOOKED_AT = 20_000
"""Leaves looked at for one page."""
MOST_READ = 2_500
"""Entries whose values are read for one page."""
LOOK_BACK = 5_000
"""How far before the last line its intent is looked for: it says who called, and with what."""
CLOCK_SLACK = 60_000
_KINDS = LINE_KINDS | {"operator"}


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """Which lines are wanted; what is None does not matter. Names may hold `*`. Times are milliseconds."""

    tool: str | None = None
    tier: str | None = None
    outcome: str | None = None
    principal: str | None = None
    upstream: str | None = None
    open_world: bool = False
    since: int | None = None
    until: int | None = None
    tenant: str | None = None
    """Only this tenant's; what is not known to be theirs is left out."""
    every: bool = False
    """Every entry of the log, not only the lines of the feed."""
    kind: str | None = None

    @property
    def needles(self) -> tuple[bytes, ...]:
        outside = True if self.open_world else None
        return needles_of(tool=self.tool, tier=self.tier, upstream=self.upstream, open_world=outside)

    @property
    def caller(self) -> bytes:
        """What the values of every wanted entry hold; nothing where the name is a pattern."""
        return b"" if self.principal is None or set("*?[") & set(self.principal) else orjson.dumps(self.principal)

    def takes_kind(self, kind: str) -> bool:
        return (self.every or kind in _KINDS) and self.kind in (None, kind)

    def takes_facts(self, kind: str, leaf: Mapping[str, Any]) -> bool:
        facts = leaf["facts"]
        texts = ((self.tool, "tool"), (self.tier, "tier"), (self.upstream, "upstream"))
        if any(want is not None and not fnmatchcase(str(facts.get(name, "")), want) for want, name in texts):
            return False
        if self.outcome not in (None, OBSERVED) and outcome_of(kind, facts) != self.outcome:
            return False
        return (self.since is None or leaf["at"] >= self.since) and (self.until is None or leaf["at"] < self.until)

    def takes_caller(self, who: str | None, tenant: str | None, would: tuple[str, ...]) -> bool:
        if self.tenant is not None and tenant != self.tenant:
            return False
        if self.outcome == OBSERVED and not would:
            return False
        return self.principal is None or fnmatchcase(who or "", self.principal)


@dataclass(frozen=True, slots=True)
class ActivityLine:
    """One thing that happened."""

    index: int
    kind: str
    at: int
    text: str
    outcome: str
    facts: Mapping[str, Any]
    who: str | None = None
    """None where it is not known, or erased."""
    tenant: str | None = None
    would: tuple[str, ...] = ()


@dataclass(slots=True)
class _Slot:
    """A line that may still need what its intent says."""

    index: int
    kind: str
    leaf: Mapping[str, Any]
    line: ActivityLine | None = None


@dataclass(frozen=True, slots=True)
class ActivityPage:
    """Lines, newest first; `next` is the place before which the next page begins, None at the beginning of the log."""

    lines: list[ActivityLine]
    next: int | None


@dataclass(slots=True)
class ActivityReader:
    """Collects one page."""

    store: Store
    wanted: ActivityFilter
    templates: Mapping[str, ActionTemplate]
    limit: int
    _slots: list[_Slot] = field(default_factory=list)
    _waiting: dict[str, list[_Slot]] = field(default_factory=dict)
    _open: int = 0
    _accepted: int = 0
    _read: int = 0

    async def page(self, before: int | None) -> ActivityPage:
        length = await self.store.length()
        place = start = length if before is None else min(before, length)
        if self.wanted.until is not None:
            place = start = min(start, await first_at(self.store, self.wanted.until + CLOCK_SLACK, length))
        stop = 0 if self.wanted.since is None else await first_at(self.store, self.wanted.since - CLOCK_SLACK, length)
        async for piece in pieces_back(self.store, start, stop):
            place = await self._take(piece)
            if self._full or start - place >= MOST_LOOKED_AT or self._read >= MOST_READ:
                break
        await self._find_intents(place)
        return ActivityPage(self._lines(), place if place > stop else None)

    async def find_line(self, index: int) -> ActivityLine | None:
        """The line of one entry, if it is wanted."""
        leaves = await self.store.leaves(index, index + 1)
        await self._take([(index, leaf) for leaf in leaves])
        await self._find_intents(index)
        return next(iter(self._lines()), None)

    async def these(self, found: list[tuple[int, bytes]]) -> list[ActivityLine]:
        """The lines of these entries, in the order given: newest first."""
        if found:
            await self._take(found)
            await self._find_intents(found[-1][0])
        return self._lines()

    def _lines(self) -> list[ActivityLine]:
        return [slot.line for slot in self._slots if slot.line is not None]

    @property
    def _full(self) -> bool:
        return self._accepted + self._open >= self.limit

    async def _take(self, piece: list[tuple[int, bytes]]) -> int:
        """Add the lines of a piece, as many as there is room for; the place of the last entry looked at."""
        chosen = self._choose(piece)
        rows = await rows_at(self.store, (index for index, _ in chosen))
        self._read += len(chosen)
        lines = dict(piece)
        for index, kind in chosen:
            self._see(index, kind, lines[index], rows.get(index))
            if self._full:
                return index
        return piece[-1][0]

    def _choose(self, piece: list[tuple[int, bytes]]) -> list[tuple[int, str]]:
        claims, chosen = set(self._waiting), list[tuple[int, str]]()
        for index, leaf in holding(piece, self.wanted.needles):
            kind = kind_of(leaf)
            if self.wanted.takes_kind(kind):
                chosen.append((index, kind))
                if not has_values(leaf):
                    claims.add(_claim_in(leaf))
            elif kind == "intent" and _claim_in(leaf) in claims:
                chosen.append((index, kind))
        return chosen

    def _see(self, index: int, kind: str, leaf: bytes, row: RawLogRow | None) -> None:
        if row is not None and row.vals and self.wanted.caller not in row.vals:
            self._open -= len(self._waiting.pop(_claim_in(leaf), ())) if kind == "intent" else 0
            return
        try:
            body, values = orjson.loads(leaf), unpack(row.vals)[0] if row is not None else {}
            claim = str(body["facts"].get("claim", ""))
        except (BadEntry, ValueError, KeyError, AttributeError):
            return  # `assent audit verify` says what is wrong with it
        if kind == "intent":
            for slot in self._waiting.pop(claim, ()):
                self._open -= 1
                self._complete(slot, values, body)
        if not self._is_item(kind, body):
            return
        slot = _Slot(index, kind, body)
        self._slots.append(slot)
        if body["commitments"] or not claim:
            self._complete(slot, values, body)
        else:
            self._waiting.setdefault(claim, []).append(slot)
            self._open += 1

    def _is_item(self, kind: str, body: Mapping[str, Any]) -> bool:
        wanted = self.wanted
        if self._full or not (wanted.takes_kind(kind) and (wanted.every or is_line(kind, body["facts"]))):
            return False
        return wanted.takes_facts(kind, body)

    def _complete(self, slot: _Slot, values: Mapping[str, bytes], source: Mapping[str, Any]) -> None:
        """Make the line, unless its caller is not wanted. `source` says who called: the entry itself or its intent."""
        facts = slot.leaf["facts"]
        would = tuple(dict.fromkeys([*source.get("facts", {}).get("would", ()), *facts.get("would", ())]))
        who = _text(values.get("principal")) or _text(values.get("person"))
        tenant = _text(values.get("tenant"))
        if not self.wanted.takes_caller(who, tenant, would):
            return
        arguments = _arguments(values.get("arguments"), "arguments" in source.get("commitments", ()))
        template = self.templates.get(str(facts.get("tool", "")))
        text = sentence(slot.kind, facts, template, arguments, _decider(slot.kind, values))
        if would:
            text += f"; would have been refused (observe): {', '.join(would)}"
        outcome = outcome_of(slot.kind, facts)
        slot.line = ActivityLine(slot.index, slot.kind, slot.leaf["at"], text, outcome, facts, who, tenant, would)
        self._accepted += 1

    async def _find_intents(self, place: int) -> None:
        """Look a bounded way further back for the intents of what is on the page already."""
        self.limit = 0  # the page takes no more lines
        if self._waiting:
            async for piece in pieces_back(self.store, place, max(0, place - LOOK_BACK)):
                await self._take_intents(piece)
                if not self._waiting:
                    return
        for slots in list(self._waiting.values()):
            for slot in slots:
                self._complete(slot, {}, {})
        self._waiting.clear()

    async def _take_intents(self, piece: list[tuple[int, bytes]]) -> None:
        found = [(i, leaf) for i, leaf in piece if kind_of(leaf) == "intent" and _claim_in(leaf) in self._waiting]
        rows = await rows_at(self.store, (index for index, _ in found))
        for index, leaf in found:
            self._see(index, "intent", leaf, rows.get(index))


def _claim_in(leaf: bytes) -> str:
    start = leaf.find(b'"claim":"') + 9
    return leaf[start : leaf.find(b'"', start)].decode("ascii", "replace") if start > 8 else ""


def _decider(kind: str, values: Mapping[str, bytes]) -> str:
    """The client that answered a question, with the time it took; empty if a person decided, or for other entries."""
    if kind != "decision" or "seconds" not in values:
        return ""
    found = {name: orjson.loads(values[name]) for name in ("client", "seconds", "claimed") if name in values}
    return decider_of(Decision(_text(values.get("person")) or "", "approve", 0.0, IN_BAND, **found))


def _text(value: bytes | None) -> str | None:
    found = orjson.loads(value) if value else None
    return found if isinstance(found, str) else None


def _arguments(value: bytes | None, recorded: bool) -> Mapping[str, object] | None:
    """The arguments; None where they were recorded and are erased."""
    if value is None:
        return None if recorded else {}
    found = orjson.loads(value)
    return found if isinstance(found, dict) else {}
