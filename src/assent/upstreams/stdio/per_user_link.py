"""Sends each caller's requests to the process that runs with that person's own key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.core.call import Call
from assent.core.principal import Principal
from assent.core.tool import Tool
from assent.mcp.requests import McpRequest
from assent.ports import NotReached
from assent.upstreams.credentials import PersonOwner, owner_of
from assent.upstreams.errors import NotConnected, UpstreamError
from assent.upstreams.resources import ListedPerOwner, ListedResources
from assent.upstreams.stdio.link import StdioLink
from assent.upstreams.stdio.person_processes import PersonProcesses
from assent.upstreams.stdio.server import StdioUpstream


class PerUserStdioLink(StdioLink):
    """An upstream whose command is started once for each person.

    Its own process has no person's key. It lists the tools and gets no call.
    """

    per_user = True

    def __init__(self, listing: StdioUpstream, processes: PersonProcesses) -> None:
        super().__init__(listing)
        self.processes = processes
        self._listed = ListedPerOwner[PersonOwner]()

    async def run(self, call: Call, key: str | None, mcp_request: McpRequest) -> dict[str, Any]:
        try:
            async with self.processes.using(self._person(mcp_request)) as link:
                return await link.run(call, key, mcp_request)
        except UpstreamError as fault:  # Only taking the process raises it: the link's own errors say what ran.
            raise NotReached(str(fault), fault.scope if isinstance(fault, NotConnected) else None) from fault

    async def read(
        self, tool: Tool, arguments: Mapping[str, Any], call: Call, mcp_request: McpRequest
    ) -> dict[str, Any]:
        try:
            async with self.processes.using(self._person(mcp_request)) as link:
                return await link.read(tool, arguments, call, mcp_request)
        except UpstreamError as fault:
            raise NotReached(str(fault)) from fault

    async def ask(self, method: str, params: Mapping[str, Any], mcp_request: McpRequest) -> dict[str, Any]:
        async with self.processes.using(self._person(mcp_request)) as link:
            return await link.ask(method, params, mcp_request)

    async def list(self, method: str, key: str, mcp_request: McpRequest) -> list[dict[str, Any]]:
        async with self.processes.using(self._person(mcp_request)) as link:
            return await link.list(method, key, mcp_request)

    def listed_resources(self, principal: Principal) -> ListedResources:
        """The resources that it last listed to this person."""
        return self._listed.of(owner_of(principal))

    async def missing_connection(self, principal: Principal) -> str | None:
        if not self.serves(principal):
            return None
        try:
            await self.processes.key_of(owner_of(principal))
        except NotConnected:
            return ""
        return None

    async def retire(self, patience: float) -> None:
        await self.processes.close(patience)
        await super().retire(patience)

    async def close(self) -> None:
        await self.processes.close()
        await super().close()

    def _person(self, mcp_request: McpRequest) -> PersonOwner:
        return owner_of(self._check_served(mcp_request).caller)
