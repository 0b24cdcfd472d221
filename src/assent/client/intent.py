"""Intent: one call of the agent, frozen, with what is known about it so far."""

from __future__ import annotations

import asyncio
import hashlib
import secrets as random
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import orjson

from assent.client.catalogue import ListedTool
from assent.contract.digest import NotCanonicalError, canonical
from assent.core.outcome import Refusal
from assent.mcp.requests import CONVERSATION, MOST_USER_TEXT, USER_TEXT


class ConversationMeta:
    """The name of a conversation and the user's words in it."""

    def __init__(self, name: str | None = None) -> None:
        self._is_named, self.name, self._text = name is not None, name or random.token_urlsafe(12), ""

    def hear(self, user_text: str) -> None:
        """Add words of the user; the newest count if they are too many. Words that were heard are not added again."""
        if user_text and user_text in self._text:
            return
        self._text = f"{self._text}\n{user_text}".strip()[-MOST_USER_TEXT:]

    def over(self, meta: dict[str, Any] | None) -> dict[str, Any] | None:
        """The `_meta` of a call with the conversation, if it has a name or the user was heard."""
        if not self._is_named and not self._text:
            return meta
        words = {USER_TEXT: self._text} if self._text else {}
        return {**(meta or {}), CONVERSATION: self.name, **words}


@dataclass(slots=True)
class Intent:
    """One intended action; every attempt and every question belongs to it."""

    listed: ListedTool
    arguments: dict[str, Any]
    form: bytes
    agreed: bool = False
    question_open: float | None = None
    """For how many seconds the question was open to which the person said yes."""
    price: str | None = None
    preview: Any = None
    answered_server: bool = False
    timer: asyncio.Timeout | None = None
    _digest: str | None = None

    @property
    def digest(self) -> str:
        """Digest that makes two calls the same; computed at first use, because most calls need none."""
        if self._digest is None:
            self._digest = hashlib.sha256(self.name.encode() + b"\0" + self.form).hexdigest()
        return self._digest

    @property
    def name(self) -> str:
        return self.listed.tool.name


current: ContextVar[Intent | None] = ContextVar("assent_intent", default=None)


def make_intent(listed: ListedTool, arguments: Mapping[str, Any]) -> Intent:
    """Make an intent with a JSON copy of the arguments and without a key from the model."""
    plain = {name: value for name, value in arguments.items() if name != listed.key_argument}
    try:
        form = canonical(plain)
    except NotCanonicalError as error:
        raise Refusal("validate.malformed", f"The arguments are not plain JSON: {error}.") from None
    return Intent(listed, orjson.loads(form), form)


def is_rehearsal(intent: Intent) -> bool:
    """Whether the agent itself asks a trusted server for a dry run."""
    mode, argument = dry_run_of(intent.listed)
    return mode != "none" and intent.arguments.get(argument) is True


def dry_run_of(listed: ListedTool) -> tuple[str, str]:
    """Return the contract's dry-run mode and its argument; `none` if there is no contract."""
    said = listed.standing.contract.get("dry_run")
    if not isinstance(said, Mapping):
        return "none", ""
    mode, argument = said.get("mode"), said.get("argument")
    return (mode, argument) if mode in ("offered", "required") and isinstance(argument, str) else ("none", "")
