"""What a person and the model read: previews of dry runs, prices, unknown arguments, replays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from assent.core.call import Call
from assent.core.outcome import NOTHING_RAN, Answer, Pause, Refusal
from assent.pipeline.approve import approve
from assent.ports import NotReached
from assent.testing import ANN, World

DELETE = {
    "side_effect": "destructive",
    "dry_run": {"mode": "required"},
    "input": {"type": "object", "properties": {"folder": {"type": "string"}, "dryRun": {"type": "boolean"}}},
}


class TextUpstream:
    """An upstream whose tools answer in text."""

    def __init__(self, texts: list[str]) -> None:
        self.result = {"content": [{"type": "text", "text": text} for text in texts]}

    async def run(self, call: Call, key: str | None) -> dict[str, Any]:
        return self.result

    async def read(self, tool: str, arguments: Mapping[str, Any], call: Call) -> dict[str, Any]:
        raise NotReached(tool)


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (['{"files": 3, "warnings": []}'], ["  files: 3"]),
        (["Would delete 3 files"], ['  result: "Would delete 3 files"']),
        (["[1, 2]"], ["  result[0]: 1", "  result[1]: 2"]),
        (["a.txt", "b.txt"], ['  result[0]: "a.txt"', '  result[1]: "b.txt"']),
        (['{"a": 1, "a": 2}'], ['  result: "{\\"a\\": 1, \\"a\\": 2}"']),
    ],
)
async def test_a_dry_run_answered_in_text_is_shown_to_the_approver(texts: list[str], lines: list[str]) -> None:
    world = World({"delete": DELETE})
    world.but(upstream=TextUpstream(texts))
    rehearsed = await world.call("delete", {"folder": "drafts", "dryRun": True})
    assert isinstance(rehearsed, Answer)
    assert [block["text"] for block in rehearsed.result["content"]][: len(texts)] == texts
    asked = await world.call("delete", {"folder": "drafts"}, can_ask=True)
    assert isinstance(asked, Pause)
    shown = asked.approval.text.partition("Preview, as the tool reported it:\n")[2].splitlines()
    assert shown == lines, "nothing empty is shown, and nothing comes first that the tool did not report"


@pytest.mark.parametrize(
    ("estimate", "price"),
    [
        ({"price": 12, "currency": "EUR"}, "12 EUR"),
        ({"price": 12, "unit": "tiles"}, "12 tiles"),
        ({"price": 12}, "12"),
        ({"price": 12, "currency": "x" * 50}, "12"),
    ],
)
async def test_a_price_has_the_unit_that_the_estimate_states(estimate: dict[str, Any], price: str) -> None:
    buy = {"side_effect": "external_spend", "estimate": {"tool": "quote", "amount": "/price"}}
    world = World({"buy": buy, "quote": {"side_effect": "read"}}, {"quote": lambda _: estimate})
    asked = await world.call("buy", {"item": "map"}, can_ask=True)
    assert isinstance(asked, Pause)
    assert f"Price: {price}" in asked.approval.text.splitlines()


async def test_an_argument_that_the_tool_does_not_have_is_marked() -> None:
    open_schema = {"type": "object", "properties": {"id": {"type": "string"}}, "patternProperties": {"^x-": {}}}
    world = World({"wipe": {"side_effect": "destructive", "input": open_schema}})
    asked = await world.call("wipe", {"id": "7", "x-note": "a", "backup_first": True}, can_ask=True)
    assert isinstance(asked, Pause) and asked.approval.details is not None
    warning = 'the tool does not list the argument "backup_first". It may ignore it.'
    assert [line for line in asked.approval.text.splitlines() if "does not list" in line] == [f"Warning: {warning}"]
    assert asked.approval.details["warnings"] == [warning]


async def test_an_argument_that_a_closed_schema_does_not_have_is_refused() -> None:
    closed = {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": False}
    world = World({"wipe": {"side_effect": "destructive", "input": closed}})
    refused = await world.call("wipe", {"id": "7", "backup_first": True})
    assert isinstance(refused, Refusal) and refused.code == "validate.arguments_invalid"


async def test_a_replay_says_last_that_nothing_ran_again() -> None:
    world = World({"pay": {"side_effect": "external_spend", "risk": "medium"}}, {"pay": lambda _: {"paid": 5}})
    first = await world.call("pay", {"to": "ann"}, key="k")
    replay = await world.call("pay", {"to": "ann"}, key="k")
    assert isinstance(first, Answer) and isinstance(replay, Answer)
    assert NOTHING_RAN not in first.on_wire()["content"]
    assert replay.on_wire()["content"] == [*first.on_wire()["content"], NOTHING_RAN]
    assert replay.on_wire()["structuredContent"] == first.on_wire()["structuredContent"] == {"paid": 5}


async def test_a_call_whose_approval_an_equal_call_used_up_meanwhile_asks_nobody() -> None:
    """The third call looks the key up before the second one claims it, and looks for the approval after that."""
    world = World({"wipe": {"side_effect": "destructive"}})
    asked = await world.call("wipe", {"id": 7}, key="k")
    assert isinstance(asked, Refusal)
    await approve(ANN, asked.facts["approval"], "approve", world.ports)
    store, looked = world.store, False
    approval_for = store.approval_for

    async def overtaken(binding: str, now: float) -> Any:
        nonlocal looked
        if not looked:
            looked = True
            assert isinstance(await world.call("wipe", {"id": 7}, key="k"), Answer)
        return await approval_for(binding, now)

    world.store.approval_for = overtaken  # type: ignore[method-assign]
    late = await world.call("wipe", {"id": 7}, key="k")
    assert isinstance(late, Answer) and late.replayed
    assert len(await store.approvals()) == 1
    assert len(world.upstream.effects) == 1
