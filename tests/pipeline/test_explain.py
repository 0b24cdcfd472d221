"""Does an explanation say what would happen, and leave no trace?"""

from __future__ import annotations

import copy
from copy import deepcopy
from pathlib import Path
from typing import Any

from assent.core.call import Request
from assent.core.outcome import Answer, Outcome
from assent.pipeline.approve import approve
from assent.pipeline.explain import STAGES, Explanation, explain
from assent.testing import AGENT, ANN, World
from support.decisions import WorldHarness, load_cases, play
from support.decisions.model import WorldSettings

CASES = load_cases([Path(__file__).parent.parent / "decisions"])


def unforeseeable(scene: WorldSettings) -> bool:
    """What depends on a write that fails or on somebody faster cannot be known without writing."""
    return scene.approval_overtaken or bool(set(scene.store_fails) - {"recall"})


class ExplainingTable(WorldHarness):
    """Explains every request just before it is made, and compares."""

    def __init__(self, contracts: Any, scene: WorldSettings, scripted: Any) -> None:
        super().__init__(contracts, scene, scripted)
        self._scene = scene

    async def change(self, contracts: Any, scene: WorldSettings) -> None:
        self._scene = scene
        await super().change(contracts, scene)

    async def say(self, request: Request) -> Outcome:
        before = self._traces()
        told = await explain(request, self.ports)
        assert self._traces() == before
        if told.outcome == "unknown":
            lines = copy.deepcopy(self.scripted._lines)
            told = await explain(request, self.ports, reads=True)
            self.scripted._lines, self.scripted.effects[:] = lines, before["effects"]
            self._world.upstream.reads[:] = before["reads"]
            assert self._traces() == before
        outcome = await super().say(request)
        if not unforeseeable(self._scene):
            assert agree(told, outcome), (told.as_json(), outcome)
        return outcome

    def _traces(self) -> dict[str, Any]:
        memory, upstream = self._memory, self._world.upstream
        return {
            "records": deepcopy(memory._records),
            "effects": list(self.scripted.effects),
            "calls": list(upstream.effects),
            "previews": list(upstream.previews),
            "reads": list(upstream.reads),
        }


def agree(told: Explanation, outcome: Outcome) -> bool:
    if told.outcome != "answer":
        return told.outcome != "unknown" and getattr(outcome, "code", None) == told.code
    if isinstance(outcome, Answer):
        return not (told.runs and outcome.replayed)
    # From the tool on, the tool itself decides, and guards look at its result.
    from_tool = ("execute.", "rehearse.failed", "validate.arguments_", "guard.result_denied", "guard.mask_misfit")
    return told.runs and outcome.code.startswith(from_tool)


async def test_an_explanation_agrees_with_what_happens_and_leaves_no_trace() -> None:
    wrong: dict[str, Any] = {}
    for case in CASES:
        try:
            differs: Any = await play(case, ExplainingTable)
        except AssertionError as error:
            differs = error
        if differs:
            wrong[f"{case.file}:{case.line} {case.name}"] = differs
    assert wrong == {}


DELETE = {"delete": {"side_effect": "destructive", "permissions": ["data:delete"]}}


async def test_every_stage_says_in_order_what_it_found() -> None:
    told = await explain(Request("delete", {"id": 7}, AGENT, can_ask=True), World(DELETE).ports)
    assert [note.stage for note in told.stages] == list(STAGES)
    assert [note.verdict for note in told.stages] == ["pass"] * 9 + ["stop"] + ["not reached"] * 2
    assert (told.outcome, told.code) == ("pause", "confirm.confirmation_required")
    said = {note.stage: note.reason for note in told.stages}
    assert said["authenticate"] == "agent agent of tenant local, live"
    assert said["authorize"] == "has data:delete"
    assert said["confirm"].startswith("confirm.confirmation_required")


async def test_a_call_that_would_run_is_explained_to_its_end_and_not_run() -> None:
    world = World({"note": {"side_effect": "write"}})
    told = await explain(Request("note", {}, AGENT, ("key",)), world.ports)
    assert (told.outcome, told.runs) == ("answer", True)
    assert {note.verdict for note in told.stages} == {"pass"}
    assert world.upstream.effects == []
    assert await world.store.claims() == []
    assert await world.store.entries() == []


async def test_an_operator_reads_why_a_tool_is_not_there() -> None:
    world = World({"gone": {"side_effect": "read", "visibility": "hidden"}})
    hidden = await explain(Request("gone", {}, AGENT), world.ports)
    unknown = await explain(Request("none", {}, AGENT), world.ports)
    assert hidden.code == unknown.code == "discover.unknown_tool"
    assert hidden.stages[1].reason == "its contract hides it from all callers"
    assert unknown.stages[1].reason == "no upstream has a tool of this name"


async def test_when_observing_each_stage_says_what_would_stop() -> None:
    world = World(
        {"buy": {"side_effect": "external_spend", "step_up": {"acr": ["mfa"]}, "idempotency": {"key": "required"}}},
        mode="observe",
    )
    told = await explain(Request("buy", {}, AGENT), world.ports)
    assert told.outcome == "answer"
    assert told.would == ("recall.key_required", "step_up.required", "confirm.confirmation_required")
    stopping = {note.stage for note in told.stages if note.verdict == "would stop"}
    assert stopping == {"recall", "confirm", "step_up"}


async def test_what_hangs_on_another_tools_answer_is_unknown_until_it_may_be_asked() -> None:
    contracts = {
        "buy": {"side_effect": "external_spend", "estimate": {"tool": "quote", "amount": "/price"}},
        "quote": {"side_effect": "read"},
    }
    world = World(contracts, {"quote": lambda _: {"price": 3}})
    request = Request("buy", {}, AGENT, ("key",), can_ask=True)
    told = await explain(request, world.ports)
    assert told.outcome == "unknown"
    assert told.stages[list(STAGES).index("afford")].reason == "it depends on the result of quote, which was not called"
    assert world.upstream.reads == []
    assert (await explain(request, world.ports, reads=True)).code == "confirm.confirmation_required"
    assert world.upstream.reads == [("quote", {})]


async def test_an_explanation_asks_nobody_and_names_no_approval_that_is_not_there() -> None:
    world = World(DELETE)
    told = await explain(Request("delete", {}, AGENT), world.ports)
    assert told.code == "confirm.approval_pending"
    assert await world.store.approvals() == []
    assert "id-" not in str(told.as_json())


async def test_a_standing_approval_is_found_but_not_used_up() -> None:
    world = World({"delete": {"side_effect": "destructive", "confirmation": {"by": "approver"}}})
    await world.call("delete")
    [asked] = await world.store.approvals()
    await approve(ANN, asked.id, "approve", world.ports)
    for _ in range(3):
        assert (await explain(Request("delete", None, AGENT), world.ports)).runs
    assert isinstance(await world.call("delete"), Answer)


async def test_an_explanation_can_be_printed_as_json() -> None:
    told = (await explain(Request("delete", [], AGENT), World(DELETE).ports)).as_json()
    assert told["outcome"] == "refusal"
    assert told["code"] == "validate.malformed"
    assert told["stages"][3] == {
        "stage": "validate",
        "verdict": "stop",
        "reason": "validate.malformed: The arguments must be an object, not an array.",
    }
    assert told["stages"][4] == {"stage": "recall", "verdict": "not reached", "reason": ""}


async def test_an_explanation_can_be_printed_for_people() -> None:
    told = (await explain(Request("none", {}, AGENT), World(DELETE).ports)).as_text()
    assert told.splitlines()[:4] == [
        "refusal: discover.unknown_tool",
        "  authenticate pass        agent agent of tenant local, live",
        "  discover     stop        no upstream has a tool of this name",
        "  authorize    not reached",
    ]
