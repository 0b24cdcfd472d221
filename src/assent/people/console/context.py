"""What the console's pages work with: the store and rules of one gateway or library server, and its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assent.config.model import ConsoleSettings
from assent.core.approval import SignedDecision
from assent.core.principal import Principal
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.state import GatewayState
from assent.people.api.operation import ApiRequest, Handler
from assent.people.sessions import Sessions
from assent.ports import Ports
from assent.web.asgi import Scope

if TYPE_CHECKING:
    from assent.people.console.oidc import OidcClient


@dataclass(frozen=True, slots=True)
class ConsoleSite:
    """One configuration as the console needs it."""

    ports: Ports
    host_policy: HostOriginPolicy
    public_url: str
    settings: ConsoleSettings


@dataclass(frozen=True, slots=True)
class ConsoleContext:
    """What every request gets. The site is read anew each time, because a changed configuration replaces it."""

    site: Callable[[], ConsoleSite]
    sessions: Sessions
    count_failure: Callable[[str, Scope], None]
    """Called with every failed sign-in; the log gets one entry a minute at most."""
    oidc: Callable[[], OidcClient | None] = lambda: None
    """The identity provider; None if none is configured."""
    gateway: GatewayState | None = None
    """The running gateway; None for the console of a store."""
    command: str = "assent console"
    """The command that prints a sign-in link."""
    offer_link: Callable[[str, str], Awaitable[bool]] | None = None
    """Prints a sign-in link in the server's terminal, for this address of the console and of the browser."""

    def ports(self) -> Ports:
        return self.site().ports

    def host_policy(self) -> HostOriginPolicy:
        return self.site().host_policy

    def public_url(self) -> str:
        return self.site().public_url

    def settings(self) -> ConsoleSettings:
        return self.site().settings

    async def call_api(
        self,
        handler: Handler,
        principal: Principal,
        *,
        names: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        signed: SignedDecision | None = None,
        session: str = "",
    ) -> dict[str, Any]:
        """Run one operation of `/api` as this principal. Pages get their data from here, so both decide alike."""
        given = names or {}, query or {}, body or {}
        return await handler(ApiRequest(principal, self.ports(), *given, "console", self.gateway, signed, session))
