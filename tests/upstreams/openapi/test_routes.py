"""Paths that belong to a neighbour."""

from __future__ import annotations

import pytest

from assent.upstreams.openapi.operations import ApiOperation
from assent.upstreams.openapi.tools import Routes

PATHS = ["/orders/{id}", "/orders/all", "/orders/{id}/items", "/files/{path}/raw", "/files/{id}/secret/raw", "/{a}/{b}"]


@pytest.mark.parametrize(
    ("template", "path", "spans", "neighbour"),
    [
        ("/orders/{id}", "/orders/1", False, False),
        ("/orders/{id}", "/orders/all", False, True),
        ("/orders/{id}", "/orders/%61LL", False, True),
        ("/orders/all", "/orders/all", False, False),
        ("/{a}/{b}", "/orders/1", False, True),
        ("/{a}/{b}", "/things/1", False, False),
        ("/files/{path}/raw", "/files/a/raw", True, False),
        ("/files/{path}/raw", "/files/a/b/raw", True, False),
        ("/files/{path}/raw", "/files/a/secret/raw", True, True),
    ],
)
def test_what_an_operation_takes_as_a_value_another_may_have_as_a_word(
    template: str, path: str, spans: bool, neighbour: bool
) -> None:
    routes = Routes([ApiOperation("get", one) for one in PATHS])
    assert routes.is_neighbours(ApiOperation("get", template), path, spans=spans) is neighbour


def test_an_operation_of_another_method_is_no_neighbour() -> None:
    routes = Routes([ApiOperation("get", "/orders/{id}"), ApiOperation("delete", "/orders/all")])
    assert not routes.is_neighbours(ApiOperation("get", "/orders/{id}"), "/orders/all", spans=False)
