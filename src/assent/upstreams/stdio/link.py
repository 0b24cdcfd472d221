"""Sends requests to a server that is a child process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from assent.core.principal import Principal
from assent.mcp.channel import StreamListener, asks_of
from assent.mcp.protocol import LOG_LEVEL_META_KEY, LOG_LEVELS
from assent.mcp.requests import Era, McpRequest
from assent.mcp.server_identity import Described
from assent.ports import NotReached
from assent.upstreams.link import McpLink, suspended_call, with_log_level
from assent.upstreams.resources import ListedResources
from assent.upstreams.stdio.server import StdioUpstream
from assent.upstreams.stdio.subscriptions import StdioSubscriptions
from assent.upstreams.subscriptions import Notice, Subscriptions
from assent.upstreams.suspended_calls import SuspendedCalls
from assent.web.asgi import Headers


class StdioQuestions:
    """The running requests at one process, by caller. A question over stdio does not say to which call it belongs.

    It goes to a caller if only requests of that caller are running. While requests of several callers run, it is
    refused, so that no caller is asked about the call of another.
    """

    def __init__(self, name: str) -> None:
        self._name, self._warned = name, False
        self._running: dict[int, tuple[Hashable, StreamListener]] = {}
        self._asking: dict[asyncio.Future[dict[str, Any] | None], int] = {}

    @property
    def is_open(self) -> bool:
        """Whether a question waits for an answer."""
        return bool(self._asking)

    @contextmanager
    def during(self, mcp_request: McpRequest, stream_listener: StreamListener) -> Iterator[None]:
        """While this request runs its caller can be asked; its questions end with it."""
        number = id(stream_listener)
        self._running[number] = _client_of(mcp_request), stream_listener
        try:
            yield
        finally:
            self._running.pop(number, None)
            for asking in [one for one, asked in self._asking.items() if asked == number]:
                asking.cancel()

    async def answer(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """The caller's answer; None if no caller can be asked, or it is unclear which one."""
        if len({caller for caller, _ in self._running.values()}) != 1:
            self._warn()
            return None
        number, (_, stream_listener) = list(self._running.items())[-1]
        asking = asyncio.ensure_future(stream_listener.answer(question))
        self._asking[asking] = number
        try:
            await asyncio.wait([asking])
            return None if asking.cancelled() else asking.result()
        finally:
            del self._asking[asking]
            asking.cancel()

    def _warn(self) -> None:
        if self._running and not self._warned:
            self._warned = True
            logger.warning(
                "upstream %s asked a question while several callers used its process; it was refused, because it does"
                " not say whom it asks. Tools that ask need an upstream with a URL, or one client each (assent wrap)",
                self._name,
            )


def _client_of(mcp_request: McpRequest) -> Hashable:
    """One client: its session, or its principal in the modern era, which has no sessions."""
    if mcp_request.session is not None:
        return mcp_request.session.id
    principal = mcp_request.caller
    return principal.tenant, principal.id


logger = logging.getLogger(__name__)

_DEFAULT_LEVEL = "info"
MOST_SENDING = 256


class StdioLogs:
    """The running requests at one process, whose log messages do not say which call they belong to.

    While only one principal has used the process, they go to that principal. From the second principal on they could
    reveal one to the other, so they go to none.
    """

    def __init__(self) -> None:
        self._running: dict[int, McpRequest] = {}
        self._owner: Hashable = None
        self._is_shared = False
        self._sending: set[asyncio.Future[None]] = set()

    @contextmanager
    def during(self, mcp_request: McpRequest) -> Iterator[None]:
        """Register this request while it runs."""
        principal = mcp_request.caller
        owner = (principal.tenant, principal.id)
        self._owner = self._owner or owner
        self._is_shared = self._is_shared or owner != self._owner
        self._running[id(mcp_request)] = mcp_request
        try:
            yield
        finally:
            self._running.pop(id(mcp_request), None)

    def forward(self, message: dict[str, Any]) -> None:
        """Forward a log message to the clients that may and want to see it."""
        if self._is_shared:
            logger.debug("dropped a log message: several callers share the process")
            return
        params = message.get("params")
        level = params.get("level") if isinstance(params, dict) else None
        for mcp_request in self._running.values():
            if len(self._sending) < MOST_SENDING and wants(mcp_request, level):  # Slow readers do not get a flood.
                self._sending.add(task := asyncio.ensure_future(mcp_request.reply.notify(message)))
                task.add_done_callback(self._sending.discard)


def wants(mcp_request: McpRequest, level: Any) -> bool:
    """Whether a request's client wants messages of this level; a modern client says so with each request."""
    if mcp_request.era is Era.MODERN:
        meta = mcp_request.params.get("_meta")
        least = meta.get(LOG_LEVEL_META_KEY) if isinstance(meta, dict) else None
    else:
        least = (mcp_request.session.log_level or _DEFAULT_LEVEL) if mcp_request.session is not None else None
    return least in LOG_LEVELS and level in LOG_LEVELS and LOG_LEVELS.index(level) >= LOG_LEVELS.index(least)


def lower_log_level(one: str, other: str | None) -> str:
    if other not in LOG_LEVELS:
        return one
    return one if one in LOG_LEVELS and LOG_LEVELS.index(one) < LOG_LEVELS.index(other) else other


class StdioLink(McpLink):
    """An upstream that one command starts. All callers share the process."""

    is_process = True

    def __init__(self, upstream: StdioUpstream) -> None:
        super().__init__(upstream.name)
        self.upstream = upstream
        self.logs = StdioLogs()
        self._questions, self._suspended_calls = StdioQuestions(upstream.name), SuspendedCalls()
        self._listed_resources = ListedResources()
        upstream.on_log, upstream.on_question = self.logs.forward, self._questions.answer
        upstream.is_asking = lambda: self._questions.is_open

    @property
    def described(self) -> Described | None:
        return self.upstream.known

    async def load(self) -> list[dict[str, Any]]:
        described = await self.upstream.ready()
        if "tools" not in described.capabilities:
            return []
        if self.upstream.is_modern:
            return await self.conditional_tools.load()
        return await self._list_as({})

    async def _list_as(self, capabilities: dict[str, Any]) -> list[dict[str, Any]]:
        """List the tools; a handshake server has its clients' capabilities since it started."""
        return await self.upstream.list_all("tools/list", "tools", capabilities)

    def subscriptions(self, notice: Notice) -> Subscriptions:
        return StdioSubscriptions(self.upstream, notice, per_user=self.per_user)

    async def retire(self, patience: float) -> None:
        await self.upstream.retire(patience)
        await self.close()

    async def close(self) -> None:
        await self._suspended_calls.close()
        await self.upstream.close()

    def serves(self, principal: Principal) -> bool:
        return principal.mode != "test"  # There is one process, and it is live.

    def listed_resources(self, principal: Principal) -> ListedResources:
        return self._listed_resources

    async def ask(self, method: str, params: Mapping[str, Any], mcp_request: McpRequest) -> dict[str, Any]:
        if method == "logging/setLevel":
            return await self._set_level(str(params["level"]), mcp_request)
        return await super().ask(method, params, mcp_request)

    async def list(self, method: str, key: str, mcp_request: McpRequest) -> list[dict[str, Any]]:
        with self.logs.during(self._check_served(mcp_request)):
            await self.upstream.ready()
            return await self.upstream.list_all(method, key)

    async def _set_level(self, level: str, mcp_request: McpRequest) -> dict[str, Any]:
        """Set the process to the most detailed level that any client wants; each client gets its own level."""
        await self.upstream.ready()
        wanted = lower_log_level(level, self.upstream.level)
        if not self.upstream.is_modern and wanted != self.upstream.level:
            await self.upstream.exchange("logging/setLevel", {"level": wanted})
            self.upstream.level = wanted
        return {}

    async def _request(
        self, method: str, params: dict[str, Any], fields: Headers, mcp_request: McpRequest, *, safe: bool
    ) -> dict[str, Any]:
        with self.logs.during(self._check_served(mcp_request)):
            await self.upstream.ready()
            capabilities = asks_of(mcp_request.capabilities)
            if self.upstream.is_modern:
                sent = with_log_level(params, mcp_request)
                return await self.upstream.request(method, sent, capabilities, mcp_request.reply)

            async def request(stream_listener: StreamListener) -> dict[str, Any]:
                with self._questions.during(mcp_request, stream_listener):
                    return await self.upstream.request(method, params, capabilities, stream_listener)

            if mcp_request.era is Era.MODERN:
                return await suspended_call(self._suspended_calls, method, params, mcp_request, request)
            return await request(mcp_request.reply)

    def _check_served(self, mcp_request: McpRequest) -> McpRequest:
        if not self.serves(mcp_request.caller):
            raise NotReached(f"upstream {self.name!r} has no test endpoint")
        return mcp_request
