"""What the console's pages work with: the gateway's ports, its settings and its upstreams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assent.console.sessions import ConsoleSession, Sessions
from assent.core.principal import Principal
from assent.gateway.api.routes import ApiRequest, Handler
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.state import GatewayState
from assent.ports import Ports


@dataclass(frozen=True, slots=True)
class ConsoleContext:
    """Read anew for every request, because a reload of the configuration replaces ports and settings."""

    ports: Callable[[], Ports]
    host_policy: Callable[[], HostOriginPolicy]
    public_url: Callable[[], str]
    sessions: Sessions
    gateway: GatewayState | None = None

    async def call_api(
        self,
        handler: Handler,
        principal: Principal,
        *,
        names: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Run one operation of `/api` as this principal. Pages get their data from here, so both decide alike."""
        return await handler(
            ApiRequest(principal, self.ports(), names or {}, query or {}, body or {}, "console", self.gateway)
        )


__all__ = ["ConsoleContext", "ConsoleSession"]
