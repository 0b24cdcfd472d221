"""What a person is asked shows every argument as it is, and nothing in it can pose as anything else."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.action_template import ActionTemplate
from assent.core.approval_details import details_of
from assent.core.principal import Principal
from assent.core.question import MORE, MOST_TEXT, Background, argument_lines, has_hidden, question, visible
from assent.core.shown_arguments import shown_arguments
from support.decisions.calls import call_of
from support.suite.hypothesis_profile import json_values, steady, texts


def asked(call: Any, preview: Any = None, why: str | None = None, price: str | None = None) -> str:
    """The question about a call."""
    return question(call, shown_arguments(call, preview), why=why, price=price)


# From Unicode's own list of what draws nothing (Default_Ignorable_Code_Point), typed in apart from the code.
IGNORABLE = [
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
]
UNSEEN = {chr(code) for first, last in IGNORABLE for code in range(first, last + 1)}
UNSEEN |= {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0x2800, 0xA0, 0x3000)}
LINES = re.compile(
    r"""(?x)
    .+\ \(tool\)\ —\ write,\ medium\ risk
    | On\ the\ server\ up
    | Asked\ for\ by\ .+\ \((?:agent|human|service)\) | Against\ the\ test\ endpoint\. | Asked\ because\ .+\.
    | Price:\ .+ | What\ it\ does: | Arguments,\ as\ sent: | Preview,\ as\ the\ tool\ reported\ it: | \ \ .*
    | Warning:\ the\ arguments\ hold\ invisible\ or\ direction-changing\ characters,
      \ written\ here\ as\ \\u\{\.\.\.\}\.
    | Warning:\ .+\ leads\ to\ the\ host\ ".+"\. | Warning:\ .+\ holds\ characters\ that\ look\ like\ others:\ .+\.
    | Warning:\ \d+\ more\ texts\ hold\ characters\ that\ look\ like\ others\."""
)


def seen(text: str) -> bool:
    return not any(c in UNSEEN or unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for c in text)


def test_every_character_that_draws_nothing_is_written_out() -> None:
    for character in [*UNSEEN, "\ud800", "\udfff", "\ue000", "\U00016fe4"]:
        shown = visible(f"a{character}b")
        assert shown in (f"a\\u{{{ord(character):x}}}b", *(f"a\\{letter}b" for letter in "ntr"))
        assert has_hidden(character) is (character not in "\n\t\r")


@pytest.mark.parametrize(
    "text", ["plain", "Grüße", "漢字", "emoji 😀", "quotes \" and '", "{braces}", "100 %", "ñ — …"]
)
def test_what_can_be_seen_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert not has_hidden(text)


@steady
@given(texts)
def test_shown_text_has_nothing_that_cannot_be_seen(text: str) -> None:
    assert seen(visible(text))


@steady
@given(texts, texts)
def test_no_two_texts_look_the_same(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) is (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("\u200b", "\\u{200b}"), ("\\\u200b", "\\\\u{200b}"), ("\n", "\\n"), ("\\\n", "\\\\n"), ("\\", "\\\\")],
)
def test_a_character_and_its_description_differ(one: str, other: str) -> None:
    assert visible(one) != visible(other)


arguments = st.dictionaries(texts, json_values(), max_size=4)


def leaves(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(leaves, inner)) if inner else 1


@steady
@given(arguments, texts, texts, json_values(), st.sampled_from(["live", "test"]))
def test_every_line_of_a_question_is_ours_and_can_be_seen(
    given_arguments: dict[str, Any], why: str, who: str, preview: Any, mode: Any
) -> None:
    call = call_of(given_arguments, by=Principal(who or "x", "agent", mode=mode), side_effects=["Sends.\nRisk: none"])
    text = asked(call, preview, why=why or None, price=why or None)
    for line in text.split("\n"):
        assert seen(line)
        assert LINES.fullmatch(line), line


@steady
@given(arguments)
def test_every_argument_is_shown_on_a_line_of_its_own(given_arguments: dict[str, Any]) -> None:
    text = asked(call_of(given_arguments))
    shown = text.split("Arguments, as sent:\n")[1].split("\nWarning:")[0].split("\n")
    assert len(shown) == leaves(given_arguments)


@steady
@given(arguments, arguments)
def test_different_arguments_never_look_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    # 1, 1.0 and true are equal to Python and not to a reader.
    if repr(one) != repr(other) and one != other:
        assert argument_lines(one) != argument_lines(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": {"b": 1}}, {"a.b": 1}),
        ({"a": [1]}, {"a[0]": 1}),
        ({"a": "1"}, {"a": 1}),
        ({"a": "null"}, {"a": None}),
        ({"a": "{}"}, {"a": {}}),
        ({"a": []}, {"a": {}}),
        ({"a": 'x", b: "y'}, {"a": "x", "b": "y"}),
        ({'a: "1", b': 2}, {"a": "1", "b": 2}),
        ({"": {"a": 1}}, {"a": 1}),
        ({"a": True}, {"a": 1}),
    ],
)
def test_structure_cannot_be_forged_by_names_or_values(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert argument_lines(one) != argument_lines(other)


def test_a_question_reads_as_a_page() -> None:
    call = call_of(
        {"to": ["ann@example.com", "bob@example.com"], "body": 'Hi,\n"you"', "draft": False, "meta": {"a b": None}},
        name="emails.send",
        title="Send an email",
        risk="critical",
        side_effects=["An email is sent."],
    )
    text = asked(call, {"count": 2}, why="to holds 2 items, more than 1", price="3 EUR")
    assert text == "\n".join(
        [
            "Send an email (emails.send) — write, critical risk",
            "On the server up",
            "Asked for by agent (agent)",
            "Asked because to holds 2 items, more than 1.",
            "Price: 3 EUR",
            "What it does:",
            "  An email is sent.",
            "Arguments, as sent:",
            '  body: "Hi,\\n\\"you\\""',
            "  draft: false",
            '  meta."a b": null',
            '  to[0]: "ann@example.com"',
            '  to[1]: "bob@example.com"',
            "Preview, as the tool reported it:",
            "  count: 2",
        ]
    )


def test_a_call_without_arguments_says_so() -> None:
    assert asked(call_of()).endswith("Arguments, as sent:\n  {}")


def test_hidden_characters_are_warned_of_and_line_ends_are_not() -> None:
    warning = "Warning: the arguments hold invisible"
    assert warning in asked(call_of({"a": {"b": ["\u202e"]}}))
    assert warning in asked(call_of({"\u200b": 1}))
    assert warning not in asked(call_of({"body": "two\r\nlines\tand a tab \\"}))


def test_a_very_long_text_is_shown_whole_in_pieces_that_cannot_be_forged() -> None:
    first, second, third = argument_lines({"a": "x" * MOST_TEXT + "y" * MOST_TEXT + "z"})
    assert first == 'a: "' + "x" * MOST_TEXT + f'" … and {MOST_TEXT + 1} more characters:'
    assert (second, third) == (f'{MORE}{"y" * MOST_TEXT}"', f'{MORE}z"')
    (forged,) = argument_lines({"a": 'x" … and 5 more characters:\n  + "y'})
    assert forged == 'a: "x\\" … and 5 more characters:\\n  + \\"y"'
    assert len(argument_lines({"a": "x" * MOST_TEXT})) == 1


def test_a_question_and_the_feed_show_the_same_sentence() -> None:
    call = call_of(
        {"item": "a scene\u202e", "to": {"city": "Kiel"}}, activity="Ordered {item} to {to.city} for {amount}"
    )
    said = details_of(call, shown_arguments(call, None), why=None, price=None, leads_to=(), background=Background())
    shown = said["activity"]
    assert shown == "Ordered “a scene\\u{202e}” to Kiel for [not given]"
    assert shown == ActionTemplate.parse(call.tool.contract.activity or "").render(call.arguments)
