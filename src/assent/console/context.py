"""What the console's pages work with: the gateway's ports, its settings and its upstreams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assent.config.model import ConsoleSettings
from assent.core.approval import SignedDecision
from assent.core.principal import Principal
from assent.gateway.api.routes import ApiRequest, Handler
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.people.sessions import ConsoleSession, Sessions
from assent.gateway.state import GatewayState
from assent.ports import Ports
from assent.web.asgi import Scope

if TYPE_CHECKING:
    from assent.console.oidc import OidcClient


@dataclass(frozen=True, slots=True)
class ConsoleContext:
    """Read anew for every request, because a reload of the configuration replaces ports and settings."""

    ports: Callable[[], Ports]
    host_policy: Callable[[], HostOriginPolicy]
    public_url: Callable[[], str]
    sessions: Sessions
    settings: Callable[[], ConsoleSettings]
    oidc: Callable[[], OidcClient | None]
    """The identity provider; None where none is configured."""
    count_failure: Callable[[str, Scope], None]
    """Told of every sign-in that failed; the log gets one entry a minute at most."""
    gateway: GatewayState | None = None

    async def call_api(
        self,
        handler: Handler,
        principal: Principal,
        *,
        names: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        signed: SignedDecision | None = None,
    ) -> dict[str, Any]:
        """Run one operation of `/api` as this principal. Pages get their data from here, so both decide alike."""
        given = names or {}, query or {}, body or {}
        return await handler(ApiRequest(principal, self.ports(), *given, "console", self.gateway, signed))


__all__ = ["ConsoleContext", "ConsoleSession"]
