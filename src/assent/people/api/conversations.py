"""The conversations of flow control: what entered them and what was decided, without values."""

from __future__ import annotations

from typing import Annotated, Any

from typing_extensions import TypedDict

from assent.people.api.fields import OneOf
from assent.people.api.operation import ApiRequest, get
from assent.people.api.upstreams import check_staff


class ConversationEvent(TypedDict):
    at: float
    kind: Annotated[str, OneOf(("result", "decision"))]
    tool: str
    text: str


class ConversationJson(TypedDict):
    """One conversation on this replica. Times are seconds since 1970."""

    principal: str
    name: Annotated[str, "The client's name for it; empty if it gives none."]
    used_at: float
    remembered: Annotated[int, "How many values and phrases are remembered."]
    forgot: Annotated[bool, "Whether there was more than can be remembered."]
    full: Annotated[bool, "Whether values of further calls and results are not remembered."]
    user_text: Annotated[bool, "Whether the client passes on the user's words."]
    untrusted: Annotated[str | None, "The tool that first returned untrusted content."]
    private: Annotated[str | None, "The tool that first returned private data."]
    events: Annotated[list[ConversationEvent], "Results that entered and decisions, the newest first."]


class ConversationList(TypedDict):
    mode: Annotated[str, OneOf(("off", "observe", "ask", "refuse"))]
    conversations: list[ConversationJson]


@get("/api/conversations", ConversationList, who="roles operator, auditor and admin", refusals=("api.not_entitled",))
async def list_conversations(asked: ApiRequest) -> dict[str, Any]:
    """List the conversations of flow control on this replica: what entered, and what was decided."""
    check_staff(asked.principal, "Conversations are")
    flow = asked.ports.rules.flow
    found = flow.report(asked.principal.tenant) if flow is not None else []
    return {"mode": flow.mode if flow is not None else "off", "conversations": found}
