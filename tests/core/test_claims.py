"""A claim is read as what it must mean: an ended lease is a doubt, never another try."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.claims import FINISHED, ClaimRecord, State, claim_id, claim_name
from assent.core.principal import Principal
from support.decisions.calls import call_of
from support.suite.hypothesis_profile import thorough

LEASE, EXPIRES, VALID = 1015.0, 2000.0, 1500.0
RECORD = ClaimRecord("id", "acme", "agent", "tool", "key", "mark", "sha256:0", State.STARTED, 1, LEASE, 1000.0, EXPIRES)


@pytest.mark.parametrize("state", [State.STARTED, State.SUSPENDED])
@pytest.mark.parametrize(("now", "alive"), [(1000.0, True), (LEASE - 0.001, True), (LEASE, False), (LEASE + 1, False)])
def test_an_expired_lease_means_in_doubt(state: State, now: float, alive: bool) -> None:
    assert RECORD._replace(state=state).state_at(now) is (state if alive else State.IN_DOUBT)


@pytest.mark.parametrize("state", [*sorted(FINISHED), State.IN_DOUBT])
def test_an_end_stays_an_end(state: State) -> None:
    ended = RECORD._replace(state=state)
    assert [ended.state_at(now) for now in (0.0, LEASE, 1e12)] == [state] * 3


@pytest.mark.parametrize(("now", "gone"), [(EXPIRES - 0.001, False), (EXPIRES, True), (EXPIRES + 1, True)])
def test_past_its_retention_an_answer_is_a_tombstone(now: float, gone: bool) -> None:
    assert RECORD.is_tombstone(now) is gone


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize(("now", "past"), [(VALID - 0.001, False), (VALID, True), (VALID + 1, True)])
def test_only_a_finished_claim_grows_stale(state: State, now: float, past: bool) -> None:
    assert RECORD._replace(state=state, valid_until=VALID).is_stale(now) is (past and state in FINISHED)
    assert RECORD._replace(state=state, valid_until=None).is_stale(now) is False


PARTS = st.tuples(*[st.text(max_size=4)] * 5)


@thorough
@given(PARTS, PARTS)
def test_a_claims_name_is_one_for_all_its_parts_together(some: Any, others: Any) -> None:
    assert (claim_id(*some) == claim_id(*others)) is (some == others)


def test_no_part_of_a_claims_name_can_lean_over_into_the_next() -> None:
    assert claim_id("t", "p", "toolk", "key", "x") != claim_id("t", "p", "tool", "kkey", "x")


def test_a_call_is_remembered_by_its_key_per_tenant_principal_and_tool() -> None:
    names = {
        claim_name(call_of(key="k")),
        claim_name(call_of({"other": 1}, key="k")),
        claim_name(call_of(key="K")),
        claim_name(call_of(key="k", name="other")),
        claim_name(call_of(key="k", by=Principal("b", "agent"))),
        claim_name(call_of(key="k", by=Principal("agent", "agent", tenant="other"))),
    }
    assert None not in names
    assert len(names) == 5


def test_a_call_without_a_key_or_natural_arguments_is_not_remembered() -> None:
    assert claim_name(call_of()) is None


def test_a_natural_call_is_remembered_by_the_arguments_that_name_its_result() -> None:
    natural = {"natural": {"by": ["fileId", "expiresAt"]}}
    first = claim_name(call_of({"fileId": "f", "expiresAt": 1, "note": "a"}, key="k1", **natural))
    again = claim_name(call_of({"expiresAt": 1, "fileId": "f", "note": "b"}, key="k2", **natural))
    other = claim_name(call_of({"fileId": "f", "expiresAt": 2}, **natural))
    absent = claim_name(call_of({"fileId": "f"}, **natural))
    assert first == again
    assert len({first, other, absent}) == 3


def test_a_natural_name_and_a_key_never_meet() -> None:
    natural = claim_name(call_of({"fileId": "f"}, natural={"by": ["fileId"]}))
    assert natural != claim_name(call_of({"fileId": "f"}, key=str(natural)))
