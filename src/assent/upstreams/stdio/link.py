"""Sends requests to a server that is a child process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.core.principal import Principal
from assent.mcp.channel import StreamListener, asks_of
from assent.mcp.requests import Era, McpRequest
from assent.mcp.server_identity import Described
from assent.ports import NotReached
from assent.upstreams.link import McpLink, suspended_call, with_log_level
from assent.upstreams.resources import ListedResources
from assent.upstreams.stdio.logs import StdioLogs, lower_log_level
from assent.upstreams.stdio.questions import StdioQuestions
from assent.upstreams.stdio.server import StdioUpstream
from assent.upstreams.stdio.subscriptions import StdioSubscriptions
from assent.upstreams.subscriptions import Notice, Subscriptions
from assent.upstreams.suspended_calls import SuspendedCalls
from assent.web.asgi import Headers


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
        """Whether this caller is served: there is one process, and it is live."""
        return principal.mode != "test"

    def listed_resources(self, principal: Principal) -> ListedResources:
        return self._listed_resources

    async def ask(self, method: str, params: Mapping[str, Any], mcp_request: McpRequest) -> dict[str, Any]:
        if method == "logging/setLevel":
            return await self._set_level(str(params["level"]), mcp_request)
        return await super().ask(method, params, mcp_request)

    async def list(self, method: str, key: str, mcp_request: McpRequest) -> list[dict[str, Any]]:
        """Every entry of one of its lists."""
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
