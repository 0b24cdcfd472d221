"""Answers, refusals and failures go on the wire in one form each."""

from __future__ import annotations

from assent.core.outcome import NOTHING_RAN, REPLAYED, Answer, Refusal
from assent.core.problems import CATALOGUE, Failure, declared_failure, error_result
from support.documents.contract_examples import contract_with


def test_a_replay_is_marked_in_the_meta_and_in_its_last_block() -> None:
    result = {"content": [], "_meta": {"own": 1}}
    assert Answer(result).on_wire() is result
    assert Answer(result, replayed=True).on_wire() == {"content": [NOTHING_RAN], "_meta": {"own": 1, REPLAYED: True}}
    assert result == {"content": [], "_meta": {"own": 1}}
    assert Answer({"content": []}, replayed=True).on_wire() == {"content": [NOTHING_RAN], "_meta": {REPLAYED: True}}


def test_two_equal_refusals_are_equal_problems() -> None:
    first, second = (Refusal("guard.denied", "The field to is not allowed.", field="/to") for _ in range(2))
    assert first.problem() == second.problem()


def test_a_refusal_carries_its_facts_and_may_change_status_and_remedy() -> None:
    problem = Refusal("recall.key_mismatch", "Other arguments.", status=409, remedy="Look.", retry_after_ms=5).problem()
    assert (problem["status"], problem["remedy"], problem["retry_after_ms"]) == (409, "Look.", 5)
    assert (problem["detail"], problem["title"]) == ("Other arguments.", "This key was used with other arguments.")
    assert Refusal("recall.key_mismatch", status=409).status == 409


def test_an_alias_is_sent_only_where_the_profile_asks_for_it() -> None:
    refusal = Refusal("authorize.missing_permissions")
    assert refusal.problem(failure=True)["failure"] == "permission_denied"
    assert "failure" not in refusal.problem()
    assert "failure" not in Refusal("settle.unknown").problem(failure=True)


def test_a_problem_is_a_tool_result_with_its_sentence_as_text() -> None:
    problem = Refusal("guard.denied").problem()
    assert error_result(problem) == {
        "content": [{"type": "text", "text": "A guard forbids these arguments. " + CATALOGUE["guard.denied"].remedy}],
        "structuredContent": problem,
        "isError": True,
    }
    assert error_result({"detail": "Only this."})["content"][0]["text"] == "Only this."


def test_a_declared_failure_passes_under_its_own_code_and_title() -> None:
    made = contract_with(failure_modes={"card_declined": {"status": 402}, "late": {"title": "Too late."}})
    declined = declared_failure(made, "card_declined", "", {"reason": "limit"})
    assert declined is not None
    problem = declined["structuredContent"]
    assert (problem["code"], problem["status"], problem["title"]) == ("card_declined", 402, "Card declined.")
    assert (problem["detail"], problem["reason"], declined["isError"]) == ("Card declined.", "limit", True)
    late = declared_failure(made, "late", "By a day.", {})
    assert late is not None
    assert (late["structuredContent"]["title"], late["structuredContent"]["detail"]) == ("Too late.", "By a day.")
    assert declared_failure(made, "other", "", {}) is None


def test_the_facts_of_a_failure_cannot_replace_what_the_contract_declares() -> None:
    facts = {"status": 200, "code": "confirm.declined", "retryable": True, "type": "x", "title": "y", "own": 1}
    problem = Failure("card_declined", 402, "Card declined.", "", facts).problem()
    assert problem == Failure("card_declined", 402, "Card declined.").problem() | {"own": 1}
