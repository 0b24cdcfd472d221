"""Toolbox: runs each call of a model once per call id, and always returns a result."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import mcp_types as types
from mcp.shared.exceptions import MCPError

from assent.client.catalogue import plain_form
from assent.client.governed_client import GovernedClient
from assent.client.message_formats import LONGEST_NAME, as_result, refused, safe_name
from assent.client.sender import is_passing, problem_of
from assent.contract.documents import schema_validator
from assent.contract.tiers import Tier
from assent.core.limited_dict import LimitedDict
from assent.core.outcome import Refusal
from assent.core.problems import CATALOGUE

_MOST_ERRORS = 5
_LONGEST_TEXT = 300


def read_arguments(written: Any) -> dict[str, Any]:
    """Return the arguments that a model wrote as text or object; raise Refusal if they are neither."""
    if isinstance(written, str | bytes):
        written = _parse_json(written)
    if written is None:
        return {}
    if not isinstance(written, Mapping):
        raise Refusal("validate.malformed", "The arguments must be an object of named values.")
    return dict(written)


def _parse_json(text: str | bytes) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Refusal("validate.malformed", "The arguments are not JSON.") from None


class Checks:
    """Checks arguments against schemas; each schema is compiled once."""

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[Mapping[str, Any], Any]] = {}

    def check(self, tool: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        """Raise Refusal with the argument that does not fit. An invalid schema is left to the server."""
        validator = self._validator(tool, schema)
        if validator is None or validator.is_valid(arguments):
            return
        checks, too_large = validator.measure(arguments)
        found = [] if too_large else validator.first_errors(arguments, checks, _MOST_ERRORS)
        errors = [_describe_error(error) for error in found] or [("", too_large or "they do not fit the schema")]
        listed = [{"field": field, "reason": reason} for field, reason in errors]
        detail = "; ".join(f"{field}: {reason}" if field else reason for field, reason in errors)
        raise Refusal("validate.arguments_invalid", f"{detail}.", errors=listed)

    def _validator(self, tool: str, schema: Mapping[str, Any]) -> Any:
        known = self._compiled.get(tool)
        if known is None or known[0] != schema:
            try:
                known = (schema, schema_validator(dict(schema)))
            except ValueError:
                known = (schema, None)
            self._compiled[tool] = known
        return known[1]


def _describe_error(error: Any) -> tuple[str, str]:
    field = "".join(f"/{part}" for part in error.instance_path)
    return field, str(error.message)[:_LONGEST_TEXT]


class Names:
    """Maps tools to names for models, and back."""

    def __init__(self) -> None:
        self._given_names: dict[str, str] = {}
        self._tool_names: dict[str, str] = {}

    def give(self, tools: Iterable[str]) -> None:
        """Name new tools; a tool keeps its own name if that is valid and free."""
        unnamed = [name for name in dict.fromkeys(tools) if name not in self._given_names]
        for name in sorted(unnamed, key=lambda name: safe_name(name) != name):
            given = self._free_name(name)
            self._given_names[name], self._tool_names[given] = given, name

    def of(self, tool: str) -> str:
        return self._given_names[tool]

    def tool_named(self, name: str) -> str | None:
        """Return the tool of a name, or None if the name was never given."""
        return self._tool_names.get(name)

    def _free_name(self, tool: str) -> str:
        fit = safe_name(tool)
        if fit and fit not in self._tool_names:
            return fit
        for attempt in count():
            mark = hashlib.sha256(f"{attempt} {tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
            marked = f"{(fit or 'tool')[: LONGEST_NAME - 9]}_{mark}"
            if marked not in self._tool_names:
                break
        return marked


_TEXTS = frozenset({"text", "input_text"})


def _user_texts(message: Any) -> list[str]:
    """The texts that a user wrote in a message, as the APIs of models write messages."""
    if isinstance(message, str):
        return [message]
    if not isinstance(message, Mapping) or message.get("role") != "user":
        return []
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, Sequence) else ()
    found = [one.get("text") for one in blocks if isinstance(one, Mapping) and one.get("type") in _TEXTS]
    return [text for text in found if isinstance(text, str)]


logger = logging.getLogger(__name__)
_KEPT = 1_000
_ENDED = ("execute.failed", "execute.undeclared_failure", "execute.output_invalid")

Action = tuple[str, str, bytes]


class Toolbox:
    """The tools of a governed client in a form for any model.

    The same call again, with the same id and arguments, gets the first answer, and nothing runs twice. A call that did
    not end goes to the client again, which keeps its key.
    """

    def __init__(self, client: GovernedClient) -> None:
        self._client = client
        self._names = Names()
        self._checks = Checks()
        self._tools_by_name: dict[str, types.Tool] | None = None
        self._answers = LimitedDict[Action, types.CallToolResult](_KEPT)
        self._turns: WeakValueDictionary[Action, asyncio.Lock] = WeakValueDictionary()

    def hear(self, messages: Iterable[Any]) -> None:
        """Pass on the user's own words in the messages of a conversation, for flow control at a gateway.

        They are the texts of messages with the role `user`. Put no document of others into such a message.
        """
        for message in messages:
            for text in _user_texts(message):
                self._client.hear(text)

    @classmethod
    def of(cls, client: GovernedClient | Toolbox) -> Toolbox:
        """Return the given toolbox, so that conversations share its answers, or a new one."""
        return client if isinstance(client, Toolbox) else cls(client)

    async def tools(self) -> list[types.Tool]:
        """Return the tools that the server lists now, under names for models and without `_meta`.

        If the server cannot be reached, the last tools are returned and calls report the problem. Without a first list
        the error is raised.
        """
        try:
            listed = await self._client.list_tools()
        except Exception:
            if self._tools_by_name is None:
                raise
        else:
            self._names.give(tool.name for tool in listed)
            self._tools_by_name = {tool.name: tool for tool in listed}
        return [self._for_model(tool) for tool in self._tools_by_name.values()]

    def _for_model(self, tool: types.Tool) -> types.Tool:
        schema = {"type": "object", "properties": {}, **tool.input_schema}
        update = {"name": self._names.of(tool.name), "input_schema": schema, "meta": None}
        return tool.model_copy(update=update)

    async def call(self, call_id: str | None, name: str, arguments: Any) -> types.CallToolResult:
        """Return the result for the model. Nothing is raised; a result says what went wrong."""
        try:
            return await self._call_tool(call_id, name, arguments)
        except Refusal as refusal:
            self._client.journal.note("refused", self._names.tool_named(name) or name, code=refusal.code)
            return as_result(refusal)
        except MCPError as error:
            # The server's error text can be anything, so the model does not see it.
            self._client.journal.note(
                "failed", self._names.tool_named(name) or name, why=f"error {error.code}", sent=True
            )
            return refused("execute.failed", "The server answered with an error.")
        except Exception as error:
            # A callback such as `on_secret` failed. The run continues, and the log names the cause.
            logger.exception("a call of %s failed in the caller's own code; see the traceback and correct it", name)
            self._client.journal.note(
                "failed", self._names.tool_named(name) or name, why=type(error).__name__, sent=True
            )
            return refused("execute.in_doubt")

    async def call_all(self, calls: Sequence[tuple[str | None, str, Any]]) -> list[types.CallToolResult]:
        """Return the results of the calls of one message, made concurrently."""
        return list(await asyncio.gather(*(self.call(*call) for call in calls)))

    async def _call_tool(self, call_id: str | None, name: str, arguments: Any) -> types.CallToolResult:
        tool = self._names.tool_named(name) or await self._find_tool(name)
        arguments = read_arguments(arguments)
        form = plain_form(arguments)
        listed = (self._tools_by_name or {}).get(tool)
        if listed is not None:
            self._checks.check(tool, listed.input_schema, arguments)
        if not call_id:
            return await self._client.call_tool(tool, arguments)
        return await self._call_once((call_id, tool, form), arguments)

    async def _find_tool(self, name: str) -> str:
        """Return the tool of an unknown name, because a conversation may continue in another process."""
        try:
            await self.tools()
        except Exception as error:
            raise Refusal("execute.unavailable") from error
        tool = self._names.tool_named(name)
        if tool is None:
            raise Refusal("discover.unknown_tool")
        return tool

    async def _call_once(self, action: Action, arguments: dict[str, Any]) -> types.CallToolResult:
        turn = self._turns.setdefault(action, asyncio.Lock())
        async with turn:
            kept = self._answers.get(action)
            if kept is not None:
                return kept.model_copy(deep=True)
            result = await self._client.call_tool(action[1], arguments)
            if _is_settled(result) and not self._is_read(action[1]):
                self._answers[action] = result.model_copy(deep=True)
            return result

    def _is_read(self, tool: str) -> bool:
        """Whether the tool only reads, so that calling it again is harmless and shows changes."""
        standing = self._client.standing(tool)
        return standing is not None and standing.tier is Tier.READ


def offer(tools: list[dict[str, Any]], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request options with the tools; an API refuses an empty list of tools."""
    for name in ("tools", "stream"):
        if name in request:
            raise TypeError(f"{name}= cannot be given here: write the loop yourself around answer()")
    return {**request, "tools": tools} if tools else dict(request)


def _is_settled(result: types.CallToolResult) -> bool:
    """Whether the tool ran and this is its end. Other refusals came before, or report an unknown end."""
    problem = problem_of(result)
    if problem.get("code") in list(CATALOGUE):
        return problem["code"] in _ENDED
    return not is_passing(problem)
