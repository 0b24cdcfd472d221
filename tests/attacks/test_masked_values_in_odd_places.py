"""A masked value does not leave in a member with a name of the protocol, in a text that is too much to read, or in a
file with line breaks.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from assent.rules.guards import build_guard
from assent.rules.guards.context import NO_CONTEXT
from assent.rules.guards.masking import TooMuchToMask, mask_result
from assent.rules.guards.results import result_objection

NUMBER = "078-05-1120"
BY_DETECTOR = {"rule": "personal_data", "kinds": ["us_ssn"], "action": "mask"}
BY_FIELD = {"rule": "forbid_fields", "fields": ["ssn"], "action": "mask"}


def masked_by(options: dict[str, Any], result: dict[str, Any]) -> str:
    return json.dumps(mask_result(build_guard(options), result)[0])


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def nested(times: int) -> dict[str, Any]:
    found: dict[str, Any] = {"ssn": NUMBER}
    for _ in range(times):
        found = {"raw": json.dumps(found)}
    return found


@pytest.mark.parametrize("name", ["data", "type", "mimeType", "annotations", "resultType"])
def test_a_detector_looks_into_members_with_a_name_of_the_protocol(name: str) -> None:
    assert NUMBER not in masked_by(BY_DETECTOR, {"content": [], "structuredContent": {name: f"it is {NUMBER}"}})
    assert NUMBER not in masked_by(BY_DETECTOR, text(json.dumps({name: f"it is {NUMBER}"})))
    assert NUMBER not in masked_by(BY_FIELD, {"content": [], "structuredContent": {"ssn": NUMBER, name: NUMBER}})


def test_members_that_an_upstream_adds_are_masked_too() -> None:
    for options in (BY_DETECTOR, BY_FIELD):
        part = {"type": "text", "text": "done", "_meta": {"ssn": NUMBER}, "annotations": {"ssn": NUMBER}}
        assert NUMBER not in masked_by(options, {"content": [part], "data": {"ssn": NUMBER}})


def test_kinds_of_content_and_images_stay() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "aW1hZ2U="}
    words = {"type": "text", "text": "text"}
    masked, _ = mask_result(
        build_guard(BY_FIELD), {"content": [image, words], "structuredContent": {"ssn": ["text", "image"]}}
    )
    assert masked["content"] == [image, {"type": "text", "text": "[masked]"}]


@pytest.mark.parametrize(
    "result",
    [
        {"content": [], "structuredContent": nested(6)},
        text(json.dumps({"ssn": NUMBER, "more": "x" * 2_000_001})),
        text("[1, " * 5000 + json.dumps({"ssn": NUMBER})),
    ],
    ids=["too deep", "too long", "too many brackets"],
)
def test_a_text_that_is_too_much_to_read_is_withheld(result: dict[str, Any]) -> None:
    with pytest.raises(TooMuchToMask):
        mask_result(build_guard(BY_FIELD), result)


def test_many_links_do_not_hide_a_field() -> None:
    assert NUMBER not in masked_by(BY_FIELD, text("[page](link) " * 1000 + json.dumps({"ssn": NUMBER})))


def test_a_file_with_line_breaks_is_read() -> None:
    blob = base64.encodebytes(json.dumps({"ssn": NUMBER}).encode()).decode()
    result = {"content": [{"type": "resource", "resource": {"uri": "a://b", "blob": blob}}]}
    for options in (BY_DETECTOR, BY_FIELD):
        masked, _ = mask_result(build_guard(options), result)
        assert NUMBER not in base64.b64decode(masked["content"][0]["resource"]["blob"]).decode()
        denying = build_guard({**options, "action": "deny", "on": "results"})
        assert result_objection(denying, result, NO_CONTEXT) is not None


def test_a_denying_guard_reads_metadata() -> None:
    guard = build_guard({**BY_DETECTOR, "action": "deny", "on": "results"})
    for result in ({"content": [], "_meta": {"a": NUMBER}}, {"content": [{"type": "text", "_meta": {"a": NUMBER}}]}):
        assert result_objection(guard, result, NO_CONTEXT) is not None
