"""Tiers and risks are ordered by severity, and only among themselves."""

from __future__ import annotations

from itertools import pairwise

import pytest

from assent.contract.tiers import OrderedStrEnum, Risk, Tier


@pytest.mark.parametrize("words", [Tier, Risk])
def test_words_are_ordered_as_they_are_defined(words: type[OrderedStrEnum]) -> None:
    defined = list(words)
    assert sorted(words, reverse=True) == defined[::-1]
    for weaker, stronger in pairwise(defined):
        assert weaker < stronger and stronger > weaker and weaker <= stronger and stronger >= weaker
        assert not weaker > stronger and not stronger <= weaker


@pytest.mark.parametrize("other", ["read", Risk.LOW, 1])
def test_a_tier_is_not_compared_with_anything_else(other: object) -> None:
    with pytest.raises(TypeError, match="cannot be compared"):
        assert other < Tier.WRITE
