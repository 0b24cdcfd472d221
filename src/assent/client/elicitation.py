"""Answers questions (elicitations) of the server.

They go to the same asker as all other questions. If a person said yes to a call, the server's own confirmation of it
is not asked again, unless it says something new. Secrets are never given to a form.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import mcp_types as types
import orjson

from assent.client.catalogue import Intent, current
from assent.client.options import Journal
from assent.client.question import Answer, Question
from assent.client.tool_policy import same_price
from assent.core.deceptive_characters import BLANK, twin_of

_SENSITIVE = re.compile(
    r"secret|token|passw|passphrase|pass[ _-]?code|\bpwd|_pwd|credential|(api|private|access)[ _-]?key|"
    r"(seed|recovery|backup)[ _-]?(phrase|word|code|key)|mnemonic|otp|one-time|2fa|mfa|two[ _-]?factor|"
    r"(security|verification|authentication|login|sms)[ _-]?code|(\b|_)pin(\b|_)|cvv|cvc|card[ _-]?n|iban|"
    r"bank[ _-]?account|account[ _-]?number|social security|(\b|_)ssn(\b|_)",
    re.IGNORECASE,
)
_PREVIEW = "Preview, as the tool reported it:"


class ServerQuestions:
    """The elicitation callback of the client."""

    def __init__(self, ask: Callable[[Question, Intent | None], Awaitable[Answer]], journal: Journal) -> None:
        self._ask = ask
        self._journal = journal
        self.server = ""
        self.in_flight: list[Intent] = []

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        intent = self._intent()
        name = intent.name if intent else ""
        answer = await self._answer(params, intent)
        self._journal.note("server_answered", name, action=answer.action)
        accepted = answer.action == "accept"
        content: Any = dict(answer.content) if accepted and answer.content is not None else None
        return types.ElicitResult(action=answer.action, content=content)

    def _intent(self) -> Intent | None:
        """Return the call that the server asks about; None if it could be several."""
        asking = [one for one in self.in_flight if one is current.get()] or self.in_flight
        return asking[0] if len(asking) == 1 else None

    async def _answer(self, params: types.ElicitRequestParams, intent: Intent | None) -> Answer:
        name = intent.name if intent else ""
        if not isinstance(params, types.ElicitRequestFormParams):
            self._journal.note("server_asked", name, refused="it wants a page opened")
            return Answer("decline")
        fields = _fields(params)
        if _wants_secrets(params.message, fields):
            self._journal.note("server_asked", name, refused="it wants a secret in a form")
            return Answer("decline")
        if intent is not None and not fields and _confirms_the_same(params.message, intent):
            intent.answered_server = True
            self._journal.note("server_asked", name, answered="by the yes that was given")
            return Answer("accept")
        self._journal.note("server_asked", name)
        return await self._ask(self._question(params.message, fields, intent), intent)

    def _question(self, message: str, fields: Mapping[str, Any], intent: Intent | None) -> Question:
        if intent is None:
            return Question(self.server, "", "", None, words=message, schema=fields or None)
        listed = intent.listed
        return Question(
            self.server,
            intent.name,
            listed.title,
            listed.standing,
            orjson.loads(intent.form),
            why="the server wants to know something before it goes on",
            words=message,
            schema=fields or None,
        )


def _fields(params: types.ElicitRequestFormParams) -> Mapping[str, Any]:
    named = params.requested_schema.get("properties")
    return named if isinstance(named, Mapping) else {}


def _wants_secrets(message: str, fields: Mapping[str, Any]) -> bool:
    return bool(fields) and any(_SENSITIVE.search(_normalise_lookalikes(text)) for text in (message, *_texts(fields)))


def _normalise_lookalikes(text: str) -> str:
    """Return the text without invisible characters and with lookalike letters replaced."""
    plain = unicodedata.normalize("NFKD", text).lower()
    seen = (c for c in plain if not unicodedata.category(c).startswith(("C", "M")) and c not in BLANK)
    return "".join((twin_of(c) or c).lower() for c in seen)


def _texts(node: Any, depth: int = 6) -> Iterator[str]:
    """Yield every name and text in the fields of a form."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, Mapping | list) and depth:
        for item in (*node, *node.values()) if isinstance(node, Mapping) else node:
            yield from _texts(item, depth - 1)


def _confirms_the_same(message: str, intent: Intent) -> bool:
    """Whether this is the confirmation that a trusted contract announces, without anything new."""
    if not intent.agreed or intent.answered_server or intent.listed.standing.contract.get("confirmation") != "user":
        return False
    prices = [line.removeprefix("Price: ") for line in message.splitlines() if line.startswith("Price: ")]
    if not all(same_price(intent.price, price) for price in prices):
        return False
    return _PREVIEW not in message or intent.preview is not None
