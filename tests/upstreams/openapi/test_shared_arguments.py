"""What another operation is asked about the same thing."""

from __future__ import annotations

from typing import Any

import pytest

from assent.ports import NotReached
from assent.upstreams.openapi.arguments import Arguments
from assent.upstreams.openapi.link import shared_arguments
from support.openapi.documents import api, ok, sending

FIELDS = {"type": "object", "properties": {"item": {"type": "string"}, "amount": {"type": "integer"}}}
FEWER = {"type": "object", "properties": {"item": {"type": "string"}}, "additionalProperties": False}
WHOLE = {"anyOf": [{"type": "object"}, {"type": "null"}]}


def taking(schema: Any) -> Arguments:
    operation = {"operationId": "op", "requestBody": sending(schema), "responses": ok({"type": "object"})}
    return api({"/op": {"post": operation}}).tools["op"].arguments


@pytest.mark.parametrize(
    ("ours", "theirs", "given", "shared"),
    [
        (FIELDS, FEWER, {"item": "tea", "amount": 2}, {"item": "tea"}),
        (WHOLE, FEWER, {"body": {"item": "tea", "amount": 2}}, {"item": "tea"}),
        (FIELDS, WHOLE, {"item": "tea", "amount": 2}, {"body": {"item": "tea", "amount": 2}}),
        (WHOLE, WHOLE, {"body": {"item": "tea"}}, {"body": {"item": "tea"}}),
        (WHOLE, FEWER, {"body": None}, {}),
        (FIELDS, FEWER, {}, {}),
    ],
)
def test_a_body_is_shared_field_by_field_or_as_a_whole(ours: Any, theirs: Any, given: Any, shared: Any) -> None:
    assert shared_arguments(taking(ours), taking(theirs), given) == shared


def test_nothing_in_common_is_no_estimate_of_the_same_thing() -> None:
    with pytest.raises(NotReached, match="accepts none of the arguments"):
        shared_arguments(taking(WHOLE), taking(FEWER), {"body": {"scene": "s1"}})
