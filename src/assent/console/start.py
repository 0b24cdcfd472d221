"""How the console is put in front of a gateway, and how its address is found from the command line."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from assent.console.signin_links import make_link_token
from assent.core.document import Document
from assent.core.principal import Principal
from assent.gateway.auth.embedded.records import EMBEDDED_PATHS, grant_store
from assent.ports import Ports, Store
from assent.web.asgi import App, LazyApp, Receive, Scope, Send

if TYPE_CHECKING:
    from assent.config.model import Settings
    from assent.console.app import Console
    from assent.console.oidc import OidcClient
    from assent.gateway.auth.host_origin import HostOriginPolicy
    from assent.gateway.state import GatewayState

_ADDRESS = ("gateway_address", "latest")


class GatewayParts(Protocol):
    """What the console needs of a running gateway."""

    @property
    def ports(self) -> Ports: ...

    @property
    def state(self) -> GatewayState: ...

    @property
    def settings(self) -> Settings: ...

    def host_policy(self) -> HostOriginPolicy: ...

    def public_url(self) -> str: ...

    def resource_metadata(self) -> dict[str, Any] | None: ...

    def count_failed_sign_in(self, code: str, scope: Scope) -> None: ...


def console_in_front(gateway: GatewayParts, other: App) -> App:
    """The console, built for its first page; other paths go to the authorization server or to `other`."""
    other = _EmbeddedInFront(gateway, other)
    return LazyApp("/console", lambda: make_console(gateway, other), other)


def make_console(gateway: GatewayParts, other: App) -> Console:
    """The console of a gateway; paths that are not the console's go to `other`."""
    from assent.console.app import Console
    from assent.console.context import ConsoleContext
    from assent.gateway.people.sessions import Sessions

    context = ConsoleContext(
        lambda: gateway.ports,
        gateway.host_policy,
        gateway.public_url,
        Sessions(lambda: gateway.ports.store, time.time),
        lambda: gateway.settings.console,
        _oidc_of(gateway),
        gateway.count_failed_sign_in,
        gateway.state,
    )
    return Console(context, other)


class _EmbeddedInFront:
    """Answers the paths of the embedded authorization server while the configuration has one."""

    def __init__(self, gateway: GatewayParts, other: App) -> None:
        self._gateway, self._other = gateway, other
        self._made: tuple[Settings, App] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings = self._gateway.settings
        if scope["type"] != "http" or settings.auth.embedded is None or scope["path"] not in EMBEDDED_PATHS:
            return await self._other(scope, receive, send)
        if self._made is None or self._made[0] is not settings:
            self._made = settings, self._make(settings)
        await self._made[1](scope, receive, send)

    def _make(self, settings: Settings) -> App:
        from assent.gateway.auth.embedded.clients import OAuthClients
        from assent.gateway.auth.embedded.server import EmbeddedProvider, authorization_server

        assert settings.auth.embedded is not None
        store = self._gateway.ports.store
        provider = EmbeddedProvider(OAuthClients(store, time.time), grant_store(store, settings.auth.embedded))
        metadata = self._gateway.resource_metadata() or {}
        return authorization_server(settings.public_url.rstrip("/"), provider, metadata.get("scopes_supported", []))


def _oidc_of(gateway: GatewayParts) -> Callable[[], OidcClient | None]:
    """The client of the configured identity provider; a new one when the configuration names another."""
    from assent.console.oidc import OidcClient

    kept: list[OidcClient] = []

    def found() -> OidcClient | None:
        settings = gateway.settings.console.oidc
        if settings is None:
            return None
        if not kept or kept[0].settings != settings:
            kept[:] = [OidcClient(settings)]
        return kept[0]

    return found


async def keep_address(store: Store, host: str, port: int) -> None:
    """Write down where this gateway listens, for `assent console`."""
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", "localhost") else host
    url = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
    await store.put_document(Document(*_ADDRESS, orjson.dumps({"url": url})), time.time())


async def kept_address(store: Store) -> str | None:
    """Where the gateway that last started on this store listens."""
    document = await store.document(*_ADDRESS, time.time())
    return None if document is None else str(orjson.loads(document.body)["url"])


async def sign_in_url(store: Store, address: str, person: Principal) -> str:
    """A link that signs this person in once."""
    token = await make_link_token(store, person, time.time())
    return f"{address.rstrip('/')}/console/signin?link={token}"
