"""Do the moments a store indexes say the same as the state?"""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from assent.core.approval import ApprovalState, Decision
from support.store_suite.drafts import NOW, approval_draft

moments = st.integers(0, 6).map(lambda seconds: NOW + seconds)
decisions = st.builds(Decision, st.sampled_from("abc"), st.sampled_from(["approve", "decline"]), moments)
approvals = st.builds(
    lambda quorum, lasts, uses, used, given: replace(
        approval_draft(quorum=quorum, lasts=float(lasts), uses=uses, expires_at=NOW + 3),
        used=min(used, uses),
        decisions=tuple(given),
    ),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(1, 2),
    st.integers(0, 2),
    st.lists(decisions, max_size=3, unique_by=lambda decision: decision.person),
)


@settings(derandomize=True)
@given(approvals, moments)
def test_an_approval_answers_until_the_moment_it_names(approval, now) -> None:
    answering = (ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.DECLINED)
    until = approval.answers_until
    assert (approval.state_at(now) in answering) == (until is not None and now < until)


@settings(derandomize=True)
@given(approvals, moments)
def test_an_approval_is_pending_until_the_moment_it_names(approval, now) -> None:
    until = approval.pending_until
    assert (approval.state_at(now) is ApprovalState.PENDING) == (until is not None and now < until)
