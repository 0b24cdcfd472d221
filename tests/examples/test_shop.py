"""A server of ten decorated tools behaves as its contracts say: in memory, over HTTP and stdio, in both eras.

On the official SDK with its client, and on FastMCP with FastMCP's.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from assent.testing import Clock
from support.clients.fastmcp_client import FastMCPClient
from support.clients.transports import ERAS, ROOT, Person, connect, over_http, over_stdio

sys.path.insert(0, str(ROOT / "examples"))
from shop import fastmcp_server, server

from support.decisions.problems import problem

KEY = "dev.assent/idempotencyKey"


def book(folder: Path) -> list[dict[str, Any]]:
    """What really happened, by the shop's own log."""
    log = folder / "shop.log"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@asynccontextmanager
async def shop(
    kind: str, era: str, folder: Path, person: Person | None, clock: Clock | None = None
) -> AsyncIterator[Client | FastMCPClient]:
    store, log = f"sqlite:///{folder}/shop.db", folder / "shop.log"
    on_fastmcp = kind.startswith("fastmcp")
    built, client_of = (fastmcp_server, FastMCPClient) if on_fastmcp else (server, connect)
    if kind.endswith("stdio"):
        environment = {"SHOP_STORE": store, "SHOP_LOG": str(log)}
        if clock is not None:
            environment["SHOP_NOW"] = str(clock.at)
        script = over_stdio(f"examples/shop/{built.__name__.rpartition('.')[2]}.py", **environment)
        async with client_of(script, era, person) as client:
            yield client
        return
    served, assent = built.build(store, log, **({"now": clock} if clock else {}))
    try:
        if kind.endswith("memory"):
            async with client_of(served, era, person) as client:
                yield client
        else:
            async with over_http(served) as url, client_of(url, era, person) as client:
                yield client
    finally:
        await assent.close()


EVERYWHERE = [(kind, era) for kind in ("memory", "http", "stdio") for era in ERAS]
EVERYWHERE += [(f"fastmcp-{kind}", era) for kind in ("memory", "http") for era in ERAS]


@pytest.fixture(params=EVERYWHERE, ids=lambda way: "-".join(way))
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    kind, era = request.param
    return kind, era


async def test_every_tool_is_listed_with_what_its_contract_derives_but_the_forbidden_one(
    way: tuple[str, str], tmp_path: Path
) -> None:
    async with shop(*way, tmp_path, None) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert sorted(listed) == [
        "create_download_link",
        "create_note",
        "delete_customer",
        "estimate_order",
        "export_orders",
        "list_products",
        "place_order",
        "recompute_statistics",
        "update_customer",
    ]
    hints = {
        name: (a.read_only_hint, a.destructive_hint, a.idempotent_hint, a.open_world_hint)
        for name, tool in listed.items()
        if (a := tool.annotations)
    }
    assert hints["list_products"] == (True, False, True, False)
    assert hints["place_order"] == (False, False, False, True)
    assert hints["update_customer"] == (False, True, True, True)
    assert hints["delete_customer"] == (False, True, False, True)
    assert hints["recompute_statistics"] == (False, False, True, False)
    spend = listed["place_order"].meta or {}
    assert spend["dev.assent/contract"]["tier"] == "external_spend"
    assert spend["dev.assent/contract"]["risk_number"] == 4
    assert spend["dev.assent/contract"]["estimate"] == "estimate_order"
    assert listed["list_products"].title == "List products"
    assert "dryRun" in listed["delete_customer"].input_schema["properties"]


async def test_reads_and_computations_run_freely(way: tuple[str, str], tmp_path: Path) -> None:
    async with shop(*way, tmp_path, None) as client:
        products = await client.call_tool("list_products", {"query": "scene"})
        counted = await client.call_tool("recompute_statistics", {})
    assert products.structured_content == {"result": ["archive scene", "fresh scene"]}
    assert counted.structured_content == {"orders": 0}
    assert [line["what"] for line in book(tmp_path)] == ["statistics"]


async def test_what_promises_to_be_idempotent_by_itself_answers_the_same_twice(
    way: tuple[str, str], tmp_path: Path
) -> None:
    async with shop(*way, tmp_path, None) as client:
        first, second = [await client.call_tool("recompute_statistics", {}) for _ in range(2)]
    assert first.structured_content == second.structured_content == {"orders": 0}


async def test_a_forbidden_tool_and_an_unknown_one_are_told_apart_by_nothing(
    way: tuple[str, str], tmp_path: Path
) -> None:
    async with shop(*way, tmp_path, None) as client:
        said = []
        for name in ("read_private_key", "read_private_kex"):
            with pytest.raises(MCPError) as error:
                await client.call_tool(name, {"anything": 1})
            said.append((error.value.code, error.value.message, error.value.data))
    assert said == [
        (-32602, "Unknown tool: read_private_key", None),
        (-32602, "Unknown tool: read_private_kex", None),
    ]


async def test_a_process_on_fastmcp_asks_charges_once_and_replays_after_its_restart(tmp_path: Path) -> None:
    """The other promises are shown over memory and HTTP: a process takes long to start."""
    person, order = Person(["decline", "accept"]), {"item": "print"}
    for era in ERAS:
        async with shop("fastmcp-stdio", era, tmp_path, person) as client:
            if era == ERAS[0]:
                assert len((await client.list_tools()).tools) == 9
                refused = await client.call_tool("place_order", {**order, "quantity": 2}, meta={KEY: "k1"})
                assert problem(refused)["code"] == "confirm.declined"
            placed = await client.call_tool("place_order", order, meta={KEY: "k2"})
            assert placed.structured_content == {"order_id": "o-1", "amount": 240}
    assert (placed.meta or {})["dev.assent/replayed"] is True
    assert len(book(tmp_path)) == 1


async def test_a_call_asks_is_declined_asks_again_and_is_accepted(way: tuple[str, str], tmp_path: Path) -> None:
    """A decline is sticky for exactly that call; another call, or the same one once the question is old, asks anew."""
    kind, era = way
    clock, person = Clock(), Person(["decline"])
    order = {"item": "archive scene", "quantity": 2}
    async with shop(kind, era, tmp_path, person, clock) as client:
        refused = await client.call_tool("place_order", order, meta={KEY: "k1"})
        again = await client.call_tool("place_order", order, meta={KEY: "k1"})
        assert problem(refused) == problem(again)
        assert problem(refused)["code"] == "confirm.declined"
        assert len(person.asked) == 1, "nobody is asked twice about the very same call"
        person.answers = ["accept"]
        other = await client.call_tool("place_order", {**order, "quantity": 1}, meta={KEY: "k1"})
        assert other.structured_content == {"order_id": "o-1", "amount": 240}
        clock.advance(901)
        if not kind.endswith("stdio"):
            person.answers = ["accept"]
            later = await client.call_tool("place_order", order, meta={KEY: "k2"})
    if kind.endswith("stdio"):  # its clock is its environment: a later process is a later time
        person.answers = ["accept"]
        async with shop(kind, era, tmp_path, person, clock) as client:
            later = await client.call_tool("place_order", order, meta={KEY: "k2"})
    assert later.structured_content == {"order_id": "o-2", "amount": 480}
    assert len(person.asked) == 3
    assert [line["quantity"] for line in book(tmp_path)] == [1, 2]


async def test_the_question_shows_the_price_the_effects_and_every_argument(
    way: tuple[str, str], tmp_path: Path
) -> None:
    person = Person(["cancel"])
    async with shop(*way, tmp_path, person) as client:
        order = {"item": "scene\u202etxt.exe", "quantity": 2}
        cancelled = await client.call_tool("place_order", order, meta={KEY: "k"})
    assert problem(cancelled)["code"] == "confirm.cancelled"
    assert person.asked[0].splitlines() == [
        "Place order (place_order) — external_spend, critical risk",
        "On the server shop",
        "Asked for by shop-agent (agent)",
        "Price: 480 credits",
        "What it does:",
        "  Charges the account.",
        "  Repeating with the same key charges nothing.",
        "Arguments, as sent:",
        '  item: "scene\\u{202e}txt.exe"',
        "  quantity: 2",
        "Warning: the arguments hold invisible or direction-changing characters, written here as \\u{...}.",
    ]
    assert book(tmp_path) == []


async def test_a_retry_with_the_same_key_replays_without_asking_again(way: tuple[str, str], tmp_path: Path) -> None:
    """Also in a later process: the answer was lost, the server restarted, and the order stands once."""
    person, order = Person(["accept"]), {"item": "print"}
    async with shop(*way, tmp_path, person) as client:
        first = await client.call_tool("place_order", order, meta={KEY: "k"})
    async with shop(*way, tmp_path, person) as client:
        replay = await client.call_tool("place_order", order, meta={KEY: "k"})
        mismatch = await client.call_tool("place_order", {"item": "other"}, meta={KEY: "k"})
    assert replay.structured_content == first.structured_content == {"order_id": "o-1", "amount": 240}
    assert (replay.meta or {})["dev.assent/replayed"] is True
    assert "dev.assent/replayed" not in (first.meta or {})
    assert problem(mismatch)["code"] == "recall.key_mismatch"
    assert problem(mismatch)["status"] == 422
    assert len(person.asked) == 1
    assert len(book(tmp_path)) == 1


@pytest.mark.parametrize("kind", ["memory", "http"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_caller_who_leaves_after_the_start_finds_the_answer_on_the_retry(
    kind: str, era: str, tmp_path: Path
) -> None:
    from mcp.server import MCPServer

    from assent import Assent, Principal, contract

    caller = Principal("a", "agent", scopes=frozenset({"*"}))
    assent = Assent(store=f"sqlite:///{tmp_path}/a.db", stdio=caller, anonymous=caller)
    server = MCPServer("slow", extensions=[assent.extension()], log_level="ERROR")
    entered, go_on, effects = asyncio.Event(), asyncio.Event(), []

    @server.tool()
    @contract(side_effect="external_spend", confirmation={"by": "user"})
    async def buy(item: str) -> dict[str, int]:
        entered.set()
        await go_on.wait()
        effects.append(item)
        return {"bought": len(effects)}

    assent.apply(server)
    person = Person(["accept"])

    async def use(target: Any) -> None:
        async with connect(target, era, person) as client:
            leaving = asyncio.create_task(client.call_tool("buy", {"item": "x"}, meta={KEY: "k"}))
            await entered.wait()
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
            go_on.set()
            retry = await client.call_tool("buy", {"item": "x"}, meta={KEY: "k"})
            assert retry.structured_content == {"bought": 1}
            assert (retry.meta or {})["dev.assent/replayed"] is True

    if kind == "memory":
        await use(server)
    else:
        async with over_http(server) as url:
            await use(url)
    await assent.close()
    assert effects == ["x"]
    assert len(person.asked) == 1


async def test_a_client_that_cannot_ask_gets_a_pending_approval_that_any_person_may_give(
    way: tuple[str, str], tmp_path: Path
) -> None:
    from assent.pipeline.approve import approve
    from assent.testing import ANN

    order = {"item": "print"}
    async with shop(*way, tmp_path, None) as client:
        first = await client.call_tool("place_order", order, meta={KEY: "k"})
        same = await client.call_tool("place_order", order, meta={KEY: "k"})
        assert first.is_error
        assert problem(first) == problem(same)
        assert problem(first)["code"] == "confirm.approval_pending"
        _, console = server.build(f"sqlite:///{tmp_path}/shop.db", tmp_path / "shop.log")
        await approve(ANN, problem(first)["approval"], "approve", console.ports)
        await console.close()
        done = await client.call_tool("place_order", order, meta={KEY: "k"})
        assert done.structured_content == {"order_id": "o-1", "amount": 240}
        spent = await client.call_tool("place_order", order, meta={KEY: "another"})
        assert problem(spent)["code"] == "confirm.approval_pending", "an approval is used once"


async def test_a_host_that_sends_no_keys_can_spend_and_a_retry_replays(way: tuple[str, str], tmp_path: Path) -> None:
    person = Person(["accept"])
    async with shop(*way, tmp_path, person) as client:
        placed = await client.call_tool("place_order", {"item": "print"})
        again = await client.call_tool("place_order", {"item": "print"})
    assert placed.structured_content == again.structured_content == {"order_id": "o-1", "amount": 240}
    assert (again.meta or {})["dev.assent/replayed"] is True
    assert len(person.asked) == 1


async def test_failures_come_as_declared_and_a_crash_is_in_doubt(way: tuple[str, str], tmp_path: Path) -> None:
    person = Person(["accept", "accept"])
    async with shop(*way, tmp_path, person) as client:
        declined = await client.call_tool("place_order", {"item": "print", "quantity": 101}, meta={KEY: "k1"})
        crashed = await client.call_tool("place_order", {"item": "meteorite"}, meta={KEY: "k2"})
        retried = await client.call_tool("place_order", {"item": "meteorite"}, meta={KEY: "k2"})
    assert problem(declined)["code"] == "card_declined"
    assert problem(declined)["status"] == 402
    assert problem(crashed)["code"] == "execute.in_doubt"
    assert problem(retried)["code"] == "recall.in_doubt"
    assert "warehouse" not in json.dumps([problem(crashed), problem(retried)])
    assert len(person.asked) == 2


async def test_an_ambiguous_write_asks_and_a_clear_one_does_not(way: tuple[str, str], tmp_path: Path) -> None:
    person = Person(["accept", "decline", "accept"])
    async with shop(*way, tmp_path, person) as client:
        await client.call_tool("create_note", {"text": "a", "labels": ["x"]})
        assert person.asked == []
        await client.call_tool("create_note", {"text": "b", "labels": []})
        await client.call_tool("create_note", {"text": "c", "labels": ["*"]})
        await client.call_tool("create_note", {"text": "d", "labels": ["1", "2", "3", "4"]})
    assert [line.partition("Asked because ")[2] for text in person.asked for line in text.splitlines()[3:4]] == [
        "labels is empty, so it may select everything.",
        "labels selects everything.",
        "labels holds 4 items, more than 3.",
    ]
    assert [line["text"] for line in book(tmp_path)] == ["a", "b", "d"]


async def test_a_required_dry_run_cannot_be_skipped_and_is_shown_to_the_person(
    way: tuple[str, str], tmp_path: Path
) -> None:
    person = Person(["accept"])
    async with shop(*way, tmp_path, person) as client:
        skipped = await client.call_tool("delete_customer", {"customer_id": "c1"})
        preview = await client.call_tool("delete_customer", {"customer_id": "c1", "dryRun": True})
        other = await client.call_tool("delete_customer", {"customer_id": "c2"})
        deleted = await client.call_tool("delete_customer", {"customer_id": "c1"})
    assert problem(skipped)["code"] == problem(other)["code"] == "rehearse.dry_run_required"
    assert preview.structured_content == {
        "dryRun": True,
        "warnings": [
            "The tool was not asked: this preview comes from its contract, so the tool's own checks are still to come."
        ],
        "missingPermissions": [],
        "expectedSideEffects": ["The customer and all their orders are deleted for good."],
        "estimatedDurationMs": None,
        "simulated": True,
    }
    assert deleted.structured_content == {"deleted": "c1"}
    assert "Preview, as the tool reported it:" in person.asked[0]
    assert [line["what"] for line in book(tmp_path)] == ["delete"]


async def test_a_one_time_secret_is_shown_once(way: tuple[str, str], tmp_path: Path) -> None:
    person = Person(["accept"])
    async with shop(*way, tmp_path, person) as client:
        first = await client.call_tool("export_orders", {"month": "2026-10"}, meta={KEY: "k"})
        replay = await client.call_tool("export_orders", {"month": "2026-10"}, meta={KEY: "k"})
    assert first.structured_content["download"] == {"token": "one-time-1", "month": "2026-10"}
    assert replay.structured_content["download"] == {"token": "", "month": "2026-10"}
    assert "one-time-1" not in replay.model_dump_json()
    assert (replay.meta or {})["dev.assent/secret_already_delivered"] == ["/download/token"]
    for file in tmp_path.iterdir():
        assert b"one-time-1" not in file.read_bytes(), f"the secret stands in {file.name}"


async def test_the_same_link_comes_back_while_it_is_valid_and_a_new_one_after(
    way: tuple[str, str], tmp_path: Path
) -> None:
    clock = Clock()
    until = int(clock.at) + 60
    wanted = {"file_id": "f_abc123", "expires_at": until}
    async with shop(*way, tmp_path, None, clock) as client:
        first = await client.call_tool("create_download_link", wanted)
        second = await client.call_tool("create_download_link", wanted)
        other = await client.call_tool("create_download_link", {**wanted, "file_id": "f_other"})
    clock.advance(61)
    async with shop(*way, tmp_path, None, clock) as client:
        third = await client.call_tool("create_download_link", wanted)
    assert first.structured_content == second.structured_content
    assert first.structured_content["link_id"] == "l-1"
    assert other.structured_content["link_id"] == "l-2"
    assert third.structured_content["link_id"] == "l-3"


async def test_arguments_that_do_not_fit_are_refused_by_field_and_never_repeated(
    way: tuple[str, str], tmp_path: Path
) -> None:
    async with shop(*way, tmp_path, None) as client:
        wrong = await client.call_tool("create_note", {"text": 5, "labels": "SECRET-VALUE"})
        huge = await client.call_tool("create_note", {"text": "x", "labels": ["x"], "n": 2**53})
    assert problem(wrong)["code"] == "validate.arguments_invalid"
    assert {error["field"] for error in problem(wrong)["errors"]} == {"/text", "/labels"}
    assert "SECRET-VALUE" not in wrong.model_dump_json()
    assert problem(huge)["code"] == "validate.malformed"
    assert book(tmp_path) == []
