"""The plan of a call decides as all stages do, and every stage states when it can object."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import assent.pipeline
from assent.contract.reader import read_contract
from assent.core.call import Request
from assent.core.outcome import Outcome
from assent.core.principal import Principal, Rights
from assent.core.tool import compile_tool
from assent.pipeline.plan import STAGES, Plan, plan_of
from assent.ports import Rules
from assent.rules.flow.control import FlowControl
from assent.rules.guards import build_guard
from support.decisions import load_cases, play
from support.decisions.harness import WorldHarness
from support.decisions.plan_twins import Game, Run, by_plan, through_all_stages
from support.suite.soak import Told

CASES = load_cases([Path(__file__).parents[1] / "decisions"])
CALLS = 20
AGENT = Principal("agent", "agent")


def test_every_stage_states_when_it_can_object_and_has_a_file_of_its_name() -> None:
    govern = (Path(assent.pipeline.__path__[0]) / "govern.py").read_text()
    imported = set(re.findall(r"from assent\.pipeline\.(\w+) import (?:\w+, )*\1\b", govern)) - {"record"}
    assert imported | {"authenticate"} == STAGES.keys()
    for name, stage in STAGES.items():
        assert stage.__name__ == f"assent.pipeline.{name}"  # type: ignore[attr-defined]
        assert stage.applies.__doc__
    tool = compile_tool(read_contract("look", {"side_effect": "read"}))
    optional = {
        name for name, stage in STAGES.items() if not stage.applies(tool, Rights("agent", "live", False), Rules())
    }
    assert optional == set(Plan._fields)


@pytest.mark.parametrize(
    ("contract", "rules", "planned"),
    [
        ({"side_effect": "read"}, Rules(), set()),
        ({"side_effect": "write"}, Rules(), {"claim"}),
        ({"side_effect": "write", "dry_run": {"mode": "offered"}}, Rules(), {"rehearse", "claim"}),
        ({"side_effect": "destructive"}, Rules(), {"confirm", "claim"}),
        ({"side_effect": "read"}, Rules(flow=FlowControl()), {"guard", "confirm", "claim"}),
        (
            {"side_effect": "read"},
            Rules(guards=(build_guard({"rule": "bounds", "fields": ["n"], "most": 1, "match": {"tool": "other"}}),)),
            set(),
        ),
    ],
)
def test_a_plan_has_the_stages_that_can_object_and_is_compiled_once(
    contract: Any, rules: Rules, planned: set[str]
) -> None:
    tool = compile_tool(read_contract("act", contract))
    plan = plan_of(tool, AGENT, rules)
    assert {name for name, is_in in plan._asdict().items() if is_in} == planned
    assert plan_of(tool, Principal("another", "agent"), rules) is plan
    assert plan_of(tool, AGENT, rules._replace(connections=frozenset({""}))).afford


class Recorded(WorldHarness):
    """Plays a case by the plan or through all stages, and keeps what came of it."""

    run: Run
    kept: list[Any]

    async def say(self, request: Request) -> Outcome:
        outcome: Outcome = await self.run(request, self.ports)  # type: ignore[call-arg, arg-type]
        return outcome

    async def close(self) -> None:
        await super().close()
        await asyncio.sleep(0)
        store = self._memory
        self.kept += [
            await store.claims(limit=1000),
            await store.approvals(limit=1000),
            [one.entry for one in await store.entries(limit=1000)],
            self.scripted.effects,
        ]


async def test_every_decision_case_ends_alike_by_the_plan_and_through_all_stages() -> None:
    for case in CASES:
        ends: list[Any] = []
        for run in (by_plan, through_all_stages):
            table = type("Table", (Recorded,), {"run": staticmethod(run), "kept": []})
            wrong = await play(case, table)
            assert wrong == [], case.name
            ends.append(table.kept)
        assert ends[0] == ends[1], case.name


async def test_random_calls_end_alike_by_the_plan_and_through_all_stages(
    request: pytest.FixtureRequest, told: Told
) -> None:
    games = 1000 if request.config.getoption("torture") else 60
    for seed in range(games):
        assert (seed, await Game(seed).play(CALLS)) == (seed, None)
    told(f"plan: {games * CALLS} random calls in {games} configurations end alike")


@pytest.mark.parametrize("stage", Plan._fields)
async def test_a_stage_that_is_left_out_although_it_can_object_is_noticed(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STAGES[stage], "applies", lambda *_: False)
    for seed in range(40):
        if await Game(seed).play(CALLS) is not None:
            return
    pytest.fail(f"random calls never meet {stage}")
