"""Whether the caller's person has connected an upstream that needs a credential."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from assent.config.model import Settings
from assent.core.call import Call
from assent.core.principal import Principal
from assent.gateway.upstream_factory import Link
from assent.ports import ConnectionNeeded
from assent.upstreams.credentials import owner_of
from assent.upstreams.openapi.link import OpenApiLink
from assent.upstreams.vault import CredentialVault


@dataclass(frozen=True, slots=True)
class UpstreamConnections:
    """The connections of people to the upstreams of one configuration."""

    settings: Settings
    links: Mapping[str, Link]
    vault: CredentialVault

    async def needed(self, call: Call, scope: str | None = None) -> ConnectionNeeded | None:
        """What the caller's person must connect first; None if the call can be sent."""
        name, link = call.tool.upstream, self.links.get(call.tool.upstream)
        if link is None or isinstance(link, OpenApiLink):
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
        if link is None or isinstance(link, OpenApiLink) or await link.missing_connection(principal) is not None:
            return False
        kept = await self.vault.get(upstream, owner_of(principal))
        return not scope or (kept is not None and {*scope.split()} <= {*str(kept.fields.get("scope") or "").split()})
