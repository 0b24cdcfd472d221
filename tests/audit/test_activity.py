"""The activity feed read from the end of the log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from assent.audit import activity
from assent.audit.activity import ActivityFilter, ActivityLine, ActivityReader
from assent.audit.sentences import past_of, phrases, sentence
from assent.core.action_template import ActionTemplate
from assent.core.audit import Entry
from assent.stores.memory import MemoryStore

TEMPLATES = {"delete_order": ActionTemplate.parse("Deleted order {order_id}")}


def facts(tool: str = "delete_order", **more: Any) -> dict[str, Any]:
    return {"tool": tool, "tier": "destructive", "mode": "live", **more}


def who(number: int, tenant: str = "acme") -> dict[str, Any]:
    arguments = {"order_id": f"o-{number}"}
    return {"principal": f"agent-{number % 3}", "kind": "agent", "tenant": tenant, "arguments": arguments}


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    made = MemoryStore()
    yield made
    await made.close()


async def add_calls(store: MemoryStore, many: int, *, apart: int = 0) -> None:
    """Calls whose outcome comes so many calls after their intent, in turns of two tenants."""
    for number in range(many + apart):
        if number < many:
            tenant = "acme" if number % 2 else "other"
            store.append(Entry("intent", 1000.0 + number, facts(claim=f"c{number}"), who(number, tenant)))
        ended = number - apart
        if ended >= 0:
            store.append(Entry("outcome", 1000.0 + number, facts(claim=f"c{ended}", state="succeeded")))
    await store.flush()


async def all_lines(store: MemoryStore, wanted: ActivityFilter, limit: int) -> list[ActivityLine]:
    found: list[ActivityLine] = []
    before: int | None = None
    while True:
        page = await ActivityReader(store, wanted, TEMPLATES, limit).page(before)
        assert len(page.lines) <= limit
        found += page.lines
        if page.next is None:
            return found
        assert before is None or page.next < before, "every page goes on"
        before = page.next


@pytest.mark.parametrize("apart", [0, 1, 40])
@pytest.mark.parametrize("limit", [1, 7, 1000])
async def test_pages_hold_every_call_once_newest_first_with_what_its_intent_said(
    store: MemoryStore, apart: int, limit: int
) -> None:
    await add_calls(store, 60, apart=apart)
    lines = await all_lines(store, ActivityFilter(), limit)
    assert [line.text for line in lines] == [f"Deleted order o-{number}" for number in reversed(range(60))]
    assert [line.who for line in lines] == [f"agent-{number % 3}" for number in reversed(range(60))]


@pytest.mark.parametrize("limit", [1, 7, 1000])
async def test_a_tenant_sees_its_own_calls_and_no_others(store: MemoryStore, limit: int) -> None:
    await add_calls(store, 40, apart=3)
    lines = await all_lines(store, ActivityFilter(tenant="acme"), limit)
    assert [line.text for line in lines] == [
        f"Deleted order o-{number}" for number in reversed(range(40)) if number % 2
    ]


async def test_what_is_not_known_to_be_a_tenants_is_left_out(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "LOOK_BACK", 10)
    await add_calls(store, 400, apart=390)
    everybody = await ActivityReader(store, ActivityFilter(), TEMPLATES, 5).page(None)
    assert [line.who for line in everybody.lines] == [None] * 5
    assert await ActivityReader(store, ActivityFilter(tenant="acme"), TEMPLATES, 5).page(None)
    mine = await ActivityReader(store, ActivityFilter(tenant="acme"), TEMPLATES, 5).page(None)
    assert mine.lines == []


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (ActivityFilter(principal="agent-1"), [1, 4, 7]),
        (ActivityFilter(principal="agent-*"), list(range(9))),
        (ActivityFilter(principal="nobody"), []),
        (ActivityFilter(tool="delete_order"), list(range(9))),
        (ActivityFilter(tool="delete_*"), list(range(9))),
        (ActivityFilter(tool="delete"), []),
        (ActivityFilter(tier="read"), []),
        (ActivityFilter(outcome="done"), list(range(9))),
        (ActivityFilter(outcome="refused"), []),
        (ActivityFilter(open_world=True), []),
        (ActivityFilter(since=1_006_000), [6, 7, 8]),
        (ActivityFilter(until=1_002_000), [0, 1]),
    ],
)
async def test_filters(store: MemoryStore, wanted: ActivityFilter, numbers: list[int]) -> None:
    await add_calls(store, 9)
    lines = await all_lines(store, wanted, 100)
    assert [line.text for line in lines] == [f"Deleted order o-{number}" for number in reversed(numbers)]


async def test_one_page_looks_at_a_bounded_part_and_the_next_goes_on(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "MOST_LOOKED_AT", 256)
    store.append(Entry("denial", 1.0, facts("send_mail", code="guard.denied"), who(1)))
    await add_calls(store, 400)
    page = await ActivityReader(store, ActivityFilter(tool="send_mail"), TEMPLATES, 10).page(None)
    assert page.lines == [] and page.next == 801 - 256
    found = await all_lines(store, ActivityFilter(tool="send_mail"), 10)
    assert [line.text for line in found] == ["Refused to send mail: guard.denied"]


async def test_erased_arguments_are_said_to_be_erased(store: MemoryStore) -> None:
    await add_calls(store, 1)
    await store.erase(0, ["arguments", "principal"], Entry("redaction", 2000.0, {"entry": 0, "fields": ["arguments"]}))
    page = await ActivityReader(store, ActivityFilter(), TEMPLATES, 10).page(None)
    assert [(line.text, line.who) for line in page.lines] == [("Deleted order [erased]", None)]


@pytest.mark.parametrize(
    ("kind", "more", "said"),
    [
        ("outcome", {"state": "succeeded"}, "Deleted order o-1"),
        ("outcome", {"state": "failed", "code": "no_stock"}, "Failed to delete order (order_id: o-1): no_stock"),
        ("outcome", {"state": "failed_no_effect"}, "Failed to delete order (order_id: o-1); nothing was done"),
        ("outcome", {"state": "in_doubt"}, "May or may not have finished: delete order (order_id: o-1)"),
        ("approval", {}, "Asked to delete order (order_id: o-1)"),
        ("denial", {"code": "guard.denied"}, "Refused to delete order (order_id: o-1): guard.denied"),
        ("denial", {"code": "confirm.approval_pending"}, "Waits for approval to delete order (order_id: o-1)"),
        ("decision", {"verdict": "decline"}, "Declined: delete order"),
        ("replay", {}, "Answered again without a second run: delete order (order_id: o-1)"),
        ("rehearsal", {}, "Previewed: delete order (order_id: o-1)"),
        ("intent", {}, "Began to delete order (order_id: o-1)"),
    ],
)
def test_a_sentence_says_what_happened_and_no_more(kind: str, more: dict[str, str], said: str) -> None:
    assert sentence(kind, facts(**more), TEMPLATES["delete_order"], {"order_id": "o-1"}) == said


@pytest.mark.parametrize(
    ("tool", "does", "did"),
    [
        ("delete_order", "delete order", "deleted order"),
        ("orders.delete", "delete orders", "deleted orders"),
        ("sendEmail", "send email", "sent email"),
        ("stop-server", "stop server", "stopped server"),
        ("copy_file", "copy file", "copied file"),
        ("frobnicate", "run frobnicate", "ran frobnicate"),
        ("", "run a tool", "ran a tool"),
    ],
)
def test_what_a_tool_does_and_did_is_read_off_its_name(tool: str, does: str, did: str) -> None:
    assert phrases(tool) == (does, did)


def test_a_word_that_is_no_verb_has_no_past() -> None:
    assert past_of("order_line") is None


async def test_an_observed_call_says_so_in_the_feed(store: MemoryStore) -> None:
    codes = ["confirm.confirmation_required"]
    store.append(Entry("intent", 1.0, facts(claim="c", would=codes), who(1)))
    store.append(Entry("outcome", 2.0, facts(claim="c", state="succeeded")))
    await add_calls(store, 3)
    [line] = await all_lines(store, ActivityFilter(outcome="observed"), 10)
    assert line.text == "Deleted order o-1; would have been refused (observe): confirm.confirmation_required"
