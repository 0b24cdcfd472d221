"""A change touches its place in the text and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.checks.lint.edit import Edit, put, remove, rename
from assent.checks.lint.file_edits import edit_json, edit_yaml
from assent.contract.yaml_document import YamlDocument

BLOCK = """# ours
tools:
  drop_draft:  # drafts only
    side_effect: destructive   # really
    risk: medium
    # why it is asked about
    confirmation:
      by: user

  pay: {side_effect: write, risk: low}  # flow
"""


@pytest.mark.parametrize(
    ("text", "change", "wanted"),
    [
        ('{"a": 1, "b": 2}', put(3, "a"), '{"a": 3, "b": 2}'),
        ('{"a":1,"b":2}', put({"x": True}, "c"), '{"a":1,"b":2,"c":{"x":true}}'),
        ('{\n  "a": 1,\n  "b": 2\n}', put(3, "c"), '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}'),
        ('{\n  "a": 1\n}', put(3, "c"), '{\n  "a": 1,\n  "c": 3\n}'),
        ('{"a": {}}', put(3, "a", "b"), '{"a": {"b": 3}}'),
        ('{"a": 1, "b": 2, "c": 3}', remove("b"), '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2}', remove("b"), '{"a": 1}'),
        ('{ "a" : 1 }', remove("a"), "{  }"),
        ('{"a\\u0062": "}{\\"", "x": [1, {"ab": 2}]}', rename("cd", "ab"), '{"cd": "}{\\"", "x": [1, {"ab": 2}]}'),
    ],
)
def test_json_keeps_its_spaces_and_order(text: str, change: Edit, wanted: str) -> None:
    assert edit_json(text, change) == wanted


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        (put("write", "tools", "drop_draft", "side_effect"), "side_effect: destructive", "side_effect: write"),
        (remove("tools", "drop_draft", "risk"), "    risk: medium\n", ""),
        (put("a b", "tools", "drop_draft", "title"), "risk: medium\n", 'risk: medium\n    title: "a b"\n'),
        (put("external_spend", "tools", "pay", "side_effect"), "{side_effect: write", "{side_effect: external_spend"),
        (remove("tools", "pay", "risk"), ", risk: low}", "}"),
        (remove("tools", "pay", "side_effect"), "side_effect: write, ", ""),
        (put(True, "tools", "pay", "open_world"), "risk: low}", "risk: low, open_world: true}"),
        (rename("drop", "tools", "drop_draft"), "drop_draft:", "drop:"),
    ],
)
def test_yaml_keeps_its_comments(change: Edit, old: str, new: str) -> None:
    for text in (BLOCK, BLOCK.replace("\n", "\r\n")):
        broken = "\r\n" if "\r" in text else "\n"
        made = edit_yaml(text, change)
        assert made == text.replace(old.replace("\n", broken), new.replace("\n", broken), 1)
        assert YamlDocument(made).value == change.applied(YamlDocument(text).value)


def test_what_one_edit_cannot_change_is_refused() -> None:
    with pytest.raises(ValueError, match="shares a line"):
        edit_yaml(BLOCK, remove("tools", "drop_draft", "confirmation"))
    with pytest.raises(KeyError):
        edit_yaml(BLOCK, put(1, "tools", "absent", "risk"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=4), values, max_size=4), st.text(max_size=4), values, st.sampled_from((None, 2))
)
def test_any_object_reads_as_the_change_wants_it(held: dict[str, object], key: str, value: object, indent: int) -> None:
    text = json.dumps(held, indent=indent)
    change = put(value, key)
    assert json.loads(edit_json(text, change)) == change.applied(held)
    for known in held:
        assert json.loads(edit_json(text, remove(known))) == remove(known).applied(held)
