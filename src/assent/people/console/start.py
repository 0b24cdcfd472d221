"""How the console is put in front of a gateway, and how people get in from the command line."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson

from assent.core.document import Document
from assent.core.principal import Principal
from assent.gateway.auth.authenticator import digest_secret
from assent.people.authorization_server.grant_store import EMBEDDED_PATHS, grant_store
from assent.ports import Store
from assent.web.asgi import App, LazyApp, Receive, Scope, Send

if TYPE_CHECKING:
    from assent.config.model import Settings
    from assent.gateway.app import GatewayApp
    from assent.people.console.app import Console
    from assent.people.console.oidc import OidcClient


_ADDRESSES = "gateway_address"
_MARK = ("store_mark", "mark")
_MOST_ADDRESSES = 20


def console_in_front(gateway: GatewayApp, other: App) -> App:
    """The console, built for its first page; other paths go to the authorization server or to `other`."""
    other = _EmbeddedInFront(gateway, other)
    return LazyApp("/console", lambda: make_console(gateway, other), other)


def make_console(gateway: GatewayApp, other: App) -> Console:
    """The console of a gateway; paths that are not the console's go to `other`."""
    from assent.people.console.app import Console
    from assent.people.console.page import ConsoleContext, ConsoleSite
    from assent.people.sessions import Sessions

    def site() -> ConsoleSite:
        now = gateway.current
        policy = now.rulebook.authenticator.host_policy()
        return ConsoleSite(now.ports, policy, now.settings.public_url, now.settings.console)

    sessions = Sessions(lambda: gateway.current.ports.store, time.time)
    context = ConsoleContext(site, sessions, gateway.count_failed_sign_in, _oidc_of(gateway), gateway.state)
    return Console(context, other)


class _EmbeddedInFront:
    """Answers the paths of the embedded authorization server while the configuration has one."""

    def __init__(self, gateway: GatewayApp, other: App) -> None:
        self._gateway, self._other = gateway, other
        self._app: tuple[Settings, App] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings = self._gateway.current.settings
        if scope["type"] != "http" or settings.auth.embedded is None or scope["path"] not in EMBEDDED_PATHS:
            return await self._other(scope, receive, send)
        if self._app is None or self._app[0] is not settings:
            self._app = settings, self._make(settings)
        await self._app[1](scope, receive, send)

    def _make(self, settings: Settings) -> App:
        from assent.people.authorization_server.clients import OAuthClients
        from assent.people.authorization_server.server import EmbeddedProvider, authorization_server

        assert settings.auth.embedded is not None
        ports = self._gateway.current.ports
        clients = OAuthClients(ports.store, time.time, ports.keyed_hash)
        provider = EmbeddedProvider(clients, grant_store(ports.store, settings.auth.embedded))
        metadata = self._gateway.current.rulebook.authenticator.metadata() or {}
        return authorization_server(settings.public_url.rstrip("/"), provider, metadata.get("scopes_supported", []))


def _oidc_of(gateway: GatewayApp) -> Callable[[], OidcClient | None]:
    """The client of the configured identity provider; a new one when the configuration names another."""
    from assent.people.console.oidc import OidcClient

    kept: list[OidcClient] = []

    def find_client() -> OidcClient | None:
        settings = gateway.current.settings.console.oidc
        if settings is None:
            return None
        if not kept or kept[0].settings != settings:
            kept[:] = [OidcClient(settings)]
        return kept[0]

    return find_client


async def store_mark(store: Store) -> str:
    """A word that only gateways on this store know; `/healthz` shows it, so that commands find their own gateway."""
    await store.put_document(Document(*_MARK, secrets.token_hex(16).encode()), time.time(), expected=0)
    return await kept_mark(store)


async def kept_mark(store: Store) -> str:
    """The mark of this store; empty if no gateway has started on it yet."""
    kept = await store.document(*_MARK, time.time())
    return kept.body.decode() if kept is not None else ""


async def keep_address(store: Store, host: str, port: int) -> None:
    """Write down where this gateway listens, for `assent console` and `assent doctor`."""
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", "localhost") else host
    url = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
    await store.put_document(Document(_ADDRESSES, url, orjson.dumps({"url": url})), time.time())
    for old in sorted(await _addresses(store), key=lambda one: -one.updated_at)[_MOST_ADDRESSES:]:
        await store.delete_document(*old.name, time.time())


async def kept_addresses(store: Store) -> list[str]:
    """Where the gateways that started on this store listen, the newest first; some may have stopped."""
    found = sorted(await _addresses(store), key=lambda one: -one.updated_at)
    return list(dict.fromkeys(str(orjson.loads(one.body)["url"]) for one in found))


async def _addresses(store: Store) -> list[Document]:
    return await store.documents(_ADDRESSES, time.time())


async def sign_in_url(store: Store, address: str, person: Principal) -> str:
    """A link that signs this person in once."""
    token = await make_link_token(store, person, time.time())
    return f"{address.rstrip('/')}/console/signin?link={token}"


LINK_KIND = "console_link"
LASTS = 600.0


async def make_link_token(store: Store, principal: Principal, now: float) -> str:
    """A token that signs this person in, once, within ten minutes."""
    token = secrets.token_urlsafe(32)
    body = {"id": principal.id, "scopes": sorted(principal.scopes), "roles": sorted(principal.roles)}
    document = Document(LINK_KIND, digest_secret(token), orjson.dumps(body), principal.tenant, expires_at=now + LASTS)
    await store.put_document(document, now)
    return token


async def redeem_link_token(store: Store, token: str, now: float) -> Principal | None:
    """The person whom a token signs in; None for one that is unknown, expired or used."""
    used = await store.delete_document(LINK_KIND, digest_secret(token), now) if token and len(token) <= 128 else None
    if used is None:
        return None
    body = orjson.loads(used.body)
    return Principal(
        body["id"], "human", used.tenant, frozenset(body["scopes"]), frozenset(body["roles"]), auth_time=now
    )
