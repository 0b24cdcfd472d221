"""All operations of the API: routing, the OpenAPI document and the docs table are made from this table."""

from __future__ import annotations

from assent.people.api import (
    accounts,
    approval_batches,
    approvals,
    audit,
    audit_entry,
    claims,
    connections,
    conversations,
    definitions,
    feed,
    keys,
    operations,
    overview,
    switches,
    tools,
    upstreams,
)
from assent.people.api.routes import Route, Schema

DOCUMENT = Route(
    "GET",
    "/api/openapi.json",
    "openapi",
    "This document.",
    "everybody, without credentials",
    None,
    {"type": "object", "required": ["openapi", "info", "paths"]},
)

ROUTES: tuple[Route, ...] = (
    *approval_batches.ROUTES,
    *approvals.ROUTES,
    *claims.ROUTES,
    *feed.ROUTES,
    *operations.ROUTES,
    *audit.ROUTES,
    *audit_entry.ROUTES,
    *tools.ROUTES,
    *definitions.ROUTES,
    *upstreams.ROUTES,
    *connections.ROUTES,
    *conversations.ROUTES,
    *switches.ROUTES,
    *keys.ROUTES,
    *accounts.ROUTES,
    *overview.ROUTES,
    DOCUMENT,
)

PROBLEM: Schema = {
    "type": "object",
    "description": "RFC 9457: what is wrong, and what to do about it.",
    "required": ["type", "title", "status", "detail", "code", "remedy", "retryable"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "remedy": {"type": "string"},
        "retryable": {"type": "boolean"},
    },
}

SCHEMAS: dict[str, Schema] = {
    "Approval": approvals.APPROVAL,
    "Claim": claims.CLAIM,
    "ActivityLine": feed.LINE,
    "Operation": operations.OPERATION,
    "Entry": audit.ENTRY,
    "Tool": tools.TOOL,
    "Withheld": tools.WITHHELD,
    "DefinitionChange": definitions.CHANGE,
    "Upstream": upstreams.UPSTREAM,
    "Conversation": conversations.CONVERSATION,
    "Connection": connections.CONNECTION,
    "Switch": switches.SWITCH,
    "Key": keys.KEY,
    "Account": accounts.ACCOUNT_SCHEMA,
    "Problem": PROBLEM,
}
