"""While only observing, everything that reports calls says what enforcing would have stopped."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from assent.cli import cli
from assent.core.approval import Approval
from assent.core.outcome import Answer, Refusal
from assent.pipeline.approve import approve
from assent.stores import SqliteStore
from assent.testing import AGENT, ANN, World
from support.clients.transports import ROOT
from support.gateway.wrap_process import ASSENT, home, running

ODD = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")
CONTRACTS = {
    "orders.delete": {"side_effect": "destructive", "activity": "Deleted {id}", "idempotency": {"key": "auto"}},
    "orders.list": {"side_effect": "read", "confirmation": {"by": "user"}, "title": "List orders"},
}
STOPPED = "enforce mode would have stopped it: confirm.confirmation_required"


def configured(folder: Path) -> Path:
    (folder / "contracts.yaml").write_text(json.dumps({"tools": CONTRACTS}))
    (folder / "assent.yaml").write_text("store: sqlite:///a.db\ncontracts: [contracts.yaml]\n")
    return folder / "assent.yaml"


def tail(config: Path, *options: str) -> list[str]:
    result = CliRunner().invoke(cli, ["audit", "tail", "-c", str(config), *options], standalone_mode=False)
    return result.output.splitlines()


@pytest.fixture
def observed(tmp_path: Path) -> Path:
    """The configuration of a store in which a deletion and a read were observed."""

    async def fill() -> None:
        store = SqliteStore(tmp_path / "a.db")
        world = World(CONTRACTS, store=store, mode="observe")
        assert isinstance(await world.call("orders.delete", {"id": "o-1"}), Answer)
        assert isinstance(await world.call("orders.list", {}), Answer)
        await store.close()

    asyncio.run(fill())
    return configured(tmp_path)


def test_the_tail_shows_what_would_have_been_stopped(observed: Path) -> None:
    how = [(line.split("\t")[2], line.split("\t")[5]) for line in tail(observed)]
    assert how == [("intent", f"observed; {STOPPED}"), ("outcome", "succeeded"), ("read", f"observed; {STOPPED}")]


def test_the_feed_shows_what_would_have_been_stopped(observed: Path) -> None:
    said = [line.split("  ", 1)[1] for line in tail(observed, "--feed")]
    assert said == [f"Deleted o-1: succeeded; {STOPPED}", f"List orders: read; {STOPPED}"]


def test_the_feed_says_of_a_call_that_only_asked_that_it_did_not_run(tmp_path: Path) -> None:
    async def fill() -> None:
        store = SqliteStore(tmp_path / "a.db")
        world = World(CONTRACTS, {"orders.delete": lambda _: RuntimeError("lost")}, store=store)
        waiting = await world.call("orders.delete", {"id": "o-1"})
        assert isinstance(waiting, Refusal)
        await approve(ANN, str(waiting.facts["approval"]), "decline", world.ports)
        assert isinstance(await world.call("orders.delete", {"id": "o-1"}), Refusal)
        again = await world.call("orders.delete", {"id": "o-2"})
        assert isinstance(again, Refusal)
        given = await approve(ANN, str(again.facts["approval"]), "approve", world.ports)
        assert isinstance(given, Approval)
        assert isinstance(await world.call("orders.delete", {"id": "o-2"}, by=AGENT), Refusal)
        await store.close()

    asyncio.run(fill())
    said = [line.split("  ", 1)[1] for line in tail(configured(tmp_path), "--feed")]
    assert said == [
        "orders.delete (id: o-1): not run, confirm.approval_pending",
        "orders.delete (id: o-1): not run, confirm.declined",
        "orders.delete (id: o-2): not run, confirm.approval_pending",
        "orders.delete (id: o-2): in_doubt",
    ]


async def test_wrap_sums_up_at_its_end_what_enforcing_would_have_stopped(tmp_path: Path) -> None:
    async with running(home(tmp_path), sys.executable, ODD) as wrapped:
        await wrapped.greet()
        await wrapped.say("tools/call", 1, name="delete_thing", arguments={})
        assert (await wrapped.hear())["id"] == 1
        code, said = await wrapped.end()
    assert code == 0
    assert "assent wrap: Observed 1 call. Enforce mode would have stopped:" in said
    assert "delete_thing  confirm.confirmation_required" in said


async def test_wrap_sums_up_nothing_where_nothing_would_have_been_stopped(tmp_path: Path) -> None:
    async with running(home(tmp_path), sys.executable, ODD) as wrapped:
        await wrapped.greet()
        await wrapped.say("tools/call", 1, name="list_things", arguments={})
        await wrapped.hear()
        assert "Observed" not in (await wrapped.end())[1]


async def test_the_log_of_calls_to_the_outside_holds_tools_that_were_only_inferred_to_reach_it(tmp_path: Path) -> None:
    """Neither the server's own word nor a contract that is silent about it hides them."""
    environment = home(tmp_path, "contracts: [contracts.yaml]\n")
    written = {"tools": {"search_web": {"side_effect": "read"}}}
    (tmp_path / "config" / "assent" / "contracts.yaml").write_text(json.dumps(written))
    async with running(environment, sys.executable, str(_server(tmp_path))) as wrapped:
        await wrapped.greet()
        for number, tool in enumerate(("search_web", "fetch_url", "list_notes"), 1):
            await wrapped.say("tools/call", number, name=tool, arguments={})
            assert "result" in await wrapped.hear()
        assert (await wrapped.end())[0] == 0
    tail = await asyncio.create_subprocess_exec(
        *ASSENT, "audit", "tail", "--open-world", env=environment, cwd=tmp_path, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await tail.communicate()
    assert [line.split("\t")[3] for line in said.decode().splitlines()] == ["search_web", "fetch_url"]


def _server(folder: Path) -> Path:
    """A server that claims to reach nothing outside."""
    closed = {"readOnlyHint": True, "openWorldHint": False}
    tools = [
        {"name": "search_web", "description": "Search the web.", "inputSchema": {"type": "object"}},
        {"name": "fetch_url", "description": "Fetch a URL from the internet.", "inputSchema": {"type": "object"}},
        {"name": "list_notes", "description": "List the notes in memory.", "inputSchema": {"type": "object"}},
    ]
    file = folder / "server.py"
    file.write_text(
        "import json, sys\n"
        f"TOOLS = {[{**tool, 'annotations': closed} for tool in tools]!r}\n"
        "INFO = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'closed',"
        " 'version': '0'}}\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if 'id' not in asked: continue\n"
        "    known = {'initialize': INFO, 'tools/list': {'tools': TOOLS}, 'tools/call': {'content': []}, 'ping': {}}\n"
        "    said = known.get(asked['method'])\n"
        "    answer = {'error': {'code': -32601, 'message': 'no'}} if said is None else {'result': said}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], **answer}), flush=True)\n"
    )
    return file
