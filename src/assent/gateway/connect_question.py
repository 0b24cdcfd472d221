"""Leads the person behind a client to the page where an upstream is connected, and waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from secrets import token_urlsafe
from typing import TypeGuard

from assent.core.outcome import Outcome, Refusal
from assent.core.principal import Principal
from assent.mcp.channel import CannotAsk
from assent.mcp.confirmation import action_of, link_of, shows_links
from assent.mcp.jsonrpc import RpcError
from assent.mcp.requests import McpRequest

WITHIN = 25.0
"""How long a call waits for its person; clients wait half a minute and more for a response."""
_POLL = 0.5

IsConnected = Callable[[str, Principal, str], Awaitable[bool]]
"""Whether an upstream is connected for a caller, with these scopes."""


class ConnectQuestion:
    """The question to connect an upstream, for clients that can open a page."""

    def __init__(self, is_connected: IsConnected) -> None:
        self._is_connected = is_connected

    async def is_answered(self, outcome: Outcome, mcp_request: McpRequest) -> bool:
        """Lead the person to the page, on the open stream of a call that lacks a connection; whether they connected."""
        if not leads_to_a_page(outcome, mcp_request):
            return False
        id = token_urlsafe(16)
        try:
            link = link_of(outcome, mcp_request.version, id)
            answer = await mcp_request.reply.ask("elicitation/create", link)
        except (CannotAsk, RpcError):
            return False
        upstream, scope = outcome.facts["upstream"], outcome.facts.get("scope", "")
        if action_of(answer) != "accept" or not await self.wait(upstream, scope, mcp_request.caller):
            return False
        done = {"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": id}}
        await mcp_request.reply.notify(done)
        return True

    async def wait(self, upstream: str, scope: str, principal: Principal) -> bool:
        """Wait until the person has connected the upstream; False if they take too long."""
        deadline = asyncio.get_running_loop().time() + WITHIN
        while not await self._is_connected(upstream, principal, scope):
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(_POLL)
        return True


def leads_to_a_page(outcome: Outcome, mcp_request: McpRequest) -> TypeGuard[Refusal]:
    """Whether a call was refused for want of a connection, and the client can lead its person to the page."""
    if not isinstance(outcome, Refusal) or "connect_url" not in outcome.facts:
        return False
    return shows_links(mcp_request.capabilities)
