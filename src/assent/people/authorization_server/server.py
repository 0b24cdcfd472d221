"""The HTTP endpoints of the embedded authorization server: metadata, registration, tokens, revocation."""

from __future__ import annotations

import time
from typing import Any

from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.revoke import RevocationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
)
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from assent.people.authorization_server.clients import OAuthClients
from assent.people.authorization_server.grant_store import Family, Grant, GrantStore
from assent.web.asgi import App, Receive, Scope, Send

MOST_BODY = 64 * 1024


class _Code(AuthorizationCode):
    grant: Any = None


class _Refresh(RefreshToken):
    family: Any = None


class EmbeddedProvider(OAuthAuthorizationServerProvider[_Code, _Refresh, AccessToken]):
    """The SDK's view of our clients, codes and tokens. A person's consent is a page of the console."""

    def __init__(self, clients: OAuthClients, grants: GrantStore) -> None:
        self._clients, self._grants = clients, grants

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return await self._clients.find(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self._clients.register(client_info)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        raise NotImplementedError("the console's page /console/authorize does this")

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> _Code | None:
        grant = await self._grants.grant_of_code(authorization_code)
        if grant is None or grant.client_id != client.client_id:
            return None
        return _Code(
            code=authorization_code,
            scopes=list(grant.scopes),
            expires_at=time.time() + 60,  # An expired code is not found at all.
            client_id=grant.client_id,
            code_challenge=grant.challenge,
            redirect_uri=grant.redirect_uri,  # type: ignore[arg-type]
            redirect_uri_provided_explicitly=grant.redirect_given,
            resource=grant.resource,
            subject=grant.person,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: _Code
    ) -> OAuthToken:
        grant = await self._grants.use_code(authorization_code.code)
        if grant is None:
            raise TokenError("invalid_grant", "the code was used already")
        return self._token(grant, *await self._grants.begin_family(grant))

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> _Refresh | None:
        family = await self._grants.family_of(refresh_token)
        if family is None or family.grant.client_id != client.client_id:
            return None
        return _Refresh(
            token=refresh_token, client_id=family.grant.client_id, scopes=list(family.grant.scopes), family=family
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: _Refresh, scopes: list[str]
    ) -> OAuthToken:
        family: Family = refresh_token.family
        chosen = tuple(scope for scope in family.grant.scopes if not scopes or scope in scopes)
        try:
            issued = await self._grants.renew(family, chosen)
        except LookupError:
            issued = None
        if issued is None:
            raise TokenError("invalid_grant", "the token was renewed already")
        return self._token(family.grant, *issued)

    async def load_access_token(self, token: str) -> AccessToken | None:
        grant = await self._grants.grant_of_access(token)
        return None if grant is None else AccessToken(token=token, client_id=grant.client_id, scopes=list(grant.scopes))

    async def revoke_token(self, token: AccessToken | _Refresh) -> None:
        family = token.family if isinstance(token, _Refresh) else await self._grants.family_of_access(token.token)
        if family is not None:
            await self._grants.end(family)

    def _token(self, grant: Grant, access: str, refresh: str) -> OAuthToken:
        return OAuthToken(
            access_token=access,
            refresh_token=refresh,
            expires_in=int(self._grants.access_lasts),
            scope=" ".join(grant.scopes),
        )


def authorization_server(issuer: str, provider: EmbeddedProvider, scopes: list[str]) -> App:
    """The application that answers the paths of the authorization server."""
    authenticator = ClientAuthenticator(provider)
    token = TokenHandler(provider, authenticator)
    registration = RegistrationHandler(provider, ClientRegistrationOptions(enabled=True))
    revocation = RevocationHandler(provider, authenticator)

    async def metadata(_: Request) -> Response:
        return JSONResponse(server_metadata(issuer, scopes))

    async def authorize(request: Request) -> Response:
        return RedirectResponse(f"/console/authorize?{request.url.query}", 303)

    router = Router(
        [
            Route("/.well-known/oauth-authorization-server", metadata, methods=["GET"]),
            Route("/authorize", authorize, methods=["GET"]),
            Route("/token", token.handle, methods=["POST"]),
            Route("/register", registration.handle, methods=["POST"]),
            Route("/revoke", revocation.handle, methods=["POST"]),
        ]
    )
    # Clients in a browser read metadata and fetch tokens; no cookie counts at these paths.
    return _Limited(CORSMiddleware(router, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"]))


def server_metadata(issuer: str, scopes: list[str]) -> dict[str, Any]:
    """Authorization server metadata (RFC 8414)."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "registration_endpoint": f"{issuer}/register",
        "revocation_endpoint": f"{issuer}/revoke",
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
        **({"scopes_supported": scopes} if scopes else {}),
    }


class _Limited:
    """Refuses bodies that are longer than any request of OAuth."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def limited() -> Any:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MOST_BODY:
                return {"type": "http.disconnect"}
            return message

        await self._app(scope, limited, send)
