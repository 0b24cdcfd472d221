"""The conversations of flow control: what entered them and what was decided, without values."""

from __future__ import annotations

from typing import Any

from assent.people.api.operation import ApiRequest, get
from assent.people.api.upstreams import check_staff


@get("/api/conversations", "ConversationList", who="roles operator, auditor and admin", refusals=("api.not_entitled",))
async def list_conversations(asked: ApiRequest) -> dict[str, Any]:
    """List the conversations of flow control on this replica: what entered, and what was decided."""
    check_staff(asked.principal, "Conversations are")
    flow = asked.ports.rules.flow
    found = flow.report(asked.principal.tenant) if flow is not None else []
    return {"mode": flow.mode if flow is not None else "off", "conversations": found}
