"""A blocked word stays blocked in whatever disguise."""

from __future__ import annotations

import pytest

from assent.rules.guards.rules.block_keywords import BlockKeywords

RULE = BlockKeywords(keywords=("password",))


@pytest.mark.parametrize(
    "text",
    [
        "the PASSWORD",
        "ｐassword",
        "pass\u200bword",
        "pass\u00adword",
        "pass\u115fword",
        "pass\uffa0word",
    ],
)
def test_a_disguised_word_is_found(text: str) -> None:
    assert RULE.denies({"text": text}) is not None
    assert RULE.denies({"deep": [{text: 1}]}) is not None


def test_other_words_are_not() -> None:
    assert RULE.denies({"text": "pass the word"}) is None
