"""The OpenAPI document of all operations."""

from __future__ import annotations

import re
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import yaml
from pydantic import TypeAdapter

from assent.core.problems import CATALOGUE
from assent.people.api import (  # noqa: F401 - importing a module declares its operations
    accounts,
    approvals,
    audit,
    audit_entry,
    claims,
    connections,
    definitions,
    feed,
    keys,
    operations,
    overview,
    switches,
    tools,
)
from assent.people.api.fields import ID, PlainSchema
from assent.people.api.operation import OPERATIONS, PATTERNS, Operation
from assent.people.api.problems import FAULTS

_PLACE = "#/components/schemas/"
_ALWAYS = ("api.malformed", "api.foreign_origin", "api.wrong_host")
_KNOWN = ("authenticate.missing", "authenticate.invalid", "record.unavailable", "api.unavailable")
_WITH_BODY = ("api.too_large", "api.not_json", "api.invalid")


DOCUMENT = Operation(
    "GET", "/api/openapi.json", "openapi", "This document.", "everybody, without credentials", gives="Document"
)
ALL: tuple[Operation, ...] = (
    *sorted(OPERATIONS.values(), key=lambda one: (one.path.split("/")[2], "{" in one.path)),
    DOCUMENT,
)
"""Every operation; of one collection those without a name in the path come first."""


def document(server: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document of the whole API."""
    paths: dict[str, dict[str, Any]] = {}
    for one in ALL:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
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
            "schemas": _schemas(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "An API key or an OAuth token."},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


@cache
def _schemas() -> dict[str, Any]:
    """The answers as they are described in `answers.yaml`, and the bodies as their types say, by name."""
    answers = yaml.safe_load((files("assent.people.api") / "answers.yaml").read_text("utf-8"))
    wanted: list[Any] = [(one.name, "validation", TypeAdapter(one.body)) for one in ALL if one.body is not None]
    bodies = TypeAdapter.json_schemas(wanted, ref_template=_PLACE + "{model}", schema_generator=PlainSchema)[1]["$defs"]
    return dict(sorted({**answers, **bodies}.items()))


def _operation(one: Operation) -> dict[str, Any]:
    said: dict[str, Any] = {
        "operationId": one.name,
        "tags": [one.path.split("/")[2].removesuffix(".json")],
        "summary": one.says,
        "description": f"For {one.who}.",
        "parameters": _parameters(one),
        "responses": {"200": _response("Done.", "application/json", one.gives), **_problems(one)},
    }
    if one.body is not None:
        said["requestBody"] = {"required": True, "content": {"application/json": {"schema": _place(one.body.__name__)}}}
    return said | ({"security": []} if one.handler is None else {})


def _parameters(one: Operation) -> list[dict[str, Any]]:
    inside = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": f"^{PATTERNS.get(name, ID)}$"},
        }
        for name in re.findall(r"\{(\w+)\}", one.path)
    ]
    return inside + [
        {"name": name, "in": "query", "description": schema.pop("description", ""), "schema": schema}
        for name, schema in one.schema("query").get("properties", {}).items()
    ]


def codes_of(one: Operation) -> tuple[str, ...]:
    """Every code with which an operation can be refused."""
    codes = _ALWAYS + (_KNOWN if one.handler is not None else ())
    return codes + (_WITH_BODY if one.body is not None else ()) + one.refusals


def _problems(one: Operation) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code in codes_of(one):
        kind = FAULTS[code] if code in FAULTS else CATALOGUE[code]
        by_status.setdefault(kind.status, []).append(code)
    return {
        str(status): _response(
            f"{HTTPStatus(status).phrase}: {', '.join(codes)}", "application/problem+json", "Problem"
        )
        for status, codes in sorted(by_status.items())
    }


def _response(says: str, media: str, name: str) -> dict[str, Any]:
    return {"description": says, "content": {media: {"schema": _place(name)}}}


def _place(name: str) -> dict[str, Any]:
    return {"$ref": _PLACE + name}
