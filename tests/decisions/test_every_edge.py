"""Do the decisions written down hold, for the sentence itself and through every edge that says it?"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from assent.contract.tiers import Risk, Tier
from assent.core.principal import KINDS
from assent.core.refusals import CATALOGUE
from assent.testing.decisions import Case, load_cases, play
from support.library_harness import EDGE, FastMCPTable, LibraryTable

CASES = load_cases([Path(__file__).parents[1] / "decisions"])


def name_of(case: Case) -> str:
    return f"{Path(case.file).stem}: {case.name}"


@pytest.mark.parametrize("case", CASES, ids=name_of)
async def test_the_sentence_decides_as_written(case: Case) -> None:
    assert await play(case) == []


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("case", [case for case in CASES if EDGE not in case.not_through], ids=name_of)
async def test_a_server_of_the_sdk_decides_as_written(case: Case, era: str) -> None:
    assert await play(case, partial(LibraryTable, era=era)) == []


@pytest.mark.parametrize("case", [case for case in CASES if EDGE not in case.not_through], ids=name_of)
async def test_a_server_of_fastmcp_decides_as_written(case: Case) -> None:
    era = "legacy" if CASES.index(case) % 2 else "auto"
    assert await play(case, partial(FastMCPTable, era=era)) == []


def test_every_refusal_that_a_call_or_an_approval_can_meet_is_written_down() -> None:
    written = {case.expect.refusal for case in CASES if case.expect.refusal}
    written |= {"confirm.confirmation_required" for case in CASES if case.expect.pause}
    # Tasks are refused before a call is governed; stop switches have tests of their own (test_stop_switches.py).
    beside = {"validate.task_unsupported", "authorize.stopped"}
    assert written == {code for code in CATALOGUE if not code.startswith("settle.")} - beside


def test_every_tier_at_every_risk_for_every_kind_of_principal_is_written_down() -> None:
    seen = {
        (case.tools["tool"]["side_effect"], case.tools["tool"].get("risk"), case.act.by)
        for case in CASES
        if Path(case.file).stem == "matrix"
    }
    assert {(tier.value, risk.value, kind) for tier in Tier for risk in Risk for kind in KINDS} <= seen


def test_what_cannot_be_said_through_an_edge_is_little_and_has_its_reason() -> None:
    unsaid = {case.name: case.not_through[EDGE] for case in CASES if EDGE in case.not_through}
    assert len(unsaid) < len(CASES) / 20
    assert all(len(reason.split()) > 3 for reason in unsaid.values())
