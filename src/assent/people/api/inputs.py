"""Checks the query and the body of an operation, for `/api` and for the console's forms alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from assent.contract.documents import schema_validator
from assent.core.tool import sentence
from assent.people.api.problems import ApiProblem
from assent.people.api.routes import Handler, Route
from assent.people.api.table import ROUTES

MOST_QUERY = 4096
_BODIES = {route.name: schema_validator(route.body) for route in ROUTES if route.body is not None}
_BY_HANDLER = {route.handler: route for route in ROUTES}


def read_query(route: Route, raw: bytes) -> dict[str, Any]:
    """The parameters of a query, each read as its operation declares it."""
    if len(raw) > MOST_QUERY:
        raise ApiProblem("api.malformed", "The query is too long.")
    try:
        given = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
    except ValueError:
        raise ApiProblem("api.malformed", "The query cannot be read.") from None
    known, read = {one.name: one for one in route.parameters}, dict[str, Any]()
    for name, value in given:
        if name not in known:
            there = f"There are {', '.join(known)}." if known else "There are none here."
            raise ApiProblem("api.malformed", f"There is no such parameter. {there}")
        if name in read:
            raise ApiProblem("api.malformed", f"{name} is given twice.")
        read[name] = known[name].read(value)
    return read


def check_body(route: Route, value: Any) -> dict[str, Any]:
    """A body that fits its operation's schema; ApiProblem names the first fault."""
    validator = _BODIES[route.name]
    checks, too_large = validator.measure(value)
    if too_large is not None:
        raise ApiProblem("api.invalid", f"The body: {too_large}.")
    for fault in [] if validator.fits(value) else validator.first_errors(value, checks, 1):
        where = "/".join(map(str, fault.instance_path))
        raise ApiProblem("api.invalid", f"{where or 'The body'}: {sentence(fault)}.")
    body: dict[str, Any] = value
    return body


def form_query(handler: Handler, fields: Mapping[str, str]) -> dict[str, Any]:
    """The filters of a page, read as the operation behind it declares them; empty fields are no filter."""
    known = {one.name: one for one in _BY_HANDLER[handler].parameters}
    return {name: known[name].read(value) for name, value in fields.items() if value and name in known}


def form_body(handler: Handler, value: Mapping[str, Any]) -> dict[str, Any]:
    """What a form says, checked like the body of the operation that it stands for."""
    return check_body(_BY_HANDLER[handler], dict(value))
