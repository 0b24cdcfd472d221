"""A call that needs a fresher login says what its caller can do, and no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assent.core.outcome import Refusal
from assent.testing import ANN, World


@pytest.mark.parametrize(("bearer", "says"), [(True, "must log in again"), (False, "has no login to renew")])
async def test_only_a_caller_with_a_token_is_told_to_log_in_again(bearer: bool, says: str) -> None:
    world = World({"look": {"side_effect": "read", "step_up": {"max_age": "5m"}}})
    outcome = await world.call("look", {}, by=replace(ANN, bearer=bearer))
    assert isinstance(outcome, Refusal) and outcome.code == "step_up.required"
    problem = outcome.problem()
    assert says in problem["remedy"]
    assert "challenge" not in problem["remedy"]
    assert "300 seconds" in problem["detail"]
