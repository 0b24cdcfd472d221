"""Reads what a client says of the conversation that a call belongs to, from `_meta`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.core.call import ConversationRef

CONVERSATION = "dev.assent/conversation"
USER_TEXT = "dev.assent/userText"
MOST_NAME = 200
MOST_USER_TEXT = 16_384


def conversation_of(meta: Mapping[str, Any] | None) -> ConversationRef | None:
    """The conversation and the user's words; None if `_meta` has neither. Values that are no text are ignored."""
    if not meta or (CONVERSATION not in meta and USER_TEXT not in meta):
        return None
    name, text = meta.get(CONVERSATION), meta.get(USER_TEXT)
    return ConversationRef(
        name[:MOST_NAME] if isinstance(name, str) else "", text[-MOST_USER_TEXT:] if isinstance(text, str) else ""
    )
