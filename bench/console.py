"""Server time of every console page, with a log, tools and approvals of a large team.

    python -m bench.console [--entries 100000] [--tools 1000] [--approvals 1000] [--rounds 5]

A store is filled in a temporary directory: calls with their intents and outcomes, refusals, questions, claims in doubt,
pending approvals, a signed log, and a thousand tools. Then every page of the console that is read is asked for, in this
process, without a network; pages with a name in their path get a real one. The table shows the time of the processor
that a page took (median, and the first time, when templates are compiled), and the time on the clock (median, worst),
in milliseconds. The first column must be below 100: the clock counts other programs of the machine too. Downloads are
measured to their first piece. The exit code is 1 if a page is too slow or answers with an error.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from assent.config.load import parse_settings
from assent.contract.model import Contract
from assent.contract.yaml_document import write_yaml
from assent.core.approval import Approval
from assent.core.audit import Entry
from assent.core.catalogue import catalogue_of
from assent.core.claims import ClaimRecord, State, claim_id
from assent.core.principal import Principal
from assent.core.tool import compile_tool
from assent.gateway.app import GatewayApp, open_gateway
from assent.gateway.generation import assemble
from assent.people.console.app import Console
from assent.people.console.page import SESSION_COOKIE
from assent.people.console.pages import PAGES
from assent.people.console.start import make_console
from assent.ports import Store

LIMIT = 100.0
BATCH = 500
TIERS = ("read", "write", "share_export", "destructive", "external_spend")
VERBS = ("list", "update", "share", "delete", "buy")
EVERY_ROLE = frozenset({"viewer", "approver", "operator", "auditor", "admin"})
FILTERS = {
    "/activity": ("", "?outcome=refused", "?tool=delete_thing_3", "?tool=nothing", "?principal=agent-7",
                  "?open_world=true", "?tier=destructive&since=1h", "?principal=nobody", "?format=json&since=5m"),
    "/audit": ("", "?kind=decision", "?kind=violation", "?principal=agent-7", "?tool=nothing", "?since=2026-01-01"),
    "/claims": ("", "?state=all", "?state=started"),
    "/approvals": ("", "?state=all"),
    "/operations/{reference}": ("", "?near=NEAR"),
    "/search": ("?q=delete", "?q=agent-7"),
}  # fmt: skip
EXPORTS = frozenset({"/activity.csv", "/activity.json", "/audit/bundle.zip"})
"""Downloads: they are measured to their first piece."""
NEED_A_QUERY = frozenset({"/approvals/batch", "/authorize", "/connections/callback"})
UNBOUNDED = frozenset({"/console/audit/bundle.zip"})
"""Begins with what the anchors hold, which may be anything."""


class Team:
    """A gateway with a store of that size."""

    def __init__(self, gateway_app: GatewayApp) -> None:
        self.gateway_app, self.store = gateway_app, gateway_app.store
        self.approval, self.claim, self.reference, self.tool, self.entry = "", "", "", "", 0

    async def fill(self, entries: int, tools: int, approvals: int) -> None:
        self._add_tools(tools)
        await _add_approvals(self.store, approvals)
        await self._add_claims()
        await self._add_entries(entries)
        assert self.gateway_app.signing is not None
        await self.gateway_app.signing.sign(always=True)
        self.entry = await self.store.length() // 2
        leaves = await self.store.leaves(self.entry + self.entry // 2, self.entry + self.entry // 2 + 50)
        self.reference = next(found[1].decode() for leaf in leaves if (found := re.search(rb'"claim":"(\w+)"', leaf)))
        self.approval = (await self.store.approvals(limit=1))[0].id

    def _add_tools(self, tools: int) -> None:
        made = [_tool(number) for number in range(tools)]
        self.tool = made[3].name
        current = self.gateway_app.current
        self.gateway_app.current = assemble(
            self.gateway_app.runtime, current.rulebook, current.served, catalogue_of(made)
        )

    async def _add_claims(self) -> None:
        now = time.time()
        for number in range(200):
            name = claim_id("local", f"agent-{number % 97}", "buy_thing_4", "key", f"k-{number}")
            draft = ClaimRecord(name, "local", f"agent-{number % 97}", "buy_thing_4", f"k-{number}", "f", "c",
                                State.STARTED, 0, now - 60, now - 600 + number, now + 86400)  # fmt: skip
            facts = {**_facts(4), "claim": self.gateway_app.keyring.keyed_hash(name)}
            await self.store.claim(draft, Entry("intent", now - 600 + number, facts, _who(number)), None, now)
            self.claim = name

    async def _add_entries(self, entries: int) -> None:
        """Times run over the last two days, so that filters by time have something to leave out."""
        chance, start = random.Random(7), time.time() - 2 * 86400
        step = 2 * 86400 / entries
        for number in range(0, entries, 2):
            for entry in _call(number, start + number * step, chance):
                self.store.append(entry)
            if number % BATCH == 0:
                await self.store.flush()
        await self.store.flush()


def _tool(number: int) -> Any:
    tier = TIERS[number % len(TIERS)]
    name = f"{VERBS[number % len(VERBS)]}_thing_{number}"
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    contract = Contract.model_validate(
        {"name": name, "title": name, "side_effect": tier, "permissions": ["things:write"], "activity": "Did {id}"}
    )
    definition = {"name": name, "inputSchema": schema}
    return compile_tool(contract, upstream=f"server-{number % 7}", wire_name=name, definition=definition)


def _facts(number: int) -> dict[str, Any]:
    tier, name = TIERS[number % len(TIERS)], f"{VERBS[number % len(VERBS)]}_thing_{number}"
    facts = {"tool": name, "tier": tier, "risk": "high", "upstream": f"server-{number % 7}", "mode": "live"}
    return facts | ({"open_world": True} if number % 11 == 0 else {})


def _who(number: int) -> dict[str, Any]:
    arguments = b'{"amount":120,"id":"t-%d","notes":"as agreed"}' % number
    return {"principal": f"agent-{number % 97}", "kind": "agent", "tenant": "local", "arguments": arguments}


def _call(number: int, at: float, chance: random.Random) -> list[Entry]:
    """What one call leaves: mostly an intent and an outcome, now and then a refusal and a decision."""
    facts = _facts(number % 1000)
    if chance.random() < 0.05:
        refused = Entry("denial", at, {**facts, "code": "guard.denied"}, _who(number))
        return [
            refused,
            Entry("decision", at, {**facts, "approval": f"a{number}", "verdict": "approve"}, {"person": "ann"}),
        ]
    claim = f"{number:064x}"
    intent = Entry("intent", at, {**facts, "claim": claim}, _who(number))
    return [intent, Entry("outcome", at, {**facts, "claim": claim, "state": "succeeded"})]


async def _add_approvals(store: Store, approvals: int) -> None:
    now = time.time()
    for number in range(approvals):
        facts = _facts(3)
        draft = Approval(f"ap{number:06d}", f"b{number}", "local", f"agent-{number % 97}", facts["tool"], "approver", 1,
                         f"delete_thing_3\n  id: t-{number}\n", facts, now - number, now + 3600, 3600.0, 1)  # fmt: skip
        entry = Entry("approval", now, {**facts, "approval": draft.id, "by": "approver", "quorum": 1}, _who(number))
        await store.ask(draft, now, approvals, entry)


class Visitor:
    """Asks the console for pages in this process, as a signed-in person."""

    def __init__(self, console: Console, cookie: str) -> None:
        self._console, self._cookie = console, cookie

    async def get(self, path: str) -> tuple[int, float, float]:
        """Status, milliseconds of the processor and of the clock until the answer is complete."""
        where, _, query = path.partition("?")
        scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": where, "raw_path": where.encode(),
                 "query_string": query.encode(), "root_path": "", "scheme": "http", "server": ("127.0.0.1", 8420),
                 "client": ("127.0.0.1", 1), "headers": [(b"host", b"127.0.0.1:8420"),
                 (b"cookie", f"{SESSION_COOKIE}={self._cookie}".encode())]}  # fmt: skip
        answered = asyncio.get_running_loop().create_future()
        begun, worked = time.perf_counter(), time.process_time()
        task = asyncio.ensure_future(self._console(scope, _nothing, _sender(answered, download=_is_download(path))))
        status = await _first(answered, task)
        spent = (time.process_time() - worked) * 1000, (time.perf_counter() - begun) * 1000
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return status, *spent


async def _first(answered: asyncio.Future[int], task: asyncio.Task[None]) -> int:
    both: set[asyncio.Future[Any]] = {answered, task}
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    if not answered.done():
        await task
    return await answered


def _is_download(path: str) -> bool:
    return path.partition("?")[0].removeprefix("/console") in EXPORTS or "format=" in path or path == "/console/live"


async def _nothing() -> dict[str, Any]:
    await asyncio.sleep(3600)
    return {"type": "http.disconnect"}


def _sender(answered: asyncio.Future[int], *, download: bool) -> Any:
    status = 0

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif not answered.done() and (download or not message.get("more_body")):
            answered.set_result(status)

    return send


def addresses(team: Team) -> list[str]:
    """Every page that is read, with its filters, and with real names in its path."""
    names = {"id": team.approval, "approval": team.approval, "claim": team.claim, "entry": str(team.entry),
             "entry:int": str(team.entry), "reference": team.reference, "tool": team.tool,
             "name": team.tool}  # fmt: skip
    found: list[str] = []
    for page in PAGES:
        path = page.path.replace("/agents/{name:path}", "/agents/agent-7").replace("{name:path}", "{name}")
        for name, value in names.items():
            path = path.replace("{" + name + "}", value)
        if page.method != "GET" or page.roles is None or "{" in path or path in NEED_A_QUERY:
            continue
        found += [
            f"/console{path}{query}".replace("NEAR", str(team.entry + team.entry // 2))
            for query in FILTERS.get(page.path, ("",))
        ]
    return found


async def measure(folder: Path, entries: int, tools: int, approvals: int, rounds: int) -> int:
    settings = {"store": f"sqlite:///{folder}/assent.db", "secrets": {"directory": str(folder / "keys")},
                "upstreams": {}, "public_url": "http://127.0.0.1:8420"}  # fmt: skip
    gateway_app = await open_gateway(parse_settings(write_yaml(settings)))
    try:
        team = Team(gateway_app)
        begun = time.perf_counter()
        await team.fill(entries, tools, approvals)
        length = await team.store.length()
        print(
            f"{length} entries, {tools} tools, {approvals} approvals; filled in {time.perf_counter() - begun:.0f} s\n"
        )
        return await _measure_pages(gateway_app, team, rounds)
    finally:
        await gateway_app.stop()


async def _measure_pages(gateway_app: GatewayApp, team: Team, rounds: int) -> int:
    async def other(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError(scope["path"])

    console = make_console(gateway_app, other)
    person = Principal("ann", "human", roles=EVERY_ROLE)
    cookie, _ = await console._context.sessions.start(person, "link", "ann")
    visitor, slow = Visitor(console, cookie), 0
    print(f"{'processor':>9} {'first':>8} {'clock':>8} {'worst':>8}  status  page   (milliseconds)")
    for path in addresses(team):
        status, first, _ = await visitor.get(path)  # the first one compiles the template
        times = [(await visitor.get(path))[1:] for _ in range(rounds)]
        middle, bad = statistics.median(worked for worked, _ in times), status >= 400
        clock = [spent for _, spent in times]
        too_slow = middle > LIMIT and path not in UNBOUNDED
        slow += too_slow or bad
        mark = "  <- too slow" if too_slow else "  <- error" if bad else ""
        numbers = f"{middle:9.1f} {first:8.1f} {statistics.median(clock):8.1f} {max(clock):8.1f}"
        print(f"{numbers}  {status:>6}  {path[:100]}{mark}")
    print(f"\n{'every page' if not slow else f'{slow} pages NOT'} within {LIMIT:.0f} ms")
    return 1 if slow else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.console", description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--tools", type=int, default=1000)
    parser.add_argument("--approvals", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        return asyncio.run(measure(Path(folder), given.entries, given.tools, given.approvals, given.rounds))


if __name__ == "__main__":
    raise SystemExit(main())
