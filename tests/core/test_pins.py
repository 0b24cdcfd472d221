"""What is pinned, what counts as a change, and how a change reads."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.pins import changed, compare, differences, pin_digest, pins_of, pins_text, read_pins
from assent.errors import SettingsError

TOOL = {
    "name": "send",
    "description": "Sends.",
    "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}},
    "annotations": {"readOnlyHint": False},
}


def test_equal_definitions_are_equal_whatever_the_order_of_their_keys() -> None:
    assert compare(pins_of([TOOL]), [dict(reversed(TOOL.items()))]) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"annotations": {"readOnlyHint": True}}, "/annotations/readOnlyHint: false -> true"),
        ({"description": "Sends.\u200b"}, '/description: "Sends." -> "Sends.\\u{200b}"'),
        ({"_meta": {"a/b": 1}}, '/_meta: {"a/b": 1} added'),
        ({"inputSchema": {"type": "object"}}, '/inputSchema/properties: {"to": {"type": "string"}} removed'),
        ({"readOnly": 1, "annotations": {"readOnlyHint": 0}}, "/annotations/readOnlyHint: false -> 0"),
    ],
)
def test_any_change_is_found_and_can_be_read(change: dict[str, object], line: str) -> None:
    found = compare(pins_of([TOOL]), [{**TOOL, **change}])
    assert [one.kind for one in found] == ["changed"]
    assert line in found[0].lines


def test_new_gone_and_doubled_tools_are_changes() -> None:
    found = compare(pins_of([TOOL, {"name": "old"}]), [TOOL, TOOL, {"name": "young"}])
    assert [(one.tool, one.kind) for one in found] == [("old", "gone"), ("send", "changed"), ("young", "new")]


def test_the_gateway_withholds_what_changed_and_what_nobody_accepted() -> None:
    reasons = changed(pins_of([TOOL, {"name": "old"}]), [{**TOOL, "title": "Send"}, {"name": "young"}])
    assert set(reasons) == {"send", "young"}
    assert "/title" in reasons["send"]


def test_a_lock_file_reads_back() -> None:
    pins = {"mail": pins_of([TOOL]), "": pins_of([{"name": "ä"}])}
    assert read_pins(pins_text(pins)) == pins


def test_a_lock_file_hides_no_character() -> None:
    text = pins_text({"mail": pins_of([{**TOOL, "description": "Sends.\u200b\ud800"}])})
    assert text.isascii()
    assert read_pins(text)["mail"]["send"].definition["description"] == "Sends.\u200b\ud800"


def test_a_lock_file_that_was_edited_is_refused() -> None:
    value = json.loads(pins_text({"mail": pins_of([TOOL])}))
    value["upstreams"]["mail"]["send"]["definition"]["annotations"]["readOnlyHint"] = True
    with pytest.raises(SettingsError, match="does not fit"):
        read_pins(json.dumps(value))


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2, "upstreams": {}}', '{"version": 1}', "{"])
def test_what_is_no_lock_file_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="not a lock file"):
        read_pins(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.dictionaries(st.text(), JSON, max_size=4))
def test_differing_digests_have_differing_lines(before: dict[str, object], after: dict[str, object]) -> None:
    if pin_digest(before) != pin_digest(after):
        assert differences(before, after)
    if not differences(before, after):
        assert pin_digest(before) == pin_digest(after)
