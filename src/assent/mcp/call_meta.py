"""Reads what a client says of a call beside its arguments: the idempotency key, the conversation, the user's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.core.call import ConversationRef

META_KEY = "dev.assent/idempotencyKey"
HEADER = "idempotency-key"
CONVERSATION = "dev.assent/conversation"
USER_TEXT = "dev.assent/userText"
QUESTION_OPEN = "dev.assent/questionOpen"
"""For how many seconds the client's own question about this call was open before it was answered."""
MOST_QUESTION_OPEN = 86_400.0
MOST_NAME = 200
MOST_USER_TEXT = 16_384


def keys_of(header: str | None, meta: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Every key sent in the header or in `_meta`. `validate` checks that they agree and are usable."""
    meta_key = (meta or {}).get(META_KEY)
    if header is None and meta_key is None:
        return ()
    found: list[str] = []
    if header is not None:
        found.append(unquote(header))
    if meta_key is not None:
        found.append(meta_key if isinstance(meta_key, str) else "")
    return tuple(found)


def header_of(headers: Any) -> str | None:
    """The key header of a Starlette request; two headers give a value that `validate` refuses."""
    sent = [] if headers is None else headers.getlist(HEADER)
    return '"' if len(sent) > 1 else next(iter(sent), None)


def unquote(value: str) -> str:
    """The text of a structured-field string; a bare value is returned as it is, an invalid one as empty text."""
    text = value.strip(" \t")
    if not text.startswith('"'):
        return text
    if len(text) < 2 or not text.endswith('"'):
        return ""
    inner, characters, escaped = text[1:-1], [], False
    for character in inner:
        if escaped:
            if character not in '"\\':
                return ""
            characters.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            return ""
        else:
            characters.append(character)
    return "" if escaped else "".join(characters)


def conversation_of(meta: Mapping[str, Any] | None) -> ConversationRef | None:
    """The conversation and the user's words; None if `_meta` has neither. Values that are no text are ignored."""
    if not meta or (CONVERSATION not in meta and USER_TEXT not in meta):
        return None
    name, text = meta.get(CONVERSATION), meta.get(USER_TEXT)
    return ConversationRef(
        name[:MOST_NAME] if isinstance(name, str) else "", text[-MOST_USER_TEXT:] if isinstance(text, str) else ""
    )


def claimed_seconds(meta: Mapping[str, Any] | None) -> float | None:
    """How long the client says that its own question was open. It is a claim."""
    given = (meta or {}).get(QUESTION_OPEN)
    if not isinstance(given, int | float) or isinstance(given, bool) or not 0 <= given <= MOST_QUESTION_OPEN:
        return None
    return float(given)


def client_name(info: Any) -> str:
    """The name that a client gives itself, from its `clientInfo`."""
    name = info.get("name") if isinstance(info, Mapping) else None
    return name[:MOST_NAME] if isinstance(name, str) else ""
