"""Calls that wait for a person, or are refused, and are as large as a request may be: memory, store, and the screen."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assent.core.audit import MOST_UNRUN
from assent.core.outcome import Pause, Refusal
from assent.core.problems import problem_in
from assent.core.shown_arguments import MOST_SHOWN
from assent.stores.open import open_store
from assent.testing import World
from support.gateway.gateways import post, rpc, shop_gateway

LARGE = 3_500_000
MOST_GROWTH = 120_000_000
"""Bytes by which a gateway may grow under 36 calls of 3.5 MB; one such call passes through it in several copies."""
MOST_KEPT = 1_000_000
"""Bytes that a call may keep in memory for its question: the text and its parts."""


@contextmanager
def counted_memory() -> Iterator[list[int]]:
    """What stays allocated, without help from the garbage collector."""
    grown = [0]
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        yield grown
        grown[0] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()


def resident() -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("this system does not say how much memory a process has")
    return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmRSS"))


@pytest.mark.parametrize("filler", ["x", "\u200b", "\u0430", '"', "a@b.example, "])
async def test_thirty_six_large_calls_to_a_tool_that_asks_do_not_fill_the_memory(filler: str, tmp_path: Path) -> None:
    size = LARGE // (6 if not filler.isascii() else len(filler) + 1)
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        await post(url, rpc("tools/list"))
        before = resident()
        codes = []
        for number in range(36 if filler == "x" else 12):
            call = rpc("tools/call", name="delete_order", arguments={"order_id": str(number) + filler * size})
            codes.append(problem_in((await post(url, call)).json()["result"])["code"])
        grown = resident() - before
        kept = sum(len(one.text) for one in await gateway_app.store.approvals())
    waiting = [code for code in codes if code == "confirm.approval_pending"]
    assert len(waiting) == min(20, len(codes))
    assert set(codes) - {"confirm.approval_pending"} <= {"confirm.too_many_pending"}
    assert grown < MOST_GROWTH
    assert kept < len(waiting) * MOST_KEPT
    assert sum(file.stat().st_size for file in tmp_path.glob("assent.db*")) < 36 * MOST_KEPT // 4


async def test_refused_questions_hold_nothing_that_a_cycle_keeps_alive() -> None:
    world = World({"send": {"side_effect": "destructive"}})
    world.but(most_pending=1)
    await world.call("send", {"first": True})
    with counted_memory() as grown:
        for number in range(20):
            ended = await world.call("send", {"body": str(number) + "x" * LARGE})
            assert isinstance(ended, Refusal) and ended.code == "confirm.too_many_pending"
        del ended
    assert grown[0] < LARGE


@pytest.mark.parametrize(
    ("contract", "code"),
    [
        ({"side_effect": "write", "idempotency": {"key": "required"}}, "recall.key_required"),
        ({"side_effect": "write", "input": {"type": "object", "required": ["id"]}}, "validate.arguments_invalid"),
        ({"side_effect": "destructive", "confirmation": {"by": "approver"}}, "confirm.approval_pending"),
    ],
)
async def test_a_kept_refusal_keeps_no_frame_of_the_call(contract: dict[str, Any], code: str) -> None:
    world = World({"send": contract})
    with counted_memory() as grown:
        ended = [await world.call("send", {"body": "x" * LARGE}) for _ in range(10)]
    assert [one.code for one in ended if isinstance(one, Refusal)] == [code] * 10
    assert all(one.__traceback__ is None and one.__context__ is None for one in ended if isinstance(one, Refusal))
    assert grown[0] < 2 * LARGE


async def test_a_question_that_is_refused_is_not_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    from assent.pipeline import confirm

    world = World({"send": {"side_effect": "destructive"}})
    world.but(most_pending=1)
    await world.call("send", {"first": True})
    monkeypatch.setattr(confirm, "question", None)
    refused = await world.call("send", {"body": "x"})
    assert isinstance(refused, Refusal) and refused.code == "confirm.too_many_pending"


async def test_refused_calls_keep_few_bytes_in_the_store(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/assent.db")
    world = World({"send": {"side_effect": "destructive"}}, store=store)
    world.but(most_pending=1)
    for number in range(50):
        await world.call("send", {"body": str(number) + "x" * 100_000})
    await store.flush()
    entries = await store.entries()
    await store.close()
    denials = [one.entry for one in entries if one.entry.kind == "denial"]
    assert len(denials) == 50
    assert all("arguments" not in one.values and one.values["arguments_bytes"] > MOST_UNRUN for one in denials)
    assert all(len(one.values["call"]) == 64 for one in denials), "the digest proves what the arguments were"
    assert sum(file.stat().st_size for file in tmp_path.glob("assent.db*")) < MOST_KEPT


async def test_a_call_that_runs_keeps_all_its_arguments() -> None:
    world = World({"note": {"side_effect": "write"}})
    body = "x" * (MOST_UNRUN * 4)
    await world.call("note", {"body": body})
    intent = next(one.entry for one in await world.store.entries() if one.entry.kind == "intent")
    assert intent.values["arguments"] == {"body": body}


async def test_a_text_that_is_not_shown_whole_is_named_before_the_arguments() -> None:
    world = World({"send": {"side_effect": "destructive"}})
    asked = await world.call("send", {"body": "x" * 300_000, "to": "ann@example.com"}, can_ask=True)
    assert isinstance(asked, Pause)
    lines = asked.approval.text.splitlines()
    warning = "Warning: body of the arguments: 296000 more characters are not shown."
    assert lines.index(warning) < lines.index("Arguments, as sent:")
    assert '  to: "ann@example.com"' in lines, "short values are always shown"
    assert asked.approval.details is not None
    assert warning.removeprefix("Warning: ") in asked.approval.details["warnings"]
    assert len(asked.approval.text) < MOST_SHOWN


async def test_other_arguments_behind_the_cut_need_another_approval() -> None:
    world = World({"send": {"side_effect": "destructive"}})
    first = await world.call("send", {"body": "x" * 300_000 + "ann"}, can_ask=True)
    second = await world.call("send", {"body": "x" * 300_000 + "eve"}, can_ask=True)
    assert isinstance(first, Pause) and isinstance(second, Pause)
    assert first.approval.text == second.approval.text
    assert first.approval.binding != second.approval.binding


async def test_a_call_with_more_values_than_a_person_can_check_is_refused() -> None:
    """Nothing is left out of sight among thousands of values: the call must be split."""
    world = World({"send": {"side_effect": "destructive"}})
    refused = await world.call("send", {"to": [f"person-{number}@example.com" for number in range(20_000)]})
    assert isinstance(refused, Refusal) and refused.code == "confirm.too_large"
    assert await world.store.approvals() == []
