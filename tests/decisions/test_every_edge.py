"""The decision cases hold for the pipeline itself and through every edge that runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from assent.contract.tiers import Risk, Tier
from assent.core.principal import KINDS
from assent.core.problems import CATALOGUE
from support.decisions import Case, Harness, load_cases, play
from support.decisions.edges import EDGES, OTHERWISE, opened, reason

CASES = load_cases([Path(__file__).parent])
FEWEST = {"http": 550, "wrap": 540, "client": 470, **{edge: 545 for edge in EDGES if edge.startswith(("sdk", "fast"))}}


async def differences(case: Case, open_table: Callable[..., Harness], *, tolerant: bool) -> list[str]:
    """What differs from the case; where it is known to differ, the edge may be unable to send it at all."""
    try:
        async with asyncio.timeout(60):
            return await play(case, open_table)
    except Exception as error:
        if not tolerant:
            raise
        return [repr(error)]


@pytest.mark.parametrize("edge", EDGES)
async def test_an_edge_decides_as_written_unless_it_says_why_not(edge: str, tmp_path: Path) -> None:
    wrong: dict[str, object] = {}
    async with opened(edge, tmp_path) as open_table:
        for case in CASES:
            differs = await differences(case, open_table, tolerant=reason(edge, case) is not None)
            if reason(edge, case) is None and differs:
                wrong[f"{case.file}:{case.line} {case.name}"] = differs
            elif reason(edge, case) is not None and not differs:
                wrong[f"{case.file}:{case.line} {case.name}"] = "it holds here: remove it from OTHERWISE"
    assert wrong == {}


def test_nearly_every_case_runs_through_every_edge_and_each_exception_has_a_reason() -> None:
    written = {edge: sum(reason(edge, case) is None for case in CASES) for edge in EDGES}
    assert {edge: count for edge, count in written.items() if count < FEWEST.get(edge, len(CASES))} == {}
    reasons = [why for reasons in OTHERWISE.values() for why in reasons]
    assert all(len(why.split()) > 5 for why in reasons)


def test_every_refusal_that_a_call_or_an_approval_can_meet_is_written_down() -> None:
    written = {case.expect.refusal for case in CASES if case.expect.refusal}
    written |= {"confirm.confirmation_required" for case in CASES if case.expect.pause}
    # Tasks are refused before a call is governed; only HTTP has headers; stop switches, accounts at upstreams, flow
    # control and calls that are too large to show have tests of their own.
    beside = {"validate.task_unsupported", "validate.header_mismatch", "authorize.stopped"}
    beside |= {"guard.not_connected", "guard.flow_untrusted", "confirm.too_large"}
    # Before a call is governed: the identity provider and the start. After it: the sandbox of a server.
    beside |= {"authenticate.provider_down", "discover.not_ready", "execute.confined"}
    assert written == {code for code in CATALOGUE if not code.startswith("settle.")} - beside


def test_every_tier_at_every_risk_for_every_kind_of_principal_is_written_down() -> None:
    seen = {
        (case.tools["tool"]["side_effect"], case.tools["tool"].get("risk"), case.act.by)
        for case in CASES
        if Path(case.file).stem == "matrix"
    }
    assert {(tier.value, risk.value, kind) for tier in Tier for risk in Risk for kind in KINDS} <= seen
