"""Geopera's document, statement by statement; `examples/geopera/STATEMENTS.md` names the test of each."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from mcp_types import CallToolResult, ToolAnnotations

from assent import GovernedClient, Principal, needs_confirmation
from assent.client import Answer, Budget
from assent.contract.profiles import profile
from assent.contract.reader import read_contract
from assent.core.tool import compile_tool
from assent.errors import ContractError
from assent.testing.assertions import tools_of
from support.clients.transports import ROOT, Person, connect, over_http
from support.decisions.problems import problem

sys.path.insert(0, str(ROOT))
from examples.geopera.conversation import converse
from examples.geopera.server import Account, build

from support.documents.example_statements import assert_every_statement_has_a_test, run

KEY = "dev.assent/idempotencyKey"
ERA = "2026-07-28"
# tier: readOnlyHint, destructiveHint, idempotentHint, openWorldHint
TIERS = {
    "read": (True, False, False, True),
    "compute": (False, False, False, False),
    "external_spend": (False, False, True, True),
    "share_export": (False, False, False, True),
    "destructive": (False, True, False, False),
}
BY_TIER = {
    "read": {
        "catalog.items.search", "orders.archive.estimate", "orders.list", "collections.get", "notifications.list",
        "billing.balance", "usage.current", "processing.jobs.list",
    },
    "compute": {"analytics.index"},
    "external_spend": {"orders.archive.place", "billing.topup", "processing.dispatch"},
    "share_export": {"share.link.create", "exports.create"},
    "destructive": {"orders.cancel", "collections.archive", "collections.delete", "collections.replace"},
}  # fmt: skip
STAGES = [
    *("authenticate", "discover", "authorize", "validate", "recall", "guard", "afford", "rehearse", "step_up"),
    *("confirm", "claim", "execute"),
]
OPERATIONS = str(ROOT / "examples/geopera/operations.yaml")


def definitions() -> dict[str, dict[str, Any]]:
    server, _ = build()
    return {tool["name"]: dict(tool) for tool in tools_of(server)}


def hints(tool: dict[str, Any]) -> tuple[bool, ...]:
    return tuple(tool["annotations"][f"{name}Hint"] for name in ("readOnly", "destructive", "idempotent", "openWorld"))


@asynccontextmanager
async def market(person: Person | None = None, **options: Any) -> AsyncIterator[tuple[Any, Account]]:
    account = Account()
    server, assent = build(account=account, **options)
    async with connect(server, ERA, person) as client:
        yield client, account
    await assent.close()


@pytest.mark.parametrize("tier", TIERS)
def test_the_hints_and_the_tier_in_meta_follow_from_the_tier_alone(tier: str) -> None:
    listed = definitions()
    for name in BY_TIER[tier]:
        assert hints(listed[name]) == TIERS[tier]
        assert listed[name]["_meta"]["x-side-effect"] == tier
    assert {name for name, tool in listed.items() if tool["_meta"]["x-side-effect"] == tier} == BY_TIER[tier]


def test_no_operation_can_be_tuned_by_hand() -> None:
    tuned = read_contract("it", {"side_effect": "compute", "hints": {"idempotent": True, "because": "it is"}})
    with pytest.raises(ContractError, match="under the profile geopera every hint follows from the tier"):
        compile_tool(tuned, profile=profile("geopera"))


def test_a_new_operation_is_annotated_by_its_tier() -> None:
    for tier, row in TIERS.items():
        made = compile_tool(read_contract("new.operation", {"side_effect": tier}), profile=profile("geopera"))
        assert hints(dict(made.definition)) == row


def test_the_meta_of_a_spend_is_as_printed() -> None:
    said = definitions()["orders.archive.place"]["_meta"]
    printed = {"x-side-effect": "external_spend", "x-required-scope": "orders:write", "x-produces": ["order"]}
    assert {key: said[key] for key in printed} == printed


def test_a_client_filters_by_meta_and_all_five_tiers_are_told_apart() -> None:
    bare = [{"name": name, "_meta": tool["_meta"]} for name, tool in definitions().items()]  # no text to parse
    found = {tier: {one["name"] for one in bare if one["_meta"]["x-side-effect"] == tier} for tier in TIERS}
    assert found == BY_TIER
    orders = {one["name"] for one in bare if one["_meta"].get("x-required-scope") == "orders:write"}
    assert orders == {"orders.archive.place", "orders.cancel"}
    assert [one["name"] for one in bare if "order" in one["_meta"].get("x-produces", ())] == ["orders.archive.place"]


def test_the_booleans_collapse_compute_and_share_export_which_have_no_true_mutation_hint() -> None:
    compute, share = (hints(definitions()[name]) for name in ("analytics.index", "share.link.create"))
    assert compute[:3] == share[:3] == (False, False, False)


async def test_mutating_without_deleting_is_destructive_too() -> None:
    person = Person(["decline"])
    async with market(person) as (client, account):
        await client.call_tool("collections.replace", {"id": "c-1"})
        assert (len(person.asked), account.gone) == (1, [])
    assert hints(definitions()["collections.replace"]) == TIERS["destructive"]


async def test_reads_run_without_a_question_and_change_nothing() -> None:
    asks = {"catalog.items.search": {"place": "x"}, "orders.archive.estimate": {"item": "x"}}
    asks |= {"collections.get": {"collection_id": "x"}}
    async with market() as (client, account):
        before = repr(account)
        for name in sorted(BY_TIER["read"]):
            assert not (await client.call_tool(name, asks.get(name, {}))).is_error, name
        assert repr(account) == before


async def test_compute_runs_without_a_question_within_a_quota() -> None:
    limits = [{"match": {"tier": "compute"}, "calls": 2, "per": "1m"}]
    async with market(limits=limits) as (client, account):
        for _ in range(2):
            assert not (await client.call_tool("analytics.index", {"scene": "s"})).is_error
        third = await client.call_tool("analytics.index", {"scene": "s"})
        assert problem(third)["status"] == 429
        assert account.charges == []


async def test_the_client_asks_when_its_budget_for_compute_is_used_up() -> None:
    asked: list[str] = []

    def no(question: Any) -> Answer:
        asked.append(question.tool)
        return Answer("decline")

    server, assent = build()
    async with GovernedClient(server, trusted=True, asker=no, compute=Budget(1, 60)) as client:
        await client.call_tool("analytics.index", {"scene": "s"})
        assert asked == []
        assert (await client.call_tool("analytics.index", {"scene": "s"})).is_error
    assert asked == ["analytics.index"]
    await assent.close()


async def test_a_money_budget_stops_the_next_charge() -> None:
    budgets = [{"match": {"tool": "billing.topup"}, "amount": 100, "currency": "EUR", "per": "1d"}]
    async with market(Person(["accept", "accept"]), budgets=budgets) as (client, account):
        assert not (await client.call_tool("billing.topup", {"amount": 60}, meta={KEY: "a"})).is_error
        assert problem(await client.call_tool("billing.topup", {"amount": 60}, meta={KEY: "b"}))["code"].endswith(
            "budget_exceeded"
        )
        assert account.charges == ["topup 60"]


async def test_the_same_key_replays_and_a_new_key_charges_again() -> None:
    person = Person(["accept", "accept"])
    async with market(person) as (client, account):
        first = await client.call_tool("orders.archive.place", {"item": "x"}, meta={KEY: "6f1c"})
        again = await client.call_tool("orders.archive.place", {"item": "x"}, meta={KEY: "6f1c"})
        assert again.structured_content == first.structured_content
        assert (again.meta or {})["dev.assent/replayed"] is True
        assert (len(account.charges), len(person.asked)) == (1, 1)
        await client.call_tool("orders.archive.place", {"item": "x"}, meta={KEY: "other"})
        assert len(account.charges) == 2


class Vendor:
    """The vendor's own server, without Assent: it charges once per key, and its first answer is lost in a 503."""

    def __init__(self, outages: int) -> None:
        self.outages, self.keys, self.charged = outages, list[str](), dict[str, int]()
        self.server = MCPServer("vendor", log_level="ERROR")
        listed = definitions()["orders.archive.place"]
        said, meta = ToolAnnotations.model_validate(listed["annotations"]), {"x-side-effect": "external_spend"}
        self.server.tool(name="orders.archive.place", annotations=said, meta=meta)(self.place)

    def place(self, item: str, idempotency_key: str = "") -> CallToolResult:
        self.keys.append(idempotency_key)
        order = self.charged.setdefault(idempotency_key, len(self.charged) + 1)
        if self.outages:
            self.outages -= 1
            lost = {"type": "about:blank", "title": "Service Unavailable", "status": 503, "retryable": True}
            return CallToolResult(content=[], structured_content=lost, is_error=True)
        return CallToolResult(content=[], structured_content={"order": f"order-{order}"})


async def no_time(seconds: float) -> None:
    return None


async def test_a_503_after_the_charge_is_repeated_with_the_same_key_and_the_next_order_gets_a_new_one() -> None:
    vendor = Vendor(outages=1)
    async with GovernedClient(vendor.server, trusted=True, asker=lambda _: Answer("accept"), sleep=no_time) as client:
        first = await client.call_tool("orders.archive.place", {"item": "x"})
        second = await client.call_tool("orders.archive.place", {"item": "y"})
    assert (first.structured_content, second.structured_content) == ({"order": "order-1"}, {"order": "order-2"})
    assert vendor.keys[0] == vendor.keys[1] != vendor.keys[2]
    assert len(vendor.charged) == 2, "two intended charges, two keys"


async def test_a_spend_without_a_key_is_refused() -> None:
    async with market(Person(["accept"])) as (client, account):
        assert problem(await client.call_tool("billing.topup", {"amount": 5}))["code"] == "recall.key_required"
        assert account.charges == []


async def test_the_key_can_be_an_argument_where_the_operation_accepts_one() -> None:
    async with market(Person(["accept"])) as (client, account):
        order = {"item": "x", "idempotency_key": "k"}
        first = await client.call_tool("orders.archive.place", order)
        again = await client.call_tool("orders.archive.place", order)
        assert first.structured_content == again.structured_content
        assert len(account.charges) == 1


async def test_the_key_can_be_a_header() -> None:
    account = Account()
    server, assent = build(account=account)
    async with over_http(server) as url:
        asked: list[Any] = []

        def yes(question: Any) -> Answer:
            asked.append(question)
            return Answer("accept")

        async with GovernedClient(url, trusted=True, asker=yes, keys_by_header=True, make_key=lambda: "k-1") as client:
            placed = await client.call_tool("orders.archive.place", {"item": "x"})
            again = await client.call_tool("orders.archive.place", {"item": "x"})
    await assent.close()
    assert placed.structured_content == again.structured_content
    assert len(account.charges) == 1


def test_an_operation_with_a_key_in_its_body_is_recognised() -> None:
    spend = json.loads(run("contract", "show", OPERATIONS, "--format", "json"))["tools"]["orders.archive.place"]
    assert spend["idempotency"]["argument"] == "idempotency_key"
    assert spend["idempotency"]["recovery"] == "keyed"


async def test_a_secret_is_shown_once_kept_nowhere_and_new_each_time(tmp_path: Path) -> None:
    person = Person(["accept", "accept"])
    store = f"sqlite:///{tmp_path}/geopera.db"
    async with market(person, store=store) as (client, account):
        first = await client.call_tool("share.link.create", {"collection_id": "c"}, meta={KEY: "k"})
        replay = await client.call_tool("share.link.create", {"collection_id": "c"}, meta={KEY: "k"})
        other = await client.call_tool("share.link.create", {"collection_id": "c"}, meta={KEY: "new"})
        assert first.structured_content["token"] == "secret-1"
        assert replay.structured_content["token"] == ""
        assert other.structured_content["token"] == "secret-2"
        assert len(account.links) == 2
    for file in tmp_path.iterdir():
        assert b"secret-1" not in file.read_bytes()


async def test_the_secret_does_not_reach_the_model_or_the_journal() -> None:
    server, assent = build()
    async with GovernedClient(server, trusted=True, asker=lambda question: Answer("accept")) as client:
        result = await client.call_tool("share.link.create", {"collection_id": "c"})
        assert "secret-1" not in result.model_dump_json()
        assert "secret-1" not in repr(client.journal.entries)
        assert client.secrets[0].result.structured_content["token"] == "secret-1"
    await assent.close()


async def test_destructive_tools_ask_each_time_and_are_never_replayed() -> None:
    person = Person(["accept", "accept"])
    async with market(person) as (client, account):
        for _ in range(2):
            await client.call_tool("orders.cancel", {"id": "o-1"})
        assert account.gone == ["o-1", "o-1"]
        assert len(person.asked) == 2


async def test_a_destructive_call_with_an_unknown_end_is_not_repeated() -> None:
    class Failing(list[str]):
        def append(self, what: str) -> None:
            super().append(what)
            raise OSError("the connection to the database broke")

    account = Account(gone=Failing())
    server, assent = build(account=account)
    async with GovernedClient(server, trusted=True, asker=lambda question: Answer("accept")) as client:
        ended = await client.call_tool("collections.delete", {"id": "c"})
    await assent.close()
    assert problem(ended)["code"] == "execute.in_doubt"
    assert account.gone == ["c"]


@pytest.mark.parametrize(
    ("tier", "asked"),
    [("read", False), ("compute", False), ("external_spend", True), ("share_export", True), ("destructive", True)],
)
def test_the_gate_asks_for_money_mutation_and_secrets(tier: str, asked: bool) -> None:
    listed = definitions()
    for name in BY_TIER[tier]:
        assert needs_confirmation(listed[name]) is asked
        tool, bare = listed[name], dict(listed[name])
        bare["_meta"] = {"x-side-effect": tool["_meta"]["x-side-effect"]}
        assert needs_confirmation(bare) is asked, "the vendor's own payload decides the same"


def test_a_policy_that_confirms_only_destructive_tools_misses_shares() -> None:
    share = definitions()["share.link.create"]
    assert share["annotations"]["destructiveHint"] is False
    assert needs_confirmation(share)


async def test_a_scope_is_enforced_whatever_the_hints_say_and_predicted_by_meta() -> None:
    reader = Principal("reader", "agent", scopes=frozenset({"orders:read"}))
    async with market(Person(["accept"]), stdio=reader) as (client, account):
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert (listed["orders.archive.place"].meta or {})["x-required-scope"] == "orders:write"
        refused = await client.call_tool("orders.archive.place", {"item": "x"}, meta={KEY: "k"})
        allowed = await client.call_tool("orders.list", {})
        unread = await client.call_tool("billing.balance", {})
    assert problem(refused)["code"] == "authorize.missing_permissions"
    assert problem(refused)["status"] == 403
    assert not allowed.is_error
    assert unread.is_error, "a read-only hint lets no call through"
    assert account.charges == []


async def test_a_payment_problem_is_a_402_problem() -> None:
    async with market(Person(["accept"])) as (client, account):
        refused = problem(await client.call_tool("billing.topup", {"amount": 20_000}, meta={KEY: "k"}))
    assert (refused["status"], refused["code"]) == (402, "payment_required")
    assert {"type", "title", "status", "detail"} <= refused.keys()
    assert account.charges == []


async def test_the_conversation_estimates_asks_and_places_once() -> None:
    said: list[str] = []
    account = await converse(said.append)
    calls = [line.split("→")[0].split()[1] for line in said if "→" in line]
    assert calls[:3] == ["catalog.items.search", "orders.archive.estimate", "orders.archive.place"]
    assert said[2:4] == ['Agent: "Orders archive place for 240 credits? (y/n)"', "User:  y"]
    assert account.charges == ["order etna-2026-06"]


async def test_a_no_ends_the_conversation_without_a_charge() -> None:
    said: list[str] = []
    account = await converse(said.append, "n")
    assert (account.charges, account.links) == ([], [])
    assert len([line for line in said if "declined" in line]) == 2


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("catalog.tile.render", "an image or a tile"),
        ("catalog.quicklook", "an image or a tile"),
        ("exports.download", "application/zip"),
        ("reports.download", "application/pdf"),
        ("clips.download", "application/octet-stream"),
        ("catalog.search_stream", "a stream of events"),
        ("orders.stream", "a stream of lines"),
        ("admin.users.list", "administration"),
        ("cron.nightly", "'cron'"),
        ("collections.purge", "untyped mutation"),
        ("orders.rush", "untyped mutation"),
    ],
)
def test_operations_without_a_tool_are_listed_with_their_reason(operation: str, reason: str) -> None:
    shown = run("contract", "show", OPERATIONS, "--excluded")
    assert reason in next(line for line in shown.splitlines() if operation in line)


def test_the_reference_shows_hints_scopes_products_and_keeps_typed_mutations() -> None:
    rows = [line for line in run("contract", "docs", OPERATIONS, "--profile", "geopera").splitlines() if "`" in line]
    cells = {row.split("`")[1]: row for row in rows}
    for name, tier in (("orders.archive.place", "external_spend"), ("collections.delete", "destructive")):
        said = tuple(cell.strip(" `") == "true" for cell in cells[name].split("|")[4:8])
        assert said == TIERS[tier], f"{name} is available with its hints"
    scopes, produces = (cell.strip() for cell in cells["orders.archive.place"].split("|")[8:10])
    assert (scopes, produces) == ("`orders:write`", "`order`")
    assert "a stream of lines" in cells["POST /op/orders.stream"], "what has no tool is in the reference too"


def test_every_call_and_refusal_is_recorded_by_one_pipeline(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"

    async def use() -> None:
        async with market(None, store=store) as (client, _):
            await client.call_tool("orders.list", {})
            pending = await client.call_tool("orders.cancel", {"id": "o"})
            assert problem(pending)["code"] == "confirm.approval_pending"

    asyncio.run(use())
    (tmp_path / "assent.yaml").write_text(f"store: {store}\nsecrets: {{directory: {tmp_path}/keys}}\n")
    told = run("audit", "tail", "-c", str(tmp_path / "assent.yaml"))
    assert "orders.list" in told
    assert "confirm.approval_pending" in told


def test_the_pipeline_of_one_call_is_visible_stage_by_stage(tmp_path: Path) -> None:
    contracts, config = ROOT / "examples/geopera/contracts.yaml", tmp_path / "assent.yaml"
    config.write_text(f"store: memory://\nprofile: geopera\ncontracts: ['{contracts}']\n")
    caller = {"id": "scene-agent", "kind": "agent", "scopes": ["*"]}
    request = {"tool": "orders.archive.place", "arguments": {"item": "x"}, "principal": caller}
    (tmp_path / "call.json").write_text(json.dumps(request))
    shown = run("decide", str(tmp_path / "call.json"), "-c", str(config), code=1)
    stages = [line.split()[:2] for line in shown.splitlines() if line.startswith("  ")]
    assert [name for name, _ in stages] == STAGES
    assert dict(stages)["authorize"] == "pass" and dict(stages)["recall"] == "stop", "a spend needs a key"


def test_every_statement_has_a_test() -> None:
    suffixed = {32: ["b"], 51: ["d", "c"]}
    ids = [f"G{n}{s}" for n in range(1, 71) for s in ["", *suffixed.get(n, [])]]
    assert_every_statement_has_a_test("geopera", sys.modules[__name__], ids)
