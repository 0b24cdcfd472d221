"""Sends requests to a server that is a child process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.core.principal import Principal
from assent.edges.gateway import Incoming
from assent.edges.http import Headers
from assent.edges.inbound import Era
from assent.edges.links import McpLink, caller_of, parked, with_log_level
from assent.edges.parking import Parking, asks_of
from assent.edges.shelves import Shelf
from assent.edges.stdio_logs import StdioLogs, most_talkative
from assent.edges.stdio_questions import StdioQuestions
from assent.edges.upstreams.http import Described
from assent.edges.upstreams.line import Audience
from assent.edges.upstreams.stdio import StdioUpstream
from assent.ports import Unreached


class StdioLink(McpLink):
    """An upstream that one command starts. All callers share the process."""

    streams = False

    def __init__(self, upstream: StdioUpstream) -> None:
        super().__init__(upstream.name)
        self.upstream = upstream
        self.logs = StdioLogs()
        self._questions, self._parking = StdioQuestions(), Parking()
        self._shelf = Shelf()
        upstream.on_log, upstream.on_question = self.logs.hear, self._questions.answer
        upstream.is_asking = lambda: self._questions.is_open

    @property
    def described(self) -> Described | None:
        return self.upstream.known

    async def load(self) -> list[dict[str, Any]]:
        """Every tool definition as the server wrote it. Raises a Fault where it cannot be had."""
        described = await self.upstream.ready()
        if "tools" not in described.capabilities:
            return []
        return await self.upstream.list_all("tools/list", "tools")

    async def close(self) -> None:
        await self._parking.close()
        await self.upstream.close()

    def serves(self, principal: Principal) -> bool:
        """There is one process, and it is live."""
        return principal.mode != "test"

    def shelf(self, principal: Principal) -> Shelf:
        return self._shelf

    async def ask(self, method: str, params: Mapping[str, Any], incoming: Incoming) -> dict[str, Any]:
        if method == "logging/setLevel":
            return await self._set_level(str(params["level"]), incoming)
        return await super().ask(method, params, incoming)

    async def list(self, method: str, key: str, incoming: Incoming) -> list[dict[str, Any]]:
        """Every entry of one of its lists."""
        with self.logs.speaking(self._served(incoming)):
            await self.upstream.ready()
            return await self.upstream.list_all(method, key)

    async def _set_level(self, level: str, incoming: Incoming) -> dict[str, Any]:
        """The process logs as much as anybody wants to hear, and each hears what they asked for."""
        await self.upstream.ready()
        wanted = most_talkative(level, self.upstream.level)
        if not self.upstream.is_modern and wanted != self.upstream.level:
            await self.upstream.exchange("logging/setLevel", {"level": wanted})
            self.upstream.level = wanted
        return {}

    async def _once(
        self, method: str, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool
    ) -> dict[str, Any]:
        with self.logs.speaking(self._served(incoming)):
            await self.upstream.ready()
            capabilities = asks_of(incoming.inbound.capabilities)
            if self.upstream.is_modern:
                said = with_log_level(params, incoming)
                return await self.upstream.request(method, said, capabilities, incoming.reply)

            async def request(audience: Audience) -> dict[str, Any]:
                with self._questions.during(incoming, audience):
                    return await self.upstream.request(method, params, capabilities, audience)

            if incoming.inbound.era is Era.MODERN:
                return await parked(self._parking, method, params, incoming, request)
            return await request(incoming.reply)

    def _served(self, incoming: Incoming) -> Incoming:
        if not self.serves(caller_of(incoming)):
            raise Unreached(f"upstream {self.name!r} has no test endpoint")
        return incoming
