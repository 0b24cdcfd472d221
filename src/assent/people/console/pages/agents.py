"""Agents and other callers: what each may call, what it did, what was refused, and what waits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from assent.audit.activity import ActivityFilter, ActivityLine, ActivityPage
from assent.config.callers import principal_of
from assent.core.catalogue import Catalogue
from assent.core.principal import Principal
from assent.core.record_scope import record_scope_of
from assent.core.tool import Tool
from assent.people.api import approvals
from assent.people.api.feed import line_json, lines_of
from assent.people.api.tools import as_json
from assent.people.console.page import EVERYONE, KEEPERS, LOG_READERS, OPERATORS, PageError, PageRequest, on
from assent.pipeline.discover import visible_tools

MOST_LINES = 500
"""Lines of the log that are counted for a page."""
MOST_SHOWN = 20
MOST_KEYS = 1000
DAYS = 14
_CALLS = {"done": "ran", "replayed": "ran", "previewed": "ran", "failed": "ran", "in_doubt": "ran", "settled": "",
          "asked": "asked", "waiting": "", "decided": "", "refused": "refused"}  # fmt: skip
"""How an outcome of the feed is counted; a question counts once, not again when somebody answers it."""


@dataclass(slots=True)
class CallCounts:
    """The calls in a part of the log, newest first, by what became of them."""

    whole: bool = True
    """Whether it is the whole log, or only the newest part."""
    last: float | None = None
    ends: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    days: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    refused: list[dict[str, Any]] = field(default_factory=list)

    def add(self, line: ActivityLine) -> None:
        if not (end := _CALLS.get(line.outcome, "")):
            return
        self.last = self.last or line.at / 1000
        self.ends[end] += 1
        self.tools[str(line.facts.get("tool", "not known"))] += 1
        self.days[_day(line.at / 1000)][end] += 1
        if end == "refused":
            self.codes[str(line.facts.get("code", "not known"))] += 1
            self.refused.append(line_json(line))

    def by_day(self) -> list[tuple[str, int, int]]:
        """The last two weeks up to the last call: what ran, and what did not."""
        days = [_day((self.last or 0) - ago * 86400) for ago in range(DAYS - 1, -1, -1)]
        return [(day, self.days[day]["ran"], self.days[day]["refused"] + self.days[day]["asked"]) for day in days]


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%b %d")


async def counted_lines(page: PageRequest, wanted: ActivityFilter = ActivityFilter()) -> ActivityPage:  # noqa: B008
    """The newest lines that this person may see."""
    return await lines_of(page.request_of_api(), wanted, MOST_LINES)


async def known_callers(page: PageRequest) -> list[tuple[Principal, str]]:
    """Callers with a key, and where it is kept. Only those who manage keys see them, of their tenants."""
    if not page.may(KEEPERS):
        return []
    ports, scope = page.ports, record_scope_of(page.principal)
    kept = await ports.store.keys(limit=MOST_KEYS)
    found = [(one.principal, f"key {one.start}…") for one in kept if one.state(ports.now()) == "good"]
    if page.context.gateway is not None:
        found += [
            (principal_of(one), "key in the configuration") for one in page.context.gateway.settings.auth.api_keys
        ]
    return [(who, where) for who, where in found if scope.tenant in (None, who.tenant)]


async def agents_of(page: PageRequest) -> tuple[dict[tuple[str, str], CallCounts], bool]:
    """Everybody who called lately or has a key, by tenant and id; and whether the whole log was counted."""
    read = await counted_lines(page)
    found = {(who.tenant, who.id): CallCounts() for who, _ in await known_callers(page)}
    for line in read.lines:
        if line.who and line.tenant and _CALLS.get(line.outcome):
            found.setdefault((line.tenant, line.who), CallCounts()).add(line)
    return dict(sorted(found.items(), key=lambda one: -(one[1].last or 0))), read.next is None


@on("GET", "/agents", EVERYONE, "Agents")
async def show_agents(page: PageRequest) -> Response:
    agents, whole = await agents_of(page)
    return page.render("agents.html", agents=agents, whole=whole, most=MOST_LINES, operator=page.may(OPERATORS))


def tools_for(callers: Iterable[Principal], page: PageRequest, tools: Iterable[Tool]) -> list[Tool]:
    """Those of the tools that one of the callers may call, as far as this person may see them."""
    ports = page.ports
    given = Catalogue({one.name: one for one in tools})
    seen = set(given.tools)
    if not page.may(OPERATORS):
        seen &= {one.name for one in visible_tools(given, page.principal, ports.rules)}
    found = {one.name: one for who in callers for one in visible_tools(given, who, ports.rules) if one.name in seen}
    return [found[name] for name in sorted(found)]


@on("GET", "/agents/{name:path}", EVERYONE)
async def show_agent(page: PageRequest) -> Response:
    """One caller. An operator names the tenant; everybody else sees only callers of their own."""
    name, ports, scope = page.path["name"], page.ports, record_scope_of(page.principal)
    tenant = scope.tenant if scope.tenant is not None else page.query.get("tenant") or None
    keys = [(who, where) for who, where in await known_callers(page) if who.id == name and tenant in (None, who.tenant)]
    read, counts = await counted_lines(page, ActivityFilter(principal=_exactly(name), tenant=tenant)), CallCounts()
    for line in read.lines:
        counts.add(line)
    counts.whole = read.next is None
    waiting = await ports.store.approvals(
        tenant=tenant, requester=name, pending_at=ports.now(), after=None, limit=MOST_SHOWN
    )
    if not (keys or counts.ends or waiting):
        raise PageError(404, "There is no such agent.", "It has no key that you may see, and called nothing lately.")
    callable_tools = tools_for((who for who, _ in keys), page, ports.catalogue().tools.values())
    return page.render(
        "agent.html",
        name=name,
        tenant=tenant,
        keys=keys,
        tools=[as_json(one, False, ports.rules.critical_confirmer) for one in callable_tools],
        counts=counts,
        waiting=[approvals.as_json(one, page.principal, ports.now()) for one in waiting],
        most=MOST_LINES,
        may_audit=page.may(LOG_READERS),
        operator=page.may(OPERATORS),
    )


def _exactly(name: str) -> str:
    """A filter for this very name: what stands for other characters in a filter stands for itself."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)
