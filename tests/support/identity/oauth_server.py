"""An MCP server that needs OAuth, with its own authorization server: the official SDK's parts, in memory.

It writes down who made each call, so that a test can judge from the server's own log.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from assent.upstreams.oauth.discovery import new_http
from assent.web.asgi import App, Receive, Scope, Send
from assent.web.http import respond
from assent.web.server import bind, make_server
from support.servers.loopback_server import PromptServer


@dataclass
class Accounts(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """An authorization server whose person is whoever the test says: consent is given at once."""

    lasts: int = 3600
    person: str = "ann"
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    refreshes: dict[str, RefreshToken] = field(default_factory=dict)
    accesses: dict[str, AccessToken] = field(default_factory=dict)
    spent: set[str] = field(default_factory=set)
    """Refresh tokens that were used. A second use ends every token of that person, as careful servers do."""
    subjects: dict[str, str] = field(default_factory=dict)
    """Whose each refresh token is or was."""
    renewals: int = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = secrets.token_urlsafe(16)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=self.person,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(authorization_code)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        if refresh_token in self.spent:
            self.end(self.subjects[refresh_token])
        return self.refreshes.get(refresh_token) if refresh_token not in self.spent else None

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if refresh_token.token in self.spent:
            raise TokenError("invalid_grant")
        self.spent.add(refresh_token.token)
        self.renewals += 1
        return self._issue(refresh_token)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.accesses.get(token)
        return found if found is not None and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.end(token.subject or "")

    def end(self, person: str) -> None:
        """End every token of a person."""
        self.accesses = {name: one for name, one in self.accesses.items() if one.subject != person}
        self.refreshes = {name: one for name, one in self.refreshes.items() if one.subject != person}

    def expire(self) -> None:
        """End every access token; refresh tokens stay."""
        self.accesses.clear()

    def _issue(self, grant: AuthorizationCode | RefreshToken) -> OAuthToken:
        access, renewal = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        common: dict[str, Any] = {
            "client_id": grant.client_id, "scopes": grant.scopes, "resource": grant.resource, "subject": grant.subject,
        }  # fmt: skip
        self.accesses[access] = AccessToken(token=access, expires_at=int(time.time()) + self.lasts, **common)
        self.refreshes[renewal] = RefreshToken(token=renewal, **common)
        self.subjects[renewal] = grant.subject or ""
        return OAuthToken(
            access_token=access, refresh_token=renewal, expires_in=self.lasts, scope=" ".join(grant.scopes)
        )


@dataclass
class OAuthServer:
    """The running server: its address, its accounts, and its own log of (person, argument)."""

    url: str
    accounts: Accounts
    calls: list[tuple[str, str]]

    async def consent(self, authorization_url: str, person: str) -> dict[str, str]:
        """Do what a browser does as this person; return the query of the answer."""
        self.accounts.person = person
        async with new_http() as http:
            answer = await http.get(authorization_url)
        assert answer.status_code == 302, answer.text
        return dict(httpx2.URL(answer.headers["location"]).params)


def demanding(inner: Any, tool: str, scope: str, scopes_of: Callable[[str], Awaitable[list[str]]]) -> App:
    """A server of which one tool needs a further scope: a call without it gets 403 with a challenge."""

    async def app(asgi: Scope, receive: Receive, send: Send) -> None:
        if asgi["type"] != "http" or asgi["method"] != "POST" or asgi["path"] != "/mcp":
            return await inner(asgi, receive, send)
        message = await receive()
        while message.get("more_body"):
            part = await receive()
            message = {**part, "body": message["body"] + part["body"]}
        credential = dict(asgi["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        if f'"{tool}"'.encode() in message["body"] and scope not in await scopes_of(credential):
            challenge = f'Bearer error="insufficient_scope", scope="{scope}"'.encode()
            return await respond(send, 403, b"{}", [(b"www-authenticate", challenge)])
        replayed = [message]

        async def again() -> Any:
            return replayed.pop() if replayed else await receive()

        return await inner(asgi, again, send)

    return app


def without_discovery(inner: App) -> App:
    """A server of the handshake era: it does not know the modern `server/discover`."""
    unknown = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}'

    async def app(asgi: Scope, receive: Receive, send: Send) -> None:
        if dict(asgi.get("headers", [])).get(b"mcp-method") == b"server/discover":
            return await respond(send, 400, unknown)
        return await inner(asgi, receive, send)

    return app


@asynccontextmanager
async def oauth_server(lasts: int = 3600, *, modern: bool = True) -> AsyncIterator[OAuthServer]:
    """Serve a notes server that needs a token with the scope `notes`; one that is not modern keeps sessions."""
    listener = bind("127.0.0.1", 0)
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    accounts, calls = Accounts(lasts=lasts), list[tuple[str, str]]()
    settings = AuthSettings(
        issuer_url=origin,  # type: ignore[arg-type]
        resource_server_url=f"{origin}/mcp",  # type: ignore[arg-type]
        validate_token_resource=True,
        required_scopes=["notes"],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["notes", "notes:all"], default_scopes=["notes"]
        ),
        revocation_options=RevocationOptions(enabled=True),
    )
    server = MCPServer("notes", auth=settings, auth_server_provider=accounts)

    @server.tool()
    def read_note(name: str) -> str:
        """Reads one of your notes."""
        token = get_access_token()
        person = (token.subject if token is not None else None) or "nobody"
        calls.append((person, name))
        return f"{name} of {person}"

    @server.tool()
    def write_note(name: str) -> str:
        """Writes one of your notes."""
        return f"wrote {read_note(name)}"

    async def scopes_of(token: str) -> list[str]:
        found = await accounts.load_access_token(token)
        return found.scopes if found is not None else []

    app = demanding(server.streamable_http_app(), "write_note", "notes:all", scopes_of)
    served = app if modern else without_discovery(app)
    uvicorn_server = PromptServer(make_server(served, drain=1, lifespan="auto").config)
    import asyncio

    task = asyncio.ensure_future(uvicorn_server._serve(sockets=[listener]))
    while not uvicorn_server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
        await asyncio.sleep(0)
    try:
        yield OAuthServer(f"{origin}/mcp", accounts, calls)
    finally:
        uvicorn_server.stop()
        await task
