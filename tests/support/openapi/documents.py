"""Which documents do these tests read? Small ones of their own."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import settings

from assent.upstreams.openapi.document import DocumentSet, library_of
from assent.upstreams.openapi.tools import ApiDescription, read_api

THE_SAME = settings(deadline=None, derandomize=True)
"""Every run tries the same examples, however slow the machine."""


def document(paths: dict[str, Any] | None = None, *, version: str = "3.1.0", **more: Any) -> dict[str, Any]:
    """A document of these paths."""
    return {"openapi": version, "info": {"title": "A service", "version": "1"}, "paths": paths or {}, **more}


def library(paths: dict[str, Any] | None = None, **more: Any) -> DocumentSet:
    return library_of(json.dumps(document(paths, **more)), "service.json")


def api(paths: dict[str, Any] | None = None, *, infer: Any = None, **more: Any) -> ApiDescription:
    return read_api(library(paths, **more), infer=infer)


def ok(schema: Any = None, media: str = "application/json") -> dict[str, Any]:
    """Responses of an operation that answers 200."""
    return {"200": {"description": "ok", "content": {media: {"schema": {} if schema is None else schema}}}}


def sending(schema: Any, media: str = "application/json", *, required: bool = True) -> dict[str, Any]:
    """A request body."""
    return {"required": required, "content": {media: {"schema": schema}}}


def parameter(name: str, location: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    needed = {"required": True} if location == "path" else {}
    return {"name": name, "in": location, "schema": schema or {"type": "string"}, **needed, **more}


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


PROBLEM = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "title": {"type": "string"}, "detail": {"type": "string"}},
}


def problem(description: str, schema: Any = None) -> dict[str, Any]:
    return {"description": description, "content": {"application/problem+json": {"schema": schema or PROBLEM}}}


ORDERS: dict[str, Any] = document(
    {
        "/orders": {
            "get": {
                "operationId": "list_orders",
                "summary": "List orders",
                "parameters": [
                    parameter("status", "query", {"type": "array", "items": {"type": "string"}}),
                    parameter("X-Api-Key", "header"),
                ],
                "responses": ok({"type": "array", "items": ref("Order")}),
            },
            "post": {
                "operationId": "place_order",
                "summary": "Place an order",
                "tags": ["Orders"],
                "x-side-effect": "external_spend",
                "x-required-scope": "orders:write",
                "x-produces": ["order"],
                "parameters": [parameter("Idempotency-Key", "header", required=True)],
                "requestBody": sending(ref("NewOrder")),
                "responses": {
                    "201": {"description": "Placed", "content": {"application/json": {"schema": ref("Order")}}},
                    "402": problem("The card was declined.", ref("CardProblem")),
                    "409": problem("The item is sold out."),
                    "500": problem("The service failed."),
                },
            },
        },
        "/orders/{id}": {
            "parameters": [parameter("id", "path")],
            "get": {
                "operationId": "get_order",
                "summary": "Get an order",
                "responses": {**ok(ref("Order")), "404": problem("There is no such order.")},
            },
            "delete": {
                "operationId": "delete_order",
                "summary": "Delete an order",
                "responses": {"204": {"description": "Gone"}, "404": problem("There is no such order.")},
            },
        },
        "/orders/{id}/secret": {
            "get": {"operationId": "secret", "parameters": [parameter("id", "path")], "responses": ok()}
        },
        "/events": {
            "get": {"operationId": "list_events", "responses": ok({}, "application/x-ndjson")},
        },
    },
    components={
        "schemas": {
            "NewOrder": {
                "type": "object",
                "properties": {"item": {"type": "string"}, "amount": {"type": "integer", "minimum": 1}},
                "required": ["item"],
            },
            "Order": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "item": {"type": "string"}, "amount": {"type": "integer"}},
                "required": ["id", "item"],
            },
            "CardProblem": {"type": "object", "properties": {"code": {"enum": ["CARD_DECLINED", "CARD_EXPIRED"]}}},
        }
    },
)
"""An orders service that describes its problems."""
