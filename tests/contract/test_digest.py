"""One document has one canonical form, and one fingerprint."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from assent.contract.digest import MOST_DEPTH, NotCanonicalError, canonical, digest_of
from support.suite.hypothesis_profile import json_values, numbers, steady

ASCII = st.text(st.characters(max_codepoint=127), max_size=8)


@steady
@given(json_values())
def test_the_canonical_form_is_that_of_rfc_8785(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@steady
@given(json_values(ASCII, text=st.text(max_size=10).filter(lambda text: text.isprintable())))
def test_plain_documents_take_another_way_to_the_same_bytes(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@steady
@given(st.dictionaries(ASCII, st.integers(-(2**53 - 1), 2**53 - 1)))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert digest_of(value) == digest_of(dict(reversed(value.items())))


@steady
@given(json_values())
def test_the_canonical_form_says_the_same_document(value: Any) -> None:
    assert json.loads(canonical(value), parse_int=float) == value


@steady
@given(numbers)
def test_a_number_has_one_form_however_it_was_written(number: float) -> None:
    assert canonical([number]) == canonical(json.loads(json.dumps([number])))


def test_control_characters_are_escaped_alike_on_both_ways() -> None:
    text = "".join(map(chr, range(0x80)))
    assert canonical({text: text}) == rfc8785.dumps({text: text})


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"b": 1, "a": 2}, b'{"a":2,"b":1}'),
        ([1.0, -0.0, 1e21, 1e-7, 0.1], b"[1,0,1e+21,1e-7,0.1]"),
        ({"é": 1, "z": 2}, b'{"z":2,"\xc3\xa9":1}'),
        # By UTF-16 units the emoji, a surrogate pair, stands before the private-use letter.
        ({"\ufb33": 1, "😀": 2}, '{"😀":2,"\ufb33":1}'.encode()),
        ("\u2028\x7f", '"\u2028\x7f"'.encode()),
        ((1, [2]), b"[1,[2]]"),
        (2**53 - 1, b"9007199254740991"),
        (-(2**53 - 1), b"-9007199254740991"),
    ],
)
def test_known_forms(value: Any, form: bytes) -> None:
    assert canonical(value) == form


@pytest.mark.parametrize(
    "value",
    [
        2**53,
        -(2**53),
        2**64,
        float("nan"),
        float("inf"),
        float("-inf"),
        "\ud800",
        "\udfff\ud800",
        b"bytes",
        {1, 2},
        object(),
        {1: "number as key"},
        {None: 1},
        {("a",): 1},
        {"\ud800": 1},
    ],
)
@pytest.mark.parametrize("inside", [lambda v: v, lambda v: [v], lambda v: {"a": [v]}, lambda v: {"é": 1.5, "x": v}])
def test_what_is_no_json_has_no_canonical_form(value: Any, inside: Any) -> None:
    with pytest.raises(NotCanonicalError):
        canonical(inside(value))


def nested(depth: int, core: Any) -> Any:
    for level in range(depth):
        core = [core] if level % 2 else {"a": core}
    return core


@pytest.mark.parametrize("core", [1, 1.5, "é", {"é": 1.5}])
def test_depth_ends_at_the_same_level_on_both_ways(core: Any) -> None:
    fits = MOST_DEPTH - (1 if isinstance(core, dict) else 0)
    assert canonical(nested(fits, core))
    for depth in (fits + 1, 5_000):
        with pytest.raises(NotCanonicalError, match="nested beyond the recursion limit of 200 levels"):
            canonical(nested(depth, core))


def test_a_document_that_holds_itself_has_no_canonical_form() -> None:
    knot: list[Any] = [1.5]
    knot.append(knot)
    with pytest.raises(NotCanonicalError, match="nested"):
        canonical(knot)


def test_a_refusal_does_not_repeat_the_number() -> None:
    with pytest.raises(NotCanonicalError) as caught:
        canonical({"secret": 4111111111111111111})
    assert "4111" not in str(caught.value)


def test_the_digest_of_a_document_never_changes() -> None:
    document = {"tool": "place_order", "amount": 240.5, "items": ["é", None, True]}
    form = '{"amount":240.5,"items":["é",null,true],"tool":"place_order"}'
    assert digest_of(document) == "sha256:" + hashlib.sha256(form.encode()).hexdigest()
    assert digest_of(document) == "sha256:9a2c0034246e987c7b761da71128737e072b0d4b8bb45513b619b471a1ba7e19"
