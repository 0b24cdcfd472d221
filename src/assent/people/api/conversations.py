"""The conversations of flow control: what entered them and what was decided, without values."""

from __future__ import annotations

from typing import Any

from assent.people.api.routes import ApiRequest, Route, Schema
from assent.people.api.upstreams import check_staff

CONVERSATION: Schema = {
    "type": "object",
    "description": "One conversation on this replica. Times are seconds since 1970.",
    "required": [
        "principal",
        "name",
        "used_at",
        "remembered",
        "forgot",
        "full",
        "user_text",
        "untrusted",
        "private",
        "events",
    ],
    "properties": {
        "principal": {"type": "string"},
        "name": {"type": "string", "description": "The client's name for it; empty if it gives none."},
        "used_at": {"type": "number"},
        "remembered": {"type": "integer", "description": "How many values and phrases are remembered."},
        "forgot": {"type": "boolean", "description": "Whether there was more than can be remembered."},
        "full": {"type": "boolean", "description": "Whether values of further calls and results are not remembered."},
        "user_text": {"type": "boolean", "description": "Whether the client passes on the user's words."},
        "untrusted": {"type": ["string", "null"], "description": "The tool that first returned untrusted content."},
        "private": {"type": ["string", "null"], "description": "The tool that first returned private data."},
        "events": {
            "type": "array",
            "description": "Results that entered and decisions, the newest first.",
            "items": {
                "type": "object",
                "required": ["at", "kind", "tool", "text"],
                "properties": {
                    "at": {"type": "number"},
                    "kind": {"type": "string", "enum": ["result", "decision"]},
                    "tool": {"type": "string"},
                    "text": {"type": "string"},
                },
            },
        },
    },
}


async def list_conversations(asked: ApiRequest) -> dict[str, Any]:
    check_staff(asked.principal, "Conversations are")
    flow = asked.ports.rules.flow
    found = flow.report(asked.principal.tenant) if flow is not None else []
    return {"mode": flow.mode if flow is not None else "off", "conversations": found}


ROUTES = (
    Route(
        "GET",
        "/api/conversations",
        "list_conversations",
        "List the conversations of flow control on this replica: what entered, and what was decided.",
        "roles operator, auditor and admin",
        list_conversations,
        {
            "type": "object",
            "required": ["mode", "conversations"],
            "properties": {
                "mode": {"type": "string", "enum": ["off", "observe", "ask", "refuse"]},
                "conversations": {"type": "array", "items": {"$ref": "#/components/schemas/Conversation"}},
            },
        },
        refusals=("api.not_entitled",),
    ),
)
