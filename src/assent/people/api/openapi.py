"""Renders the table of operations as an OpenAPI document."""

from __future__ import annotations

import re
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from assent.core.refusals import CATALOGUE
from assent.people.api.problems import FAULTS
from assent.people.api.routes import ID, NAME, Route
from assent.people.api.table import ROUTES, SCHEMAS

_ALWAYS = ("api.malformed", "api.foreign_origin", "api.wrong_host")
_KNOWN = ("authenticate.missing", "authenticate.invalid", "record.unavailable", "api.unavailable")
_WITH_BODY = ("api.too_large", "api.not_json", "api.invalid")


def document(server: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document of the whole API."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Assent",
            "version": version("assent"),
            "description": "Approvals, claims, the audit log and the tools of one gateway.",
        },
        "servers": [{"url": server}],
        "security": [{"bearer": []}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or an OAuth token."},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    said: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.path.split("/")[2].removesuffix(".json")],
        "summary": route.says,
        "description": f"For {route.who}.",
        "parameters": _parameters(route),
        "responses": {"200": _response("Done.", "application/json", route.gives), **_problems(route)},
    }
    if route.body is not None:
        # Even an empty one: no page of another origin can send JSON without being asked first.
        said["requestBody"] = {"required": True, "content": {"application/json": {"schema": route.body}}}
    return said | ({"security": []} if route.handler is None else {})


def _parameters(route: Route) -> list[dict[str, Any]]:
    pattern = {"tool": NAME}
    inside = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": f"^{pattern.get(name, ID)}$"},
        }
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]
    return inside + [
        {"name": one.name, "in": "query", "description": one.says, "schema": one.schema} for one in route.parameters
    ]


def codes_of(route: Route) -> tuple[str, ...]:
    """Every code with which an operation can be refused."""
    codes = _ALWAYS + (_KNOWN if route.handler is not None else ())
    return codes + (_WITH_BODY if route.body is not None else ()) + route.refusals


def _problems(route: Route) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code in codes_of(route):
        kind = FAULTS[code] if code in FAULTS else CATALOGUE[code]
        by_status.setdefault(kind.status, []).append(code)
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        str(status): _response(f"{HTTPStatus(status).phrase}: {', '.join(codes)}", "application/problem+json", schema)
        for status, codes in sorted(by_status.items())
    }


def _response(says: str, media: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": says, "content": {media: {"schema": schema}}}


def docs_problems() -> str:
    """The table of the API's own problems for the reference."""
    lines = ["| code | status | what it says | remedy |", "|---|---|---|---|"]
    lines += [f"| `{code}` | {kind.status} | {kind.title} | {kind.remedy} |" for code, kind in FAULTS.items()]
    return "\n".join(lines)
