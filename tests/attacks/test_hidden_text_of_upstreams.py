"""What upstreams say in errors has no hidden characters, and long descriptions do not hold up other callers."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import Any

import orjson
import pytest

from assent.core.hidden_characters import _hidden_in_runs, hidden_in, without_hidden
from assent.gateway.hidden_text import HiddenText
from assent.mcp.jsonrpc import RpcError, read_response
from assent.rules.guards.workload import characters_in, run_large
from attacks.test_costly_guards import turned

HIDDEN = ["\u200b", "\u202e", "\U000e0041", "\x1b[31m", "\x07", "\u2060", "\ufeff", "\u2028"]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_an_error_of_an_upstream_has_no_hidden_characters(hidden: str) -> None:
    error = {"code": -32000, "message": f"No{hidden}thing", "data": {"why": [f"be{hidden}cause"], f"k{hidden}": 1}}
    with pytest.raises(RpcError) as raised:
        read_response({"jsonrpc": "2.0", "id": 1, "error": error})
    assert hidden not in raised.value.message + repr(raised.value.data)
    assert raised.value.message.startswith("No") and raised.value.code == -32000
    for message in ({"id": 1, "error": error}, [{"id": 1, "error": error}, {"id": 2, "result": {"x": hidden}}]):
        assert hidden not in orjson.dumps(HiddenText().clean_message("shop", message)).decode().replace("\\u", "\\\\u")


def test_an_ordinary_error_stays_as_it_is() -> None:
    message = {"id": 1, "error": {"code": -32602, "message": "Grüße 👩‍💻", "data": {"uri": "a://b"}}}
    assert HiddenText().clean_message("shop", message) is message


@pytest.mark.parametrize(
    "result",
    [
        {"prompts": [{"name": f"p{n}", "description": "wo\u200brd " * 25} for n in range(8_000)]},
        {"prompts": [{"name": "p", "description": "wo\u200brd " * 200_000}]},
        {"instructions": "a\x1b[31mb " * 150_000},
    ],
    ids=["many", "long", "terminal"],
)
async def test_long_descriptions_do_not_block_the_event_loop(result: dict[str, Any]) -> None:
    clean = partial(HiddenText().clean, "shop", result)
    cleaned, longest, still = await turned(lambda: run_large(clean, characters_in(result), "shop"))
    body = orjson.dumps(cleaned)
    assert "\u200b".encode() not in body and b"\\u001b" not in body
    assert longest < 0.05
    assert still < 1.0


def test_both_ways_to_find_hidden_characters_agree() -> None:
    chance, letters = (
        random.Random(7),
        [*"ab \n1#", *"\u200b\u200d\ufe0f\u202e\u200e", "👩", "你", "א", "\ufe00", "ᠠ", "\u180b"],
    )
    for _ in range(3_000):
        text = "".join(chance.choices(letters, k=12))
        odd = {one for one in text if one in "\u200b\u200d\ufe0f\u202e\u200e\ufe00\u180b"}
        fast = list(_hidden_in_runs(text, odd)) if odd else []
        slow = [at - 1 for at in hidden_in("\x80" + text) if at]
        assert fast == list(hidden_in(text))
        assert slow == fast or text[:1] in odd, ascii(text)


def test_hidden_text_is_removed_in_a_time_in_proportion_to_the_text() -> None:
    begun = time.process_time()
    assert without_hidden("wo\u200brd " * 100_000) == "word " * 100_000
    assert time.process_time() - begun < 2.0
