"""Names of tools."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from assent.upstreams.openapi.operations import ApiOperation
from assent.upstreams.openapi.tools import name_operations
from support.openapi.documents import THE_SAME


def names(*given: tuple[str, str, str]) -> list[str]:
    return name_operations([ApiOperation(method, path, identifier) for identifier, method, path in given])[0]


def test_an_id_that_can_be_a_name_is_the_name() -> None:
    assert names(("orders.place", "post", "/o"), ("_internal-x", "get", "/x")) == ["orders.place", "_internal-x"]


def test_an_operation_without_an_id_is_named_after_its_place() -> None:
    assert names(("", "get", "/orders/{id}"), ("", "delete", "/")) == ["get_orders_id", "delete"]


def test_odd_ids_are_made_names() -> None:
    assert names(("List all — orders!", "get", "/a"), ("日本", "get", "/b")) == ["List_all_orders", "get_b"]


def test_operations_that_share_an_id_are_all_named_after_their_places() -> None:
    assert names(("do", "get", "/a"), ("do", "post", "/a"), ("dont", "get", "/b")) == ["get_a", "post_a", "dont"]


def test_a_name_made_from_a_place_never_takes_an_id() -> None:
    found = names(("", "get", "/a"), ("get_a", "get", "/b"))
    assert found[1] == "get_a"
    assert found[0].startswith("get_a_")


def test_every_change_of_name_is_a_finding_that_says_what_to_do() -> None:
    _, findings = name_operations([ApiOperation("get", "/a", ""), ApiOperation("get", "/b", "fine")])
    assert [str(finding) for finding in findings] == [
        "GET /a: has no operationId; its tool is called 'get_a'. Give it an operationId of its own"
    ]


_ids = st.sampled_from(["", "a", "b", "a b", "a_b", "x" * 300, "get_p1", "é"]) | st.text(max_size=5)
_operations = st.lists(
    st.tuples(
        _ids, st.sampled_from(["get", "post"]), st.sampled_from([f"/p{n}" for n in range(9)] + ["/{p1}", "/p/1"])
    ),
    max_size=12,
    unique_by=lambda one: (one[1], one[2]),
)


@THE_SAME
@given(_operations, st.randoms(use_true_random=False))
def test_names_are_unique_usable_and_do_not_depend_on_the_order(
    given_operations: list[tuple[str, str, str]], chance: random.Random
) -> None:
    found = dict(zip(given_operations, names(*given_operations), strict=True))
    assert len(set(found.values())) == len(found)
    assert all(0 < len(name) <= 128 and name.isascii() for name in found.values())
    shuffled = list(given_operations)
    chance.shuffle(shuffled)
    assert dict(zip(shuffled, names(*shuffled), strict=True)) == found
