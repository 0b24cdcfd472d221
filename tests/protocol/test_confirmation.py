"""A retry is taken apart only with the state that Assent gave for this very call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assent.core.call import Resume
from assent.core.outcome import Answer
from assent.mcp.confirmation import BESIDE, ConfirmationCodec
from assent.mcp.jsonrpc import RpcError
from assent.mcp.request_state import RequestStateCodec
from assent.testing import AGENT, ANN

NOW = 1_000.0
QUESTION: dict[str, Any] = {"resultType": "input_required", "inputRequests": {"colour": {}}, "requestState": "mine"}
FOREIGN: list[Any] = [
    "mine",
    "{}",
    "[]",
    7,
    json.dumps({"approval": "id-1"}),
    json.dumps({"s": {"claim": None}, "w": ["local", "agent", "live"], "n": "paint", "e": NOW + 1}),
]


def codec(key: bytes | None, now: float = NOW) -> ConfirmationCodec:
    return ConfirmationCodec(RequestStateCodec(key, lambda: now))


def retry_of(asked: dict[str, Any], **changes: Any) -> dict[str, Any]:
    answers = {"colour": {"action": "accept"}, "smuggled": {"action": "accept"}}
    call = {"name": "paint", "arguments": {"wall": "north"}, "inputResponses": answers}
    return {**call, "requestState": asked["requestState"], **changes}


@pytest.mark.parametrize("key", [None, bytes(32)])
def test_a_tool_gets_its_own_state_and_the_answers_that_it_asked_for(key: bytes | None) -> None:
    answer = Answer(QUESTION, resume=Resume("claim-1", 2))
    asked = codec(key).pass_question(answer, {"wall": "north"}, AGENT, "paint", {})
    retry = codec(key).read(retry_of(asked), AGENT)
    assert retry.resume == Resume("claim-1", 2) and retry.answer is None
    assert retry.forward == {"inputResponses": {"colour": {"action": "accept"}}, "requestState": "mine"}


@pytest.mark.parametrize("key", [None, bytes(32)])
def test_a_state_is_good_for_one_caller_one_tool_one_time_and_its_arguments(key: bytes | None) -> None:
    asked = codec(key).pass_question(Answer(QUESTION), {"wall": "north"}, AGENT, "paint", {})
    refused = (
        lambda: codec(key).read(retry_of(asked), ANN),
        lambda: codec(key).read(retry_of(asked, name="wipe"), AGENT),
        lambda: codec(key).read(retry_of(asked, arguments={"wall": "south"}), AGENT),
        lambda: codec(key, NOW + 3600).read(retry_of(asked), AGENT),
    )
    for read in refused:
        with pytest.raises(RpcError, match="call again without it"):
            read()


@pytest.mark.parametrize("key", [None, bytes(32)])
@pytest.mark.parametrize("state", FOREIGN)
def test_a_state_that_is_not_ours_is_refused(state: Any, key: bytes | None) -> None:
    with pytest.raises(RpcError, match="call again without it"):
        codec(key).read(retry_of({"requestState": state}), AGENT)


def test_answers_to_no_question_count_as_arguments() -> None:
    retry = codec(None).read({"name": "paint", "inputResponses": {"colour": 1}}, AGENT)
    assert retry.beside == {BESIDE: {"colour": 1}} and retry.forward == {"inputResponses": {"colour": 1}}
