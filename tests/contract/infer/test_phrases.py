"""Statements of a description. Patterns run only near their marks, so every match must contain a mark."""

import random
import re
import tomllib
from importlib import resources
from re import _constants as kinds
from re import _parser as parser
from typing import Any

import pytest

from assent.contract.infer.features.phrases import Statements

TABLE = tomllib.loads(resources.files("assent.contract.infer").joinpath("statements.toml").read_text(encoding="utf-8"))
SAMPLES = 60
LONGEST_REPEAT = 2
LETTERS = "abcdefghij"


@pytest.mark.parametrize("name", TABLE)
def test_every_match_of_a_pattern_contains_one_of_its_marks(name: str) -> None:
    for group in TABLE[name]:
        for pattern in group.get("patterns", []):
            check_marks(group["marks"], pattern)


def check_marks(marks: list[str], pattern: str) -> None:
    compiled, dice = re.compile(pattern), random.Random(pattern)
    texts = [f"Once. {_write(parser.parse(pattern), dice)} too" for _ in range(SAMPLES)]
    texts += [text.removeprefix("Once. ") for text in texts]
    found = [(text, match) for text in texts if (match := compiled.search(text)) is not None]
    assert found, f"no text could be generated for {pattern}"
    for text, match in found:
        around = text[max(0, match.start() - 1) : match.end() + 1]
        assert any(mark in around for mark in marks), (pattern, match.group())


def test_a_statement_is_found_anywhere_in_a_long_text() -> None:
    filler = "It does not matter. " * 20
    for text in (f"{filler}It does not modify anything. {filler}", f"It does not modify it. {filler}"):
        assert "changes_nothing" in Statements(text)
    assert "changes_nothing" not in Statements(filler)


def test_a_wrapped_line_is_read_as_one() -> None:
    assert "changes_nothing" in Statements("Looks around. It does not\n    modify anything.")
    assert "changes_nothing" not in Statements("What it does not\nModify: nothing")


def _write(tree: Any, dice: random.Random) -> str:
    """Generate a text that a parsed pattern may match; negative conditions are left to chance."""
    return "".join(_part(kind, value, dice) for kind, value in tree)


def _part(kind: Any, value: Any, dice: random.Random) -> str:
    if kind is kinds.LITERAL:
        return chr(value)
    if kind is kinds.NOT_LITERAL:
        return " "
    if kind is kinds.IN:
        return _one_of(value, dice)
    if kind is kinds.BRANCH:
        return _write(dice.choice(value[1]), dice)
    if kind is kinds.SUBPATTERN:
        return _write(value[3], dice)
    if kind is kinds.ASSERT and value[0] > 0:
        return _write(value[1], dice)
    if kind in {kinds.MAX_REPEAT, kinds.MIN_REPEAT}:
        fewest, most, tree = value
        return "".join(_write(tree, dice) for _ in range(dice.randint(fewest, max(fewest, min(most, LONGEST_REPEAT)))))
    return ""


def _one_of(members: list[Any], dice: random.Random) -> str:
    kind, value = dice.choice(members)
    if members[0][0] is kinds.NEGATE:
        return " "
    if kind is kinds.LITERAL:
        return chr(value)
    if kind is kinds.RANGE:
        return chr(dice.randint(*value))
    return " " if value is kinds.CATEGORY_SPACE else dice.choice(LETTERS)
