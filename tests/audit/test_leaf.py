"""Does a leaf hold nothing personal, commit to everything, and survive erasure?"""

import random

import orjson
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from assent.audit.leaf import BadEntry, seal
from assent.audit.leaf_reader import check, commit, leaf_bytes, pack, parse_leaf, redact, unpack
from assent.audit.verifier import matches
from assent.contract.digest import NotCanonicalError, canonical
from support.audit.log_parts import redaction
from support.audit.logs import START

FACTS = {"claim": "c_1", "tool": "place_order", "tier": "external_spend", "risk": "critical", "mode": "live"}
VALUES = {"principal": {"id": "ann@example.com"}, "arguments": {"item": "scene", "amount": 120.5}}


def sealed(facts=FACTS, values=VALUES, kind="intent"):
    return seal(kind, START, facts, values, random.Random(1).randbytes)


def test_a_leaf_is_canonical_json_of_facts_and_commitments():
    row = sealed()
    body = orjson.loads(row.leaf)
    assert body.keys() == {"at", "commitments", "facts", "kind", "v"}
    assert body["facts"] == FACTS
    assert rfc8785.dumps(body) == row.leaf
    assert parse_leaf(row.leaf).commitments.keys() == VALUES.keys()


def test_no_value_and_no_salt_is_in_a_leaf():
    row = sealed()
    _, salts = unpack(row.values)
    for secret in (b"ann", b"scene", b"120", *salts.values()):
        assert secret not in row.leaf


def test_equal_values_give_different_commitments():
    values = {"one": "same", "two": "same"}
    salts = {name: name[0].encode() * 16 for name in values}
    assert len(set(commit(values, salts).values())) == 2
    same_salt = dict.fromkeys(values, b"s" * 16)
    assert len(set(commit(values, same_salt).values())) == 2


def test_values_are_checked_against_the_leaf():
    row = sealed()
    values, salts = unpack(row.values)
    assert check(row.leaf, values, salts) == []
    assert check(row.leaf, {name: orjson.loads(value) for name, value in values.items()}, salts) == []
    assert check(row.leaf, {**values, "arguments": b"{}"}, salts) == ["arguments"]
    assert check(row.leaf, values, {**salts, "principal": b"x" * 16}) == ["principal"]
    assert check(row.leaf, {**values, "more": b"1"}, {**salts, "more": b"x" * 16}) == ["more"]
    assert check(row.leaf, values, {}) == ["arguments", "principal"]
    assert matches(row.leaf, row.values)
    assert not matches(row.leaf, b"")


def test_an_entry_without_values_has_none_beside_it():
    row = sealed(facts={"action": "reload"}, values={}, kind="operator")
    assert row.values is None
    assert matches(row.leaf, b"")
    assert unpack(None) == ({}, {})


def test_erasing_a_value_takes_its_salt_and_leaves_the_leaf_and_the_rest():
    row = sealed()
    rest = redact(row.values, ["arguments"])
    values, salts = unpack(rest)
    assert values.keys() == salts.keys() == {"principal"}
    assert unpack(row.values)[1]["arguments"] not in rest
    assert b"scene" not in rest
    assert check(row.leaf, values, salts) == []
    assert redact(rest, ["principal"]) is None
    with pytest.raises(BadEntry, match="no value to erase for arguments"):
        redact(rest, ["arguments"])


def test_an_erasure_is_an_entry_that_names_entry_and_fields():
    row = redaction(17, ["b", "a"], START, {"operator": "ann"}, random.Random(1).randbytes)
    leaf = parse_leaf(row.leaf)
    assert (leaf.kind, leaf.facts["entry"], leaf.facts["fields"]) == ("redaction", 17, ["a", "b"])
    assert leaf.commitments.keys() == {"operator"}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"email": "x"}, "not a fact of a leaf"),
        ({"tool": 3}, "of type str"),
        ({"count": True}, "of type int"),
        ({"tool": "two words"}, "printable ASCII"),
        ({"tool": ""}, "printable ASCII"),
        ({"tool": "x" * 513}, "printable ASCII"),
        ({"tool": "na\u00efve"}, "printable ASCII"),
        ({"tool": 'a"b'}, "printable ASCII"),
        ({"tool": "a\\b"}, "printable ASCII"),
        ({"tool": "a\x00"}, "printable ASCII"),
        ({"count": -1}, "whole number"),
        ({"count": 2**53}, "leaf cannot be written"),
        ({"fields": [1]}, "printable ASCII"),
        ({"fields": []}, "printable ASCII"),
        ({"fields": [["a"]]}, "printable ASCII"),
    ],
)
def test_a_fact_that_does_not_belong_in_a_leaf_is_refused(facts, words):
    with pytest.raises(BadEntry, match=words):
        leaf_bytes("intent", START, facts, {})


@pytest.mark.parametrize("at", [-1, 1.5, True, 10**15, "now"])
def test_a_time_that_is_none_is_refused(at):
    with pytest.raises(BadEntry, match="not a time"):
        leaf_bytes("intent", at, {}, {})


def test_an_unknown_kind_and_a_wrong_commitment_are_refused():
    with pytest.raises(BadEntry, match="not a kind of entry"):
        leaf_bytes("gossip", START, {}, {})
    for commitments in ({"a": "short"}, {"A": "x" * 43 + "="}, {"": "x" * 43 + "="}):
        with pytest.raises(BadEntry):
            leaf_bytes("intent", START, {}, commitments)


def test_a_leaf_beyond_the_limit_is_refused_not_cut():
    values = {f"field_{number}": number for number in range(1200)}
    with pytest.raises(BadEntry, match="at most 65535 bytes"):
        sealed(values=values)


def test_a_hostile_value_of_64_kib_is_recorded_as_it_is():
    hostile = '\u202e\x00\ud7ff{}"\\' * 8000
    row = sealed(values={"arguments": {"text": hostile}})
    assert len(row.leaf) < 1000
    values, _ = unpack(row.values)
    assert orjson.loads(values["arguments"])["text"] == hostile
    assert matches(row.leaf, row.values)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, "\ud800", {1: 2}, object(), b"x".decode])
def test_a_value_without_canonical_json_is_refused(value):
    with pytest.raises(BadEntry, match="the value of arguments cannot be recorded"):
        sealed(values={"arguments": value})
    with pytest.raises(NotCanonicalError):
        canonical(value)


def test_a_field_name_is_checked():
    for name in ("", "Upper", "a b", "9", "a" * 64, "\u00e9"):
        with pytest.raises(BadEntry, match="is not a field name"):
            sealed(values={name: 1})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_canonical_is_rfc_8785_whichever_way_it_is_taken(value):
    try:
        expected = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        with pytest.raises(NotCanonicalError):
            canonical(value)
    else:
        assert canonical(value) == expected


def test_the_examples_of_rfc_8785_are_reproduced():
    assert canonical({"numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001]}) == (
        b'{"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}'
    )
    assert canonical({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}) == (
        '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'.encode()
    )
    assert canonical([56, {"d": True, "10": None, "1": []}]) == b'[56,{"1":[],"10":null,"d":true}]'


@given(st.binary(max_size=80))
def test_torn_values_are_refused_or_read_never_crash(blob):
    try:
        values, salts = unpack(blob)
    except BadEntry:
        return
    assert values.keys() == salts.keys()
    assert matches(b"{}", blob) is False


@given(st.binary(max_size=200))
def test_bytes_that_are_no_leaf_are_refused(data):
    with pytest.raises(BadEntry):
        parse_leaf(data)


@pytest.mark.parametrize(
    "change",
    [
        lambda leaf: leaf.replace(b'{"at"', b'{ "at"'),
        lambda leaf: leaf.replace(b',"v":1}', b',"v":2}'),
        lambda leaf: leaf.replace(b',"v":1}', b',"v":1,"w":1}'),
        lambda leaf: leaf.replace(b'"kind":"intent"', b'"kind":"gossip"'),
        lambda leaf: leaf.replace(b'"tool":', b'"tail":'),
        lambda leaf: leaf.replace(b'"at":1', b'"at":-1'),
    ],
)
def test_a_leaf_is_read_only_if_it_is_exactly_canonical(change):
    with pytest.raises(BadEntry):
        parse_leaf(change(sealed().leaf))


def test_a_value_that_is_there_twice_is_refused():
    row = sealed(values={"a": 1})
    with pytest.raises(BadEntry, match="twice"):
        unpack(row.values + row.values)


@pytest.mark.parametrize("size", range(18))
def test_a_value_too_short_for_salt_and_name_is_torn(size):
    with pytest.raises(BadEntry, match="torn"):
        unpack(size.to_bytes(4, "big") + bytes(size))


TEXTS = st.text(max_size=6) | st.sampled_from(
    ["a b", 'a"b', "a\\b", "x" * 512, "x" * 513, "", "\x7f", "\ud800", "é", "a[]"]
)
NUMBERS = st.integers(-2, 2) | st.sampled_from([2**53 - 1, 2**53, 10**16])
SAID = st.dictionaries(
    st.sampled_from(["tool", "claim", "would", "fields", "epoch", "count", "dry_run", "principal"]),
    TEXTS | NUMBERS | st.booleans() | st.none() | st.lists(TEXTS | NUMBERS, max_size=3),
    max_size=4,
)
KEPT = st.dictionaries(st.sampled_from(["arguments", "call", "tenant", "Bad"]), TEXTS | st.lists(NUMBERS), max_size=3)


@given(SAID, KEPT)
def test_an_entry_is_sealed_as_its_leaf_is_written_or_refused_by_both(facts, values):
    salts = {name: bytes(range(at * 16, at * 16 + 16)) for at, name in enumerate(sorted(values))}
    try:
        expected = leaf_bytes("intent", START, facts, commit(values, salts)), pack(values, salts)
    except BadEntry:
        with pytest.raises(BadEntry):
            seal("intent", START, facts, values, lambda count: bytes(range(count)))
        return
    assert seal("intent", START, facts, values, lambda count: bytes(range(count))) == expected
    assert matches(expected[0], expected[1] or b"")


def test_salts_that_are_too_short_are_refused():
    with pytest.raises(BadEntry, match="16 bytes"):
        seal("intent", START, FACTS, {"arguments": {}}, lambda count: b"short")


def test_packing_is_the_reverse_of_unpacking():
    row = sealed()
    assert pack(*unpack(row.values)) == row.values
