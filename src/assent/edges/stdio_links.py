"""How does a governed call reach a server that is a process of ours?"""

from __future__ import annotations

from typing import Any

from assent.edges.gateway import Incoming
from assent.edges.http import Headers
from assent.edges.links import McpLink, caller_of, with_log_level
from assent.edges.upstreams.http import Described
from assent.edges.upstreams.stdio import StdioUpstream
from assent.ports import Unreached


class StdioLink(McpLink):
    """An upstream that one command starts. All callers share the process; it may ask nobody anything."""

    streams = False

    def __init__(self, upstream: StdioUpstream) -> None:
        super().__init__(upstream.name)
        self.upstream = upstream

    @property
    def described(self) -> Described | None:
        return self.upstream.described

    async def load(self) -> list[dict[str, Any]]:
        """Every tool definition as the server wrote it. Raises a Fault where it cannot be had."""
        described = await self.upstream.ready()
        if "tools" not in described.capabilities:
            return []
        return await self.upstream.list_all("tools/list", "tools")

    async def _once(
        self, method: str, params: dict[str, Any], fields: Headers, incoming: Incoming, *, safe: bool
    ) -> dict[str, Any]:
        if caller_of(incoming).mode == "test":
            raise Unreached(f"upstream {self.name!r} has no test endpoint")
        if self.upstream.is_modern:
            params = with_log_level(params, incoming)
        return await self.upstream.request(method, params, incoming.inbound.capabilities, incoming.reply)
