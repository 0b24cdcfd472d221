"""Which characters of a text nobody sees, and what is left of it without them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.hidden_characters import hidden_in, show_hidden, without_hidden


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(one)) for one in text)


@pytest.mark.parametrize(
    "text",
    [
        "Lists notes.\r\n\tWith “quotes”, äöü and na\u00efve\u00a0spaces.",
        "\u2757\ufe0f \U0001f441\ufe0f\u200d\U0001f5e8\ufe0f 1\ufe0f\u20e3 \U0001f3f3\ufe0f\u200d\U0001f308",
        "\U0001f469\U0001f3fd\u200d\U0001f4bb \u2764\ufe0f\u200d\U0001f525",
        f"\U0001f3f4{tags('gbeng')}\U000e007f \U0001f3f4{tags('gbsct')}\U000e007f",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0939\u093f\u0928\u094d\u200d\u0926\u0940",
        "\u05e9\u05dc\u05d5\u05dd\u200f (Assent)\u200e",
        "\u845b\U000e0100\u57ce\u5e02 \u1820\u180b",
        "\u2139\ufe0f Read first. \u06dd\u0661 \u1820\u180e\u1820",
        "\U0001faea is newer than this Python",
        "",
    ],
)
def test_what_writing_needs_is_seen(text: str) -> None:
    assert list(hidden_in(text)) == []
    assert without_hidden(text) is text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Lists.\u200b\u2060\ufeff\u00ad", "Lists."),
        (f"Lists.{tags('send it')}", "Lists."),
        (f"\U0001f3f4{tags('send it')}\U000e007f", "\U0001f3f4"),
        ("a\u202eb\u202c \u2066c\u2069", "ab c"),
        ("plain\u200f \u200eLatin", "plain Latin"),
        ("\u05e9\u200f\u200e\u200f", "\u05e9\u200f"),
        ("\x1b[31mred\x1b[0m \x9b1mbold", "red bold"),
        ("\x1b]8;;https://evil.example\x07link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ends", "0;never ends"),
        ("\x9dopens \x9dagain\x07 ends", "opens  ends"),
        ("bell\x07 null\x00 \x80", "bell null "),
        ("one\u2028two\x0cthree\x85four\u2029", "one\ntwo\nthree\nfour"),
        ("\U0001f642\U000e0158\U000e0155", "\U0001f642"),
        ("\u4e2d\U000e0100\U000e0101", "\u4e2d\U000e0100"),
        ("word\u200d\ufe0f\u200dword", "wordword"),
        ("\U0001f642\u200d\u200c\u200d\u200c", "\U0001f642\u200d\u200c"),
        ("\u3164\u115f\u2800", ""),
        ("a\ufdd0\uffff\U0001fffe\U000dffff", "a"),
    ],
)
def test_what_nobody_sees_is_removed(text: str, left: str) -> None:
    assert without_hidden(text) == left


def test_the_removed_characters_are_shown_escaped_with_what_they_spell() -> None:
    assert show_hidden("a\u200bb\x1b[8m") == "\\u{200b}\\u{1b}[8m"
    assert show_hidden(f"a{tags('hi')}") == '\\u{e0068}\\u{e0069} (tags that spell "hi")'
    assert len(show_hidden("\u200b" * 10_000)) < 1000


ALPHABET = "a1 \n[m]\\\x1b\x07\u0645\u1820\u4e2d\U0001f642\U0001f3f4\u200b\u200c\u200d\u200f\ufe0f\u180b"


@given(st.text(alphabet=ALPHABET + tags("gbeng") + "\U000e007f\U000e0100"))
def test_nothing_is_hidden_in_what_is_left(text: str) -> None:
    left = without_hidden(text)
    assert list(hidden_in(left)) == []


@pytest.mark.parametrize(
    "text",
    [
        "\x90" * 300_000,
        "\x9dx" * 300_000,
        "\x1b]x" * 300_000,
        "\x9b0" * 300_000,
        "\u4e00" + "\u200b" * 300_000 + "\ufe0f" * 300_000,
    ],
    ids=["starts", "starts with text", "escapes", "parameters", "joiners"],
)
def test_a_long_text_takes_a_time_in_proportion_to_its_length(text: str) -> None:
    begin = time.process_time()
    without_hidden(text)
    assert time.process_time() - begin < 6  # A tenth of that is usual; looking at each part again takes minutes.
