"""The tools that a server lists, with their policies and changes, and one call of the agent, frozen."""

from __future__ import annotations

import asyncio
import hashlib
import secrets as random
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import orjson

from assent.client.connection import ConnectedClient
from assent.client.idempotency import KeyPlace, key_argument, place_of
from assent.client.options import ClientOptions, Journal
from assent.client.tool_policy import ToolPolicy, as_definition, declared_as, policy_of
from assent.contract.digest import NotCanonicalError, canonical
from assent.core.outcome import Refusal
from assent.core.pins import differences, pin_digest
from assent.mcp.requests import CONVERSATION, MOST_USER_TEXT, USER_TEXT

_MOST_PAGES = 100


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as the server listed it."""

    tool: types.Tool
    definition: Mapping[str, Any]
    digest: str
    standing: ToolPolicy
    place: KeyPlace | None
    key_argument: str | None
    changed: tuple[str, ...] = ()
    """Changes since the agent saw it first; empty once a person accepted them."""

    @property
    def title(self) -> str:
        annotated = self.tool.annotations.title if self.tool.annotations else None
        return self.tool.title or annotated or self.tool.name

    def for_model(self) -> types.Tool:
        """The tool without its key argument, because the model never writes a key."""
        if self.key_argument is None:
            return self.tool
        schema = dict(self.tool.input_schema)
        schema["properties"] = {k: v for k, v in schema["properties"].items() if k != self.key_argument}
        if isinstance(schema.get("required"), list):
            schema["required"] = [name for name in schema["required"] if name != self.key_argument]
        return self.tool.model_copy(update={"input_schema": schema})


class ServerCatalogue:
    """Tools by name. Later definitions are compared with the first one that the agent saw."""

    def __init__(self, client_options: ClientOptions, journal: Journal) -> None:
        self._client_options = client_options
        self._journal = journal
        self._tools: dict[str, ListedTool] = {}
        self._first: dict[str, ListedTool] = {}
        self._at: float | None = None
        self._changes = 0

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> ListedTool | None:
        return self._tools.get(name)

    @property
    def tools(self) -> list[ListedTool]:
        """Return the tools that the agent may see; forbidden tools are left out."""
        return [listed for listed in self._tools.values() if not listed.standing.forbidden]

    @property
    def is_stale(self) -> bool:
        return self._at is None or self._client_options.now() - self._at >= self._client_options.fresh_for

    def expire(self) -> None:
        self._at = None
        self._changes += 1

    async def fetch(self, client: ConnectedClient) -> None:
        """List the tools again. If two have the same name, the first one counts."""
        found: dict[str, ListedTool] = {}
        cursor: str | None = None
        changes = self._changes  # A list that changes while it is read is read again before the next call.
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            for tool in page.tools:
                if tool.name not in found:
                    found[tool.name] = self._list_tool(tool)
            cursor = page.next_cursor
            if cursor is None:
                break
        self._tools, self._at = found, self._client_options.now() if changes == self._changes else None

    def accept(self, listed: ListedTool) -> None:
        """Compare later definitions with this one, because a person agreed to call it."""
        if listed.changed:
            self._first[listed.tool.name] = listed
            current = self._tools.get(listed.tool.name)
            if current is not None and current.digest == listed.digest:
                self._tools[listed.tool.name] = self._policy_for(listed.tool, listed.definition, listed.digest, ())

    def _list_tool(self, tool: types.Tool) -> ListedTool:
        definition = as_definition(tool)
        digest = pin_digest(definition)
        current = self._tools.get(tool.name)
        if current is not None and current.digest == digest:
            return current
        first = self._first.get(tool.name)
        changed: tuple[str, ...] = ()
        if first is not None and first.digest != digest:
            changed = tuple(differences(first.definition, definition)[:20])
            self._journal.note("changed", tool.name, lines=list(changed))
        listed = self._policy_for(tool, definition, digest, changed)
        self._first.setdefault(tool.name, listed)
        return listed

    def _policy_for(
        self, tool: types.Tool, definition: Mapping[str, Any], digest: str, changed: tuple[str, ...]
    ) -> ListedTool:
        said = self._client_options.tiers.get(tool.name)
        options = self._client_options
        standing = (
            declared_as(said, tool) if said else policy_of(definition, trusted=options.trusted, profile=options.profile)
        )
        argument = key_argument(tool.input_schema, standing.contract)
        place = place_of(standing, tool.input_schema, by_header=self._client_options.keys_by_header)
        return ListedTool(tool, definition, digest, standing, place, argument, changed)


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


def plain_form(arguments: Mapping[str, Any]) -> bytes:
    """Return the arguments in the one form that equal arguments have; raise Refusal if they are not JSON."""
    try:
        return canonical(arguments)
    except NotCanonicalError as error:
        raise Refusal("validate.malformed", f"The arguments are not plain JSON: {error}.") from None


def make_intent(listed: ListedTool, arguments: Mapping[str, Any]) -> Intent:
    """Make an intent with a JSON copy of the arguments and without a key from the model."""
    form = plain_form({name: value for name, value in arguments.items() if name != listed.key_argument})
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
