"""The conversation of a client, as calls carry it in `_meta`."""

from __future__ import annotations

import secrets as random
from typing import Any

from assent.mcp.call_meta import CONVERSATION, MOST_USER_TEXT, USER_TEXT


class ConversationMeta:
    """The name of a conversation and the user's words in it."""

    def __init__(self, name: str | None = None) -> None:
        self._is_named, self.name, self._text = name is not None, name or random.token_urlsafe(12), ""

    def hear(self, user_text: str) -> None:
        """Add words of the user; the newest count if they are too many."""
        self._text = f"{self._text}\n{user_text}".strip()[-MOST_USER_TEXT:]

    def over(self, meta: dict[str, Any] | None) -> dict[str, Any] | None:
        """The `_meta` of a call with the conversation, if it has a name or the user was heard."""
        if not self._is_named and not self._text:
            return meta
        words = {USER_TEXT: self._text} if self._text else {}
        return {**(meta or {}), CONVERSATION: self.name, **words}
