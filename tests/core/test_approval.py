"""An approval stands where its answers, its uses and the clock put it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.approval import Approval, ApprovalState, Decision, binding_of
from support.suite.hypothesis_profile import thorough

ASKED, EXPIRES, LASTS = 1000.0, 1900.0, 600.0


def approval(**changes: Any) -> Approval:
    plain = Approval("id", "binding", "acme", "agent", "tool", "user", 1, "text", {}, ASKED, EXPIRES, LASTS)
    return replace(plain, **changes)


def yes(person: str, at: float) -> Decision:
    return Decision(person, "approve", at)


def no(person: str, at: float) -> Decision:
    return Decision(person, "decline", at)


@pytest.mark.parametrize(
    ("now", "state"),
    [(ASKED, "pending"), (EXPIRES - 0.001, "pending"), (EXPIRES, "expired"), (EXPIRES + 1, "expired")],
)
def test_no_answer_in_time_is_a_no(now: float, state: str) -> None:
    assert approval().state_at(now) == state


@pytest.mark.parametrize(
    ("now", "state"),
    [
        (1800.0, "approved"),
        (EXPIRES, "approved"),
        (1800 + LASTS - 0.001, "approved"),
        (1800 + LASTS, "expired"),
    ],
)
def test_a_yes_can_be_used_for_its_own_time_even_past_the_questions(now: float, state: str) -> None:
    assert approval().with_decision(yes("ann", 1800.0)).state_at(now) == state


@pytest.mark.parametrize(("now", "state"), [(1100.0, "declined"), (EXPIRES - 0.001, "declined"), (EXPIRES, "expired")])
def test_a_no_stands_until_the_question_would_have_ended(now: float, state: str) -> None:
    assert approval().with_decision(no("ann", 1050.0)).state_at(now) == state


def test_a_used_approval_is_consumed_for_ever() -> None:
    used = replace(approval().with_decision(yes("ann", 1100.0)), used=1)
    assert [used.state_at(now) for now in (1100.0, EXPIRES, 1e12)] == ["consumed"] * 3


def test_an_approval_for_several_uses_lasts_until_the_last() -> None:
    given = approval(uses=2).with_decision(yes("ann", 1100.0))
    assert [replace(given, used=used).state_at(1200.0) for used in (0, 1, 2)] == ["approved", "approved", "consumed"]


def test_a_quorum_needs_that_many_different_persons() -> None:
    asked = approval(by="approver", quorum=2)
    once = asked.with_decision(yes("ann", 1100.0))
    assert once.state_at(1101.0) is ApprovalState.PENDING
    assert once.with_decision(yes("ann", 1200.0)).state_at(1201.0) is ApprovalState.PENDING
    twice = once.with_decision(yes("bob", 1300.0))
    assert twice.state_at(1301.0) is ApprovalState.APPROVED
    assert twice.approved_at == 1300.0


@pytest.mark.parametrize("other", ["operator:bob", "https://login.example|bob"])
def test_two_names_of_one_person_are_one_voice(other: str) -> None:
    asked = approval(by="approver", quorum=2).with_decision(yes("bob", 1100.0)).with_decision(yes(other, 1200.0))
    assert asked.state_at(1300.0) is ApprovalState.PENDING
    assert asked.with_decision(yes("ann", 1250.0)).state_at(1300.0) is ApprovalState.APPROVED


def test_the_time_of_a_yes_counts_from_the_last_person_needed() -> None:
    asked = approval(by="approver", quorum=2).with_decision(yes("ann", 1100.0)).with_decision(yes("bob", 1500.0))
    assert asked.state_at(1500 + LASTS - 1) is ApprovalState.APPROVED
    assert asked.state_at(1500 + LASTS) is ApprovalState.EXPIRED


def test_one_no_outweighs_every_yes() -> None:
    asked = approval(by="approver", quorum=2).with_decision(yes("ann", 1100.0)).with_decision(no("bob", 1200.0))
    assert asked.with_decision(yes("cat", 1300.0)).state_at(1400.0) is ApprovalState.DECLINED


def test_a_decision_leaves_the_approval_it_was_made_on_as_it_was() -> None:
    asked = approval()
    asked.with_decision(yes("ann", 1100.0))
    assert asked.decisions == ()


moments = st.floats(ASKED, 4000, allow_nan=False)
decisions = st.builds(
    Decision, st.sampled_from(["ann", "bob", "cat"]), st.sampled_from(["approve", "decline"]), moments
)


@thorough
@given(st.lists(decisions, max_size=4), st.integers(1, 3), st.integers(0, 1), moments, moments)
def test_time_alone_never_turns_an_ended_approval_into_a_usable_one(
    answers: list[Decision], quorum: int, used: int, first: float, second: float
) -> None:
    asked = approval(quorum=quorum, used=used, decisions=tuple(answers))
    before, after = asked.state_at(min(first, second)), asked.state_at(max(first, second))
    if before in (ApprovalState.EXPIRED, ApprovalState.CONSUMED):
        assert after is before
    if after is ApprovalState.APPROVED:
        assert before is ApprovalState.APPROVED
        assert len({answer.person for answer in answers if answer.verdict == "approve"}) >= quorum


@thorough
@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_a_binding_is_one_fingerprint_of_its_parts(some: list[str], others: list[str]) -> None:
    assert (binding_of(*some) == binding_of(*others)) is (some == others)


def test_no_part_of_a_binding_can_lean_over_into_the_next() -> None:
    assert len({binding_of("ab", "c"), binding_of("a", "bc"), binding_of("abc"), binding_of("abc", "")}) == 4
    assert binding_of("\ud800") != binding_of("?")
