"""What the JSON boundary lets through, what it refuses, and that the short way equals the long one."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assent.mcp import strict_json
from assent.mcp.strict_json import JsonLimits, Malformed, parse


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"a":1,"a":2}', "duplicate key 'a'"),
        (b'{"x":[{"b":1, "b":1}]}', "duplicate key 'b'"),
        (b'{"a":1,"\\u0061":2}', "duplicate key 'a'"),
        (b'{"a\\u003ab":1,"a:b":2}', "duplicate key 'a:b'"),
        (b"NaN", "not valid JSON"),
        (b"[Infinity]", "not valid JSON"),
        (b"[-Infinity]", "not valid JSON"),
        (b"[1e400]", "not valid JSON"),
        (b'"\\ud800"', "not valid JSON"),
        (b'{"\\udc00":1}', "not valid JSON"),
        (b'"\xed\xa0\x80"', "not valid JSON"),
        (b'"\xff"', "not valid JSON"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
        (b"9007199254740992", "beyond"),
        (b"-9007199254740992", "beyond"),
        (b"[18446744073709551616]", "beyond"),
        (b'{"n": ' + b"9" * 300 + b"}", "beyond"),
        (b"1" * 5000, "not valid JSON"),
        (b"", "not valid JSON"),
        (b'{"a":1} {}', "not valid JSON"),
        (b'{"a":1}\x00', "not valid JSON"),
        (b"[" * 65 + b"]" * 65, "deeper than 64"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "deeper than 64"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_text_that_parsers_disagree_about_is_refused_in_words(text: bytes, words: str) -> None:
    with pytest.raises(Malformed, match=words.replace("(", r"\(")):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        b"9007199254740991",
        b"-9007199254740991",
        b"1.2345678901234567",
        b"1e20",
        b"[" * 64 + b"]" * 64,
        b"[" + b",".join([b"[]"] * 200) + b"]",
        b'{ "a" : { "b" : [ 1 , 2 ] } }',
        '{"grüße":"\\ud83d\\ude00"}'.encode(),
        b'{"a":{"x":1},"b":{"x":1}}',
    ],
)
def test_plain_documents_are_read_as_json_reads_them(text: bytes) -> None:
    assert parse(text) == json.loads(text)


def test_a_document_larger_than_the_bound_is_refused_before_it_is_read() -> None:
    with pytest.raises(Malformed, match="larger than 10 bytes"):
        parse(b'"01234567890"', JsonLimits(size=10))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
documents = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(documents, st.sampled_from([None, 1]), st.booleans())
def test_every_document_comes_through_unchanged_however_it_is_spaced_or_escaped(
    document: Any, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    assert parse(text.encode()) == document


members = st.tuples(st.sampled_from(["a", "b", "\\u0061", "c:d", "e\\u003af", '\\"']), st.sampled_from("012"))


@given(st.lists(members, max_size=5), st.sampled_from(["", " "]))
@example([("a", "1"), ("\\u0061", "1")], "")
def test_an_object_is_refused_exactly_when_two_of_its_keys_are_equal(pairs: list[tuple[str, str]], space: str) -> None:
    text = ("{" + f",{space}".join(f'"{key}":{space}{value}' for key, value in pairs) + "}").encode()
    names = [json.loads(f'"{key}"') for key, _ in pairs]
    if len(set(names)) == len(names):
        assert list(parse(text)) == names
    else:
        with pytest.raises(Malformed):
            parse(text)


fragments = st.sampled_from(
    b'{ } [ ] , : " "a" "a":1 1 - e9 \\u003a \\ud83d 9007199254740993 \x00 \xff true null NaN'.split(b" ")
)


@settings(max_examples=400)
@given(st.lists(fragments, max_size=24).map(b"".join) | st.binary(max_size=64))
def test_no_bytes_crash_it_and_what_it_accepts_the_slow_inspection_accepts_too(text: bytes) -> None:
    try:
        value = parse(text)
    except Malformed:
        return
    strict_json._inspect(text, value, strict_json.DEFAULT_BOUNDS)
    assert value == json.loads(text)
