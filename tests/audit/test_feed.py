"""Is the feed readable, and beyond the reach of what agents and strangers write?"""

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.audit.feed import OPEN_CALLS, Feed, FeedLine
from assent.audit.leaf import seal
from assent.audit.leaf_reader import redact
from assent.core.action_template import LINE_LIMIT, ActionTemplate, BadTemplate
from assent.core.question import visible
from support.audit.logs import START


def feed(rows, templates):
    following = Feed(templates)
    return [line for row in rows if (line := following.take(*row)) is not None]


ORDER = ActionTemplate.parse("Ordered {item} for {amount}")


def test_a_template_is_filled_from_the_arguments():
    assert ORDER.render({"item": "scene-7", "amount": 120, "other": 1}) == "Ordered scene-7 for 120"
    assert ActionTemplate.parse("{{{a}}} and }}").render({"a": True}) == "{true} and }"


def test_words_of_their_own_are_quoted_so_that_they_cannot_continue_the_sentence():
    hostile = "a book\u201d for 1. Approved by Ann. Ordered \u201ctwo"
    assert ORDER.render({"item": hostile, "amount": 9}) == (
        "Ordered \u201ca book' for 1. Approved by Ann. Ordered 'two\u201d for 9"
    )
    assert ORDER.render({"item": "", "amount": 9}) == "Ordered \u201c\u201d for 9"


def test_what_was_erased_or_not_given_is_said():
    assert ORDER.render(None) == "Ordered [erased] for [erased]"
    assert ORDER.render({"item": "x"}) == "Ordered x for [not given]"
    assert ORDER.render({"item": None, "amount": [1, {"b": 2.5}]}) == 'Ordered null for [1,{"b":2.5}]'


@pytest.mark.parametrize(
    "text",
    [
        "{a.!}",
        "{a[0]}",
        "{a!r}",
        "{a:>1000000}",
        "{a:{b}}",
        "{}",
        "{0}",
        "{a",
        "a}",
        "{ a }",
        "{a}}",
        "x" * 501,
    ],
)
def test_a_template_with_anything_but_names_in_braces_is_refused(text):
    with pytest.raises(BadTemplate):
        ActionTemplate.parse(text)


def test_an_argument_that_looks_like_a_template_stays_text():
    assert ORDER.render({"item": "{amount}", "amount": "{item.__class__}"}) == (
        "Ordered \u201c{amount}\u201d for \u201c{item.__class__}\u201d"
    )


@pytest.mark.parametrize(
    "char",
    "\u202e\u2066\u200b\u200d\ufeff\x00\x1b\u2028\u2029\u00a0\u3000\u3164\u115f\u2800\ufe0f\U000e0041\u034f\u00ad\u180e",
)
def test_invisible_and_reordering_characters_are_escaped(char):
    assert visible(f"a{char}b") == f"a\\u{{{ord(char):x}}}b"


def test_line_breaks_are_written_out():
    assert visible("a\nb\rc") == "a\\nb\\rc"


def test_marks_may_not_pile_up():
    assert visible("e\u0301") == "e\u0301"
    assert visible("e" + "\u0301" * 4) == "e\u0301\u0301\\u{301}\\u{301}"


def test_long_values_and_lines_are_cut():
    assert ORDER.render({"item": "x" * 5000, "amount": 1}) == f"Ordered \u201c{'x' * 79}\u2026\u201d for 1"
    many = ActionTemplate.parse("{a}" * 100)
    assert len(many.render({"a": "y" * 60})) == LINE_LIMIT


@given(st.text(max_size=300), st.text(max_size=300))
def test_nothing_invisible_ever_comes_out(item, amount):
    text = ORDER.render({"item": item, "amount": amount})
    assert len(text) <= LINE_LIMIT
    assert all(char == " " or unicodedata.category(char)[0] not in "CZ" for char in text)


def rows(*entries):
    chance = random.Random(1)
    made = [seal(kind, START + at, facts, values, chance.randbytes) for at, (kind, facts, values) in enumerate(entries)]
    return [(at, row.leaf, row.values) for at, row in enumerate(made)]


def call(number, tool="order", **facts):
    return {"claim": f"c_{number}", "tool": tool, "mode": "live", **facts}


def test_a_line_appears_when_a_call_ends_and_joins_its_arguments():
    entries = rows(
        ("intent", call(1, open_world=True), {"arguments": {"item": "a", "amount": 1}}),
        ("intent", call(2), {"arguments": {"item": "b", "amount": 2}}),
        ("outcome", call(2, state="succeeded"), {}),
        ("outcome", call(1, state="in_doubt", open_world=True), {}),
        ("denial", call(3, code="confirm.declined"), {"arguments": {"item": "c", "amount": 3}}),
        ("operator", {"action": "reload"}, {}),
    )
    lines = feed(entries, {"order": ORDER})
    assert [(line.index, line.text, line.outcome) for line in lines] == [
        (2, "Ordered b for 2", "succeeded"),
        (3, "order (item: a, amount: 1)", "in_doubt"),
        (4, "order (item: c, amount: 3)", "confirm.declined"),
    ]
    in_doubt = FeedLine(3, START + 3, "order (item: a, amount: 1)", "order", "live", "in_doubt", True)
    assert [line for line in lines if line.open_world] == [in_doubt]


def test_a_tool_without_a_template_is_called_by_its_name():
    entries = rows(("outcome", call(1, tool="ping", mode="test"), {"arguments": {}}))
    assert [(line.text, line.mode) for line in feed(entries, {})] == [("ping", "test")]


def test_erased_arguments_are_not_in_the_feed():
    [(index, leaf, blob)] = rows(("denial", call(1, code="x"), {"arguments": {"item": "secret", "amount": 1}}))
    [line] = feed([(index, leaf, redact(blob, ["arguments"]))], {"order": ORDER})
    assert line.text == "order (item: [erased], amount: [erased])"


def test_damaged_rows_and_strange_arguments_do_not_stop_the_feed():
    [good] = rows(("denial", call(1, code="x"), {"arguments": [1, 2]}))
    lines = feed([(0, b"damaged", None), (1, good[1], b"torn"), good], {"order": ORDER})
    assert [line.text for line in lines] == ["order (item: [not given], amount: [not given])"]


def test_a_path_leads_into_objects_of_the_arguments_and_nowhere_else():
    template = ActionTemplate.parse("To {to.city}: {a.__class__}")
    assert template.render({"to": {"city": "Ulm"}, "a": "x"}) == "To Ulm: [not given]"


def test_of_calls_that_never_end_only_so_many_are_remembered():
    arguments = {"arguments": b'{"amount":1,"item":"a"}'}
    begun = [("intent", call(number), arguments) for number in range(OPEN_CALLS + 1)]
    ended = [("outcome", call(number, state="succeeded"), {}) for number in (0, OPEN_CALLS)]
    lines = feed(rows(*begun, *ended), {"order": ORDER})
    assert [line.text for line in lines] == ["Ordered [not given] for [not given]", "Ordered a for 1"]
