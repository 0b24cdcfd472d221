"""Short cuts of flow control find what it finds without them: random texts and conversations, compared."""

from __future__ import annotations

import random
from typing import Any

import pytest

from assent.rules.flow import values
from assent.rules.flow.control import FlowControl
from assent.rules.flow.values import Reading, Readings, decoded, exact, may_hide
from support.agents.flow_talk import AGENT, TOOLS, Talk

_LISTED = (
    "order|Ann|ann.lee+x@Example.com|ann1@x.com|a!b@x.com|123@x.com|@|www.shop-23.com|notes.txt|ab12|5 000|a_b_9|"
    "https://u:p@example.com/a?b=1.2|DE89 3704 0044 0532 0130 00|CA133012400231215421872|4237-4252-7456-2574|"
    "+41 44 123 45 67|1,200.00|1 200|12.50|v1.2|e.g.|HGK137803|2024-05-15|10:00|12-ab34|+5|abc.Then|0012|"
    "1234567890|%40|&#64;|ann at x dot com|[at]| . |\n|bWFyay5ibGFja0BnbWFpbC5jb20=|1.2.3.4|\u0430nn@example.com|"
    "6d61726b2e626c61636b40676d61696c2e636f6d|\uff11\uff12\uff13"
)
PIECES = _LISTED.split("|")
NAMES = ["to", "url", "title", "body", "amount", "file_id", "subject", "date", "password", "City Hub", "card_number"]


def text(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return "".join(chance.choices("abz019@.:/-_+ %&,'\nAZé\"<>()[]#?", k=chance.randint(0, 30)))
    return "".join(
        chance.choice(PIECES) + chance.choice([" ", "", ", ", ". ", "-"]) for _ in range(chance.randint(1, 6))
    )


def found_in_one_piece(plain: str) -> list[values.Value]:
    """What each expression finds in a whole text."""
    addresses, links, amounts, ids = ([] for _ in range(4))
    values._search(plain, addresses, links, amounts, ids)
    return list(dict.fromkeys([*addresses, *links, *values._accounts_in(plain), *amounts, *ids]))


def document(chance: random.Random, texts: list[str], depth: int = 0) -> Any:
    kind = chance.random()
    if kind < 0.6 or depth == 3:
        return chance.choice(texts)
    if kind < 0.75:
        return chance.choice([1, 12, 800, 1234567, 12.5, True, None, -3])
    if kind < 0.85:
        return [document(chance, texts, depth + 1) for _ in range(chance.randint(0, 3))]
    return {chance.choice(NAMES): document(chance, texts, depth + 1) for _ in range(chance.randint(0, 4))}


@pytest.mark.parametrize("seed", range(4))
def test_reading_word_by_word_finds_what_each_expression_finds_in_the_whole_text(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(800):
        given = exact(text(chance))
        assert values._all_in(given) == found_in_one_piece(given), given


@pytest.mark.parametrize("seed", range(4))
def test_a_text_that_may_hide_nothing_hides_nothing(seed: int) -> None:
    chance, plain = random.Random(seed), 0
    for _ in range(800):
        given = text(chance)
        if not may_hide(given):
            plain += 1
            assert not list(decoded(given)), given
    assert plain > 100


@pytest.mark.parametrize("seed", range(4))
def test_what_was_asked_for_first_does_not_change_a_reading(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        given = text(chance)
        one, other = Reading(given), Reading(given)
        first = one.whole, one.value, one.all_values, one.values
        assert (other.values, other.all_values, other.value, other.whole) == first[::-1]


@pytest.mark.parametrize("seed", range(6))
def test_a_call_that_is_not_judged_has_no_concern(seed: int) -> None:
    chance, judged, skipped = random.Random(seed), 0, 0
    for _ in range(60):
        texts = [text(chance) for _ in range(12)]
        talk = Talk(chance.choice(texts) if chance.random() < 0.2 else "", FlowControl("ask"))
        for _ in range(8):
            arguments = {chance.choice(NAMES[:8]): document(chance, texts) for _ in range(chance.randint(1, 4))}
            call = talk.call(chance.choice(list(TOOLS)), **arguments)
            found = talk.flow.check(call, 1.0)
            [seen] = talk.flow.conversations(AGENT.tenant)
            every = talk.flow._concerns(call, seen, Readings(), may_know=True)
            assert [one.reason for one in found] == [one.sentence for one in every], arguments
            judged, skipped = judged + bool(every), skipped + (not every)
            talk.flow.remember(call, {"structuredContent": document(chance, texts)}, 1.0)
    assert judged > 20 and skipped > 20
