"""What the console's pages work with: the gateway's ports, its settings and its upstreams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assent.config.model import ConsoleSettings
from assent.core.approval import SignedDecision
from assent.core.principal import Principal
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.generation import Generation
from assent.gateway.state import GatewayState
from assent.people.api.routes import ApiRequest, Handler
from assent.people.sessions import ConsoleSession, Sessions
from assent.ports import Ports
from assent.web.asgi import Scope

if TYPE_CHECKING:
    from assent.people.console.oidc import OidcClient


@dataclass(frozen=True, slots=True)
class ConsoleContext:
    """Read anew for every request, because a reload of the configuration replaces ports and settings."""

    current: Callable[[], Generation]
    sessions: Sessions
    oidc: Callable[[], OidcClient | None]
    """The identity provider; None where none is configured."""
    count_failure: Callable[[str, Scope], None]
    """Told of every sign-in that failed; the log gets one entry a minute at most."""
    gateway: GatewayState | None = None

    def ports(self) -> Ports:
        return self.current().ports

    def host_policy(self) -> HostOriginPolicy:
        return self.current().rulebook.authenticator.host_policy()

    def public_url(self) -> str:
        return self.current().settings.public_url

    def settings(self) -> ConsoleSettings:
        return self.current().settings.console

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


__all__ = ["ConsoleContext", "ConsoleSession"]
