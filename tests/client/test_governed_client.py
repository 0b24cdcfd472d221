"""What an agent gets from a governed client in front of servers that nobody governs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from assent import GovernedClient
from assent.client.question import Answer, Anything, AtMost, OneOf, Remember
from assent.client.tool_policy import Budget
from assent.testing import Clock
from support.clients.person import Naps, Somebody
from support.servers.plain_server import Plain, said, tool

CLOSED = MCPError(types.CONNECTION_CLOSED, "Connection closed")
FAILED = MCPError(types.INTERNAL_ERROR, "Server returned an error response")
PLACE = tool("orders.archive.place", "item", "idempotency_key", tier="external_spend")
ESTIMATE = tool("orders.archive.estimate", "item", tier="read")


@asynccontextmanager
async def governed(plain: Plain, person: Any = None, **options: Any) -> Any:
    options.setdefault("sleep", Naps())
    async with GovernedClient(plain.server, asker=person, **options) as client:
        yield client


def problem(result: types.CallToolResult) -> Any:
    assert result.is_error
    return result.structured_content


async def test_reads_are_called_freely() -> None:
    plain, person = Plain(tool("list_orders", tier="read"), list_orders=said({"n": 1})), Somebody()
    async with governed(plain, person, trusted=True) as client:
        assert (await client.call_tool("list_orders")).structured_content == {"n": 1}
    assert person.asked == []


@pytest.mark.parametrize("tier", ["external_spend", "destructive", "share_export"])
@pytest.mark.parametrize("trusted", [True, False])
async def test_spending_destroying_and_sharing_wait_for_a_yes(tier: str, trusted: bool) -> None:
    plain, person = Plain(tool("act", "x", tier=tier), act=said({"ok": True})), Somebody(True)
    async with governed(plain, person, trusted=trusted) as client:
        assert not (await client.call_tool("act", {"x": 1})).is_error
    assert [question.arguments for question in person.asked] == [{"x": 1}]
    assert plain.log == [("act", {"x": 1})]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (False, "confirm.declined"),
        ("decline", "confirm.declined"),
        ("cancel", "confirm.cancelled"),
        (None, "confirm.cancelled"),
    ],
)
async def test_whoever_says_no_or_nothing_is_obeyed(answer: Any, code: str) -> None:
    plain = Plain(tool("delete_customer", "id"))
    async with governed(plain, Somebody(answer)) as client:
        assert problem(await client.call_tool("delete_customer", {"id": 7}))["code"] == code
    assert plain.log == []


async def test_a_no_holds_for_the_same_call_and_a_closed_question_does_not() -> None:
    plain, clock = Plain(tool("delete_customer", "id")), Clock()
    person = Somebody(False, "cancel", True, True)
    async with governed(plain, person, now=clock, declined_for=60) as client:
        for _ in range(2):
            assert problem(await client.call_tool("delete_customer", {"id": 7}))["code"] == "confirm.declined"
        assert len(person.asked) == 1
        assert problem(await client.call_tool("delete_customer", {"id": 8}))["code"] == "confirm.cancelled"
        assert not (await client.call_tool("delete_customer", {"id": 8})).is_error
        clock.at += 61
        assert not (await client.call_tool("delete_customer", {"id": 7})).is_error


async def test_without_anybody_to_ask_what_needs_asking_is_refused() -> None:
    plain = Plain(tool("delete_customer"))
    async with governed(plain) as client:
        assert problem(await client.call_tool("delete_customer"))["code"] == "confirm.cancelled"
    assert plain.log == []


async def test_somebody_who_walks_away_has_said_no() -> None:
    plain, gone = Plain(tool("delete_customer")), asyncio.Event()

    async def absent(question: Any) -> bool:
        await gone.wait()
        return True

    async with governed(plain, absent, question_patience=0.01) as client:
        assert problem(await client.call_tool("delete_customer"))["code"] == "confirm.cancelled"
        assert client.journal.of("delete_customer")[1].facts["by"] == "no answer: the question timed out"
    assert plain.log == []


async def test_an_asker_that_fails_is_no_yes() -> None:
    plain = Plain(tool("delete_customer"))

    def broken(question: Any) -> bool:
        raise KeyError("window")

    async with governed(plain, broken) as client:
        assert problem(await client.call_tool("delete_customer"))["code"] == "confirm.cancelled"
    assert plain.log == []


async def test_compute_runs_within_its_budget_and_is_asked_about_beyond() -> None:
    plain, person, clock = Plain(tool("analyse", tier="compute")), Somebody(True), Clock()
    async with governed(plain, person, trusted=True, compute=Budget(calls=2, per=60), now=clock) as client:
        for _ in range(3):
            assert not (await client.call_tool("analyse")).is_error
        assert len(person.asked) == 1
        clock.at += 60
        assert not (await client.call_tool("analyse")).is_error
    assert len(person.asked) == 1


async def test_the_price_is_fetched_first_and_shown() -> None:
    plain, person = Plain(PLACE, ESTIMATE, **{"orders.archive.estimate": said({"credits": 240})}), Somebody(True)
    async with governed(plain, person, trusted=True, make_key=lambda: "k-1") as client:
        await client.call_tool("orders.archive.place", {"item": "scene"})
    assert plain.log == [
        ("orders.archive.estimate", {"item": "scene"}),
        ("orders.archive.place", {"item": "scene", "idempotency_key": "k-1"}),
    ]
    assert "Price: 240 credits" in person.asked[0].text.splitlines()


async def test_a_price_that_cannot_be_had_is_said() -> None:
    plain, person = Plain(PLACE, ESTIMATE, **{"orders.archive.estimate": said(is_error=True)}), Somebody(False)
    async with governed(plain, person, trusted=True) as client:
        await client.call_tool("orders.archive.place", {"item": "scene"})
    assert "Warning: The estimate failed: the cost of this call is unknown." in person.asked[0].text


async def test_an_estimate_that_is_no_read_is_not_called() -> None:
    plain = Plain(PLACE, tool("orders.archive.estimate", "item", tier="external_spend"))
    async with governed(plain, Somebody(False), trusted=True) as client:
        await client.call_tool("orders.archive.place", {"item": "scene"})
    assert plain.log == []


async def test_the_model_never_sees_or_writes_a_key() -> None:
    plain = Plain(PLACE)
    async with governed(plain, Somebody(True), trusted=True, make_key=lambda: "ours") as client:
        (listed,) = await client.list_tools()
        assert "idempotency_key" not in listed.input_schema["properties"]
        await client.call_tool("orders.archive.place", {"item": "scene", "idempotency_key": "the model's"})
    assert plain.log == [("orders.archive.place", {"item": "scene", "idempotency_key": "ours"})]


@pytest.mark.parametrize("failure", [CLOSED, FAILED, said({"status": 503, "retryable": True}, is_error=True)])
async def test_a_keyed_charge_is_retried_under_one_key(failure: Any) -> None:
    plain = Plain(PLACE, **{"orders.archive.place": [failure, failure, said({"ok": True})]})
    naps = Naps()
    async with governed(plain, Somebody(True), trusted=True, sleep=naps) as client:
        assert not (await client.call_tool("orders.archive.place", {"item": "scene"})).is_error
    assert len(plain.log) == 3
    assert len({arguments["idempotency_key"] for _, arguments in plain.log}) == 1
    assert naps.taken == [0.25, 0.5]


@pytest.mark.parametrize(
    ("definition", "trusted", "attempts"),
    [
        (tool("t", tier="read"), True, 3),
        (tool("list_orders"), False, 3),
        (tool("t", tier="compute"), True, 1),
        (tool("t", tier="compute", idempotent_hint=True), True, 3),
        (tool("create_note", idempotent_hint=True), False, 1),
        (tool("t", tier="external_spend", idempotent_hint=True), True, 1),
        (tool("t", tier="external_spend"), True, 1),
        (tool("t", "idempotencyKey", tier="external_spend"), True, 3),
        (tool("place_order", "idempotency_key"), False, 3),
        (tool("t", tier="share_export", idempotent_hint=True), True, 1),
        (tool("t", "idempotency_key", tier="destructive", idempotent_hint=True), True, 1),
        (tool("t", contract={"tier": "destructive", "idempotency": {"recovery": "natural"}}), True, 1),
        (tool("t", contract={"tier": "write", "idempotency": {"recovery": "none"}}), True, 3),
    ],
)
async def test_only_what_may_be_repeated_is(definition: types.Tool, trusted: bool, attempts: int) -> None:
    plain = Plain(definition, **{definition.name: CLOSED})
    async with governed(plain, lambda _: True, trusted=trusted) as client:
        code = problem(await client.call_tool(definition.name))["code"]
    assert len(plain.log) == attempts
    reads = definition.name == "list_orders" or (definition.meta or {}).get("x-side-effect") == "read"
    assert code == ("execute.unavailable" if reads else "execute.in_doubt")


async def test_a_problem_that_does_not_pass_is_not_retried() -> None:
    for status, retryable in ((503, False), (429, True), (402, False)):
        plain = Plain(tool("t", tier="read"), t=said({"status": status, "retryable": retryable}, is_error=True))
        async with governed(plain, trusted=True) as client:
            assert problem(await client.call_tool("t"))["status"] == status
        assert len(plain.log) == 1


async def test_the_same_call_after_a_failure_is_the_same_action() -> None:
    plain = Plain(PLACE, **{"orders.archive.place": CLOSED})
    person = Somebody(True, True, True)
    async with governed(plain, person, trusted=True, attempts=1) as client:
        assert problem(await client.call_tool("orders.archive.place", {"item": "a"}))["code"] == "execute.in_doubt"
        plain.does["orders.archive.place"] = said({"ok": True})
        await client.call_tool("orders.archive.place", {"item": "a"})
        await client.call_tool("orders.archive.place", {"item": "a"})
    first, second, third = (arguments["idempotency_key"] for _, arguments in plain.log)
    assert first == second != third
    assert "its end is unknown" in person.asked[1].why


async def test_a_server_that_never_answers_is_left() -> None:
    plain = Plain(tool("delete_customer"), delete_customer=lambda *_: asyncio.Event().wait())
    async with governed(plain, lambda _: True, timeout=0.5) as client:
        assert problem(await client.call_tool("delete_customer"))["code"] == "execute.in_doubt"
    assert len(plain.log) == 1


async def test_a_pending_approval_is_waited_for_under_the_same_key() -> None:
    pending = said({"status": 428, "code": "confirm.approval_pending", "approval": "a-1"}, is_error=True)
    plain = Plain(PLACE, **{"orders.archive.place": [pending, pending, said({"ok": True})]})
    naps = Naps()
    async with governed(plain, Somebody(True), trusted=True, sleep=naps) as client:
        assert not (await client.call_tool("orders.archive.place", {"item": "a"})).is_error
        assert [noted.facts["approval"] for noted in client.journal.entries if noted.what == "waited"] == ["a-1"] * 2
    assert len({arguments["idempotency_key"] for _, arguments in plain.log}) == 1
    assert naps.taken == [2.0, 2.0]


async def test_the_wait_for_an_approval_ends() -> None:
    pending = said({"status": 428, "code": "confirm.approval_pending", "approval": "a-1"}, is_error=True)
    plain, naps = Plain(PLACE, **{"orders.archive.place": pending}), Naps()
    async with governed(plain, Somebody(True), trusted=True, sleep=naps, approval_patience=10) as client:
        ended = problem(await client.call_tool("orders.archive.place", {"item": "a"}))
    assert ended["code"] == "confirm.approval_pending"
    assert sum(naps.taken) <= 10


async def test_secrets_go_to_the_caller_and_not_to_the_model() -> None:
    canary = "canary-5f2c"
    export = {"id": "e-1", "download": {"token": canary, "url": f"https://x.example/{canary}"}, "rows": 3}
    plain = Plain(tool("export", tier="share_export"), export=said(export, text=f"here: {canary}"))
    delivered: list[Any] = []
    async with governed(plain, Somebody(True), trusted=True, on_secret=delivered.append) as client:
        shown = await client.call_tool("export")
        assert canary not in shown.model_dump_json()
        assert shown.structured_content["rows"] == 3
        assert canary not in repr(client.journal.entries) + repr(client.journal.open_world) + repr(delivered)
    assert delivered[0].result.structured_content["download"]["token"] == canary


@pytest.mark.parametrize("result", [said(text="token canary-5f2c"), said({"value": "canary-5f2c"})])
async def test_a_secret_that_cannot_be_told_apart_is_withheld_whole(result: Any) -> None:
    contract = {"tier": "share_export", "secrets": True, "confirmation": "none"}
    plain = Plain(tool("export", contract=contract), export=result)
    async with governed(plain, trusted=True) as client:
        assert "canary" not in (await client.call_tool("export")).model_dump_json()
        assert len(client.secrets) == 1


async def test_calls_that_reach_outside_are_logged_apart() -> None:
    plain = Plain(tool("a", tier="read", open_world_hint=True), tool("b", tier="read", open_world_hint=False))
    async with governed(plain, trusted=True) as client:
        await client.call_tool("a")
        await client.call_tool("b")
        assert [noted.tool for noted in client.journal.open_world] == ["a"]
        assert [noted.what for noted in client.journal.entries] == ["called", "answered"] * 2


async def test_a_remembered_yes_covers_only_what_it_names_and_ends() -> None:
    plain, clock = Plain(PLACE), Clock()
    yes = Answer("accept", remember=Remember({"item": OneOf(("a", "b"))}, seconds=60))
    person = Somebody(yes, False, False)
    async with governed(plain, person, trusted=True, now=clock) as client:
        for item in ("a", "a", "b"):
            assert not (await client.call_tool("orders.archive.place", {"item": item})).is_error
        assert len(person.asked) == 1
        assert problem(await client.call_tool("orders.archive.place", {"item": "c"}))
        clock.at += 60
        assert problem(await client.call_tool("orders.archive.place", {"item": "a"}))
    assert len(person.asked) == 3


@pytest.mark.parametrize(
    ("constraints", "arguments", "covered"),
    [
        ({"n": 1}, {"n": 1}, True),
        ({"n": 1}, {"n": True}, False),
        ({"n": AtMost(5)}, {"n": 5}, True),
        ({"n": AtMost(5)}, {"n": -1}, False),
        ({"n": AtMost(5)}, {"n": "5"}, False),
        ({"n": AtMost(5)}, {"n": 1, "to": "mallory"}, False),
        ({"n": AtMost(5), "to": Anything()}, {"n": 1, "to": "mallory"}, True),
        ({"n": AtMost(5), "to": Anything()}, {"n": 1}, True),
        ({"n": AtMost(5)}, {}, False),
    ],
)
def test_every_argument_must_be_named_and_fit(constraints: Any, arguments: Any, covered: bool) -> None:
    assert Remember(constraints, 60).covers(arguments) is covered


@pytest.mark.parametrize(("arguments", "seconds"), [({}, 60), ({"a": Anything()}, 60), ({"a": 1}, 0), ({"a": 1}, 1e9)])
def test_nothing_is_remembered_by_name_alone_or_for_good(arguments: Any, seconds: float) -> None:
    with pytest.raises(ValueError):
        Remember(arguments, seconds)


async def test_an_unknown_tool_is_a_refusal() -> None:
    async with governed(Plain()) as client:
        assert problem(await client.call_tool("nothing"))["code"] == "discover.unknown_tool"


async def test_a_tool_that_is_forbidden_for_agents_is_neither_listed_nor_called() -> None:
    plain = Plain(tool("read_keys", contract={"tier": "read", "risk": "forbidden"}))
    async with governed(plain, lambda _: True, trusted=True) as client:
        assert await client.list_tools() == []
        assert problem(await client.call_tool("read_keys"))["code"] == "guard.denied"
    assert plain.log == []


async def test_the_caller_may_know_better() -> None:
    plain = Plain(tool("frobnicate"))
    async with governed(plain, tiers={"frobnicate": "read"}) as client:
        assert not (await client.call_tool("frobnicate")).is_error
    with pytest.raises(ValueError, match="harmless"):
        GovernedClient(plain.server, tiers={"frobnicate": "harmless"})


@pytest.mark.parametrize(
    "options", [{}, {"server": "http://x", "connect": Client}, {"server": "http://x", "attempts": 0}]
)
def test_what_cannot_work_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        GovernedClient(**options)


def test_a_number_is_a_budget_of_calls_and_what_is_none_is_refused_at_once() -> None:
    assert GovernedClient("http://127.0.0.1:9/mcp", compute=2)._preparation._compute == Budget(2)
    with pytest.raises(TypeError, match=r"compute=Budget\(calls=2"):
        GovernedClient("http://127.0.0.1:9/mcp", compute="2")  # type: ignore[arg-type]
