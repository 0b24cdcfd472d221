"""Questions that lead the caller's person to a page: to connect an upstream, or to decide about a call."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Any, TypeGuard
from urllib.parse import urlencode

from assent.config.model import Settings
from assent.core.approval import ApprovalState
from assent.core.call import Call
from assent.core.outcome import Outcome, Refusal
from assent.core.principal import Principal
from assent.mcp.channel import CannotAsk
from assent.mcp.confirmation import action_of, decision_link, link_of, shows_links
from assent.mcp.jsonrpc import RpcError
from assent.mcp.requests import McpRequest
from assent.ports import ConnectionNeeded, Ports
from assent.upstreams.credentials import owner_of
from assent.upstreams.link import UpstreamLink
from assent.upstreams.vault import CredentialVault


@dataclass(frozen=True, slots=True)
class UpstreamConnections:
    """The connections of people to the upstreams of one configuration."""

    settings: Settings
    links: Mapping[str, UpstreamLink]
    vault: CredentialVault

    async def needed(self, call: Call, scope: str | None = None) -> ConnectionNeeded | None:
        """What the caller's person must connect first; None if the call can be sent."""
        name, link = call.tool.upstream, self.links.get(call.tool.upstream)
        if link is None:
            return None
        missing = scope if scope is not None else await link.missing_connection(call.principal)
        if missing is None:
            return None
        if self.settings.upstreams[name].identity == "shared":
            more = "".join(f" --scope {shlex.quote(word)}" for word in missing.split())
            return ConnectionNeeded(name, f"an operator runs `assent login {name}{more}`", missing)
        query = urlencode({"upstream": name, **({"scope": missing} if missing else {})})
        return ConnectionNeeded(name, f"{self.settings.public_url.rstrip('/')}/console/connections?{query}", missing)

    async def exists(self, upstream: str, principal: Principal, scope: str) -> bool:
        """Whether a caller's person has connected an upstream by now, with these scopes."""
        link = self.links.get(upstream)
        if link is None or await link.missing_connection(principal) is not None:
            return False
        kept = await self.vault.get(upstream, owner_of(principal))
        return not scope or (kept is not None and {*scope.split()} <= {*str(kept.fields.get("scope") or "").split()})


WITHIN = 25.0
"""How long a call waits for its person; clients wait half a minute and more for a response.

To accept the question means that the page was opened, not that the person is done."""
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
        link = link_of(outcome.detail, outcome.facts["connect_url"], mcp_request.version, id)
        upstream, scope = outcome.facts["upstream"], outcome.facts.get("scope", "")
        return await _lead(mcp_request, link, lambda: self.wait(upstream, scope, mcp_request.caller))

    async def wait(self, upstream: str, scope: str, principal: Principal) -> bool:
        """Wait until the person has connected the upstream; False if they take too long."""
        deadline = asyncio.get_running_loop().time() + WITHIN
        while not await self._is_connected(upstream, principal, scope):
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(_POLL)
        return True


async def _lead(mcp_request: McpRequest, link: dict[str, Any], is_done: Callable[[], Awaitable[bool]]) -> bool:
    """Show a link on the open stream; whether the person went there and did what it is for."""
    try:
        answer = await mcp_request.reply.ask("elicitation/create", link)
    except (CannotAsk, RpcError):
        return False
    if action_of(answer) != "accept" or not await is_done():
        return False
    done = {"elicitationId": link.get("elicitationId", "")}
    await mcp_request.reply.notify({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": done})
    return True


async def is_decided_on_its_page(outcome: Outcome, mcp_request: McpRequest, ports: Ports) -> bool:
    """Lead the person to the page of an approval, where they prove who they are; whether they decided there."""
    if not needs_its_page(outcome, mcp_request):
        return False
    link = decision_link(outcome, mcp_request.version, token_urlsafe(16))
    return await _lead(mcp_request, link, lambda: wait_for_decision(outcome.facts["approval"], ports))


async def wait_for_decision(approval_id: str, ports: Ports) -> bool:
    decided = await ports.store.decided(approval_id, WITHIN)
    return decided is not None and decided.state_at(ports.now()) is not ApprovalState.PENDING


def needs_its_page(outcome: Outcome, mcp_request: McpRequest) -> TypeGuard[Refusal]:
    """Whether the user decides about a call, the client's own answer does not count, and it can show a link."""
    if not isinstance(outcome, Refusal) or outcome.approval is None or outcome.code != "confirm.approval_pending":
        return False
    asked = outcome.approval.by == "user" and outcome.approval.answered_too_fast is None
    can_open = mcp_request.caller.asks != "nobody" and shows_links(mcp_request.capabilities)
    return asked and can_open and "approval_url" in outcome.facts


def leads_to_a_page(outcome: Outcome, mcp_request: McpRequest) -> TypeGuard[Refusal]:
    """Whether a call was refused for want of a connection, and the client can lead its person to the page."""
    if not isinstance(outcome, Refusal) or "connect_url" not in outcome.facts:
        return False
    return shows_links(mcp_request.capabilities)
