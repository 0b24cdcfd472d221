"""GovernedClient: calls a server's tools as their contracts say, with questions, estimates, retries and a journal."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Self

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError

from assent.client.adapters.fastmcp import fastmcp_client_factory
from assent.client.catalogue import ConversationMeta, Intent, ListedTool, ServerCatalogue, is_rehearsal, make_intent
from assent.client.checks import PreCallChecks
from assent.client.connection import ConnectedClient, Login, LoginHook, ServerConnection, Unreached, unless_challenged
from assent.client.elicitation import ServerQuestions
from assent.client.idempotency import IdempotencyKeys, keyed_http, new_key, watched
from assent.client.message_formats import as_result
from assent.client.options import ClientOptions, Journal, Noted
from assent.client.question import UNTRUSTED, Asker
from assent.client.secrets import Delivery, SecretRedactor
from assent.client.sender import Sender, failure_of
from assent.client.terminal import leave_to_server, refuse
from assent.client.tool_policy import Budget, ToolPolicy
from assent.contract.tiers import Tier
from assent.core.outcome import Refusal

_UNKNOWN = ("execute.in_doubt", "execute.output_invalid")
MakeClient = Callable[..., AbstractAsyncContextManager[ConnectedClient]]


class GovernedClient:
    """An MCP client that asks before it acts.

    `server` is anything that `mcp.Client` accepts, or a FastMCP client or server. Or `connect` makes the official
    client; it gets `elicitation_callback` and `message_handler`, and is called again after a broken connection. `asker`
    asks the person; without one, calls that need a person are refused. `login` gets the server's challenge, logs in or
    steps up, and returns an access token, or True if it renewed the credentials of the client itself. All other
    keywords are the fields of `ClientOptions`.
    """

    def __init__(
        self,
        server: Any = None,
        *,
        connect: MakeClient | None = None,
        name: str | None = None,
        asker: Asker | None = None,
        compute: Budget | int | None = None,
        on_secret: Callable[[Delivery], object] | None = None,
        login: Login | None = None,
        sink: Callable[[Noted], None] | None = None,
        make_key: Callable[[], str] = new_key,
        **client_options: Any,
    ) -> None:
        if isinstance(compute, int):
            compute = Budget(compute)
        if compute is not None and not isinstance(compute, Budget):
            raise TypeError("compute is a number of calls per hour, or a budget: compute=Budget(calls=2, per=60)")
        if (server is None) == (connect is None):
            raise ValueError("give either a server, as mcp.Client takes it, or connect=, which makes the client")
        self._client_options = ClientOptions(**client_options)
        if self._client_options.keys_by_header and connect is None and not isinstance(server, str):
            raise ValueError("keys_by_header needs HTTP: give a URL, or connect= with mirror_key as a request hook")
        self._asker: Asker = asker or refuse
        self._name = name or (server if isinstance(server, str) else None)
        self._on_secret = on_secret
        self.secrets: list[Delivery] = []
        """Results with secrets that could not be delivered: `on_secret` is absent or failed."""
        self._redactor = SecretRedactor()
        self.journal = Journal(self._client_options.now, sink=sink)
        self._catalogue = ServerCatalogue(self._client_options, self.journal)
        self._login = LoginHook(login, self.journal, self._client_options.question_patience, self._catalogue.expire)
        self._make = connect or _client_factory(server, self._login)
        self._connection = ServerConnection(self._connect, self._client_options.timeout, self._login)
        self._questions = ServerQuestions(self._ask, self.journal)
        self._sending = Sender(
            self._client_options,
            self.journal,
            self._connection,
            IdempotencyKeys(make_key),
            self._questions.in_flight,
            self._login,
        )
        self.conversation = ConversationMeta(self._client_options.conversation)
        """The conversation that calls belong to; `hear()` adds the user's own words."""
        self._sending.conversation = self.conversation
        self._preparation = PreCallChecks(
            self._client_options, self.journal, self._catalogue, self._asker, compute or Budget(), self._sending.once
        )

    async def __aenter__(self) -> Self:
        client = await self._connection.client()
        shown = self._name or (client.server_info.name if client.server_info else "without a name")
        self._preparation.server = self._questions.server = shown
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    @property
    def allowances(self) -> Any:
        """Remembered approvals; `forget()` ends them."""
        return self._preparation.allowances

    def hear(self, user_text: str) -> None:
        """Pass on what the user wrote, so that a gateway can tell their values from those of an attacker.

        Pass the user's own words and nothing else: no text of a model, a tool or a document.
        """
        self.conversation.hear(user_text)

    async def list_tools(self) -> list[types.Tool]:
        """List the tools that the agent may see, without arguments that the model must not fill."""
        await self._fetch()
        return [listed.for_model() for listed in self._catalogue.tools]

    def standing(self, name: str) -> ToolPolicy | None:
        """Return the policy of a tool in the last listing, or None."""
        listed = self._catalogue.get(name)
        return listed.standing if listed else None

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> types.CallToolResult:
        """Call a tool as its contract says. A refusal is a result with `is_error` and the problem."""
        try:
            intent = await self._intend(name, arguments)
            await self._preparation.prepare(intent)
            return await self._deliver(intent, await self._send(intent))
        except Refusal as refused:
            self.journal.note("refused", name, code=refused.code)
            return as_result(refused)

    async def _intend(self, name: str, arguments: Mapping[str, Any] | None) -> Intent:
        if arguments is not None and not isinstance(arguments, Mapping):
            raise Refusal("validate.malformed", "The arguments must be an object of named values.")
        return make_intent(await self._find(name), arguments or {})

    async def _find(self, name: str) -> ListedTool:
        """Return the listed tool; fetch the list if it is stale or lacks the tool."""
        listed = self._catalogue.get(name)
        if listed is None or self._catalogue.is_stale:
            try:
                await self._fetch()
            except Unreached as error:
                raise Refusal("execute.unavailable") from error
            listed = self._catalogue.get(name)
        if listed is None:
            raise Refusal("discover.unknown_tool")
        return listed

    async def _fetch(self) -> None:
        """List the tools, over a new connection if the old one broke; raise Unreached or Challenged."""
        for _ in range(self._client_options.attempts):
            client = await self._connection.client()
            try:
                return await self._login.retry(partial(self._list, client))
            except Exception as error:
                if failure_of(error) is None:
                    raise
                self._connection.broken(client)
        raise Unreached("the server does not list its tools")

    async def _list(self, client: ConnectedClient) -> None:
        async with asyncio.timeout(self._client_options.timeout):
            await unless_challenged(self._catalogue.fetch(client))

    async def _send(self, intent: Intent) -> types.CallToolResult:
        name, standing = intent.name, intent.listed.standing
        self.journal.note("called", name, arguments=intent.arguments, tier=standing.tier.value, source=standing.source)
        if standing.open_world:
            self.journal.note("open_world", name, arguments=intent.arguments, server=self._preparation.server)
        try:
            result = await (self._sending.rehearsed(intent) if is_rehearsal(intent) else self._sending.send(intent))
        except MCPError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            # After a cancellation or an unreadable answer, the outcome is unknown.
            known = isinstance(error, Refusal) and error.code not in _UNKNOWN
            if standing.tier is not Tier.READ and not known:
                self._preparation.doubts[intent.digest] += 1
            raise
        if self._preparation.doubts:
            # With its kept key this call settled one doubtful call; without a key, the person was asked about all of
            # them.
            left = self._preparation.doubts[intent.digest] - 1 if intent.listed.place else 0
            self._preparation.doubts[intent.digest] = max(left, 0)
            self._preparation.doubts += Counter()
        self.journal.note("answered", name, is_error=bool(result.is_error))
        return result

    async def _deliver(self, intent: Intent, result: types.CallToolResult) -> types.CallToolResult:
        whole, result = result, self._redactor.redact(result, intent.listed.standing)
        if result is not whole:
            self.journal.note("secret", intent.name)
            await self._hand_over(Delivery(intent.name, intent.arguments, whole))
        if not self._client_options.trusted:
            result.meta = {**(result.meta or {}), UNTRUSTED: True}
        return result

    async def _hand_over(self, delivery: Delivery) -> None:
        """Call the callback; if it fails, keep the result, because a secret is shown only once."""
        if self._on_secret is None:
            self.secrets.append(delivery)
            return
        try:
            taken = self._on_secret(delivery)
            if inspect.isawaitable(taken):
                await taken
        except BaseException:
            self.secrets.append(delivery)
            raise

    def _connect(self) -> AbstractAsyncContextManager[ConnectedClient]:
        asks = None if self._asker is leave_to_server else self._questions
        return watched(self._make(elicitation_callback=asks, message_handler=self._on_message))

    async def _ask(self, question: Any, intent: Intent | None) -> Any:
        return await self._preparation.ask(question, intent)

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._catalogue.expire()


def _client_factory(server: Any, login: LoginHook) -> MakeClient:
    made = fastmcp_client_factory(server)
    if made is not None:
        return made
    return (
        (lambda **callbacks: Client(keyed_http(server, login.bearer_for(server)), **callbacks))
        if isinstance(server, str)
        else partial(Client, server)
    )
