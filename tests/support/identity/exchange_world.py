"""A real identity provider that exchanges tokens, a second authorization server, and a notes server that trusts one."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin

import httpx2
import jwt
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

from assent.web.asgi import App, Receive, Scope, Send
from assent.web.server import bind, make_server
from support.identity.oauth_server import demanding
from support.identity.oidc_provider import _MODULES, _NODE
from support.servers.loopback_server import PromptServer

AUDIENCE = "https://gateway.example/mcp"
SECRET = "secret-of-the-gateway"
BACK = "http://127.0.0.1:9/callback"


@dataclass
class Providers:
    """The identity provider, the other authorization server, and what both did."""

    idp: str
    other: str
    log: list[str] = field(default_factory=list)

    async def token(self, person: str, resource: str = AUDIENCE) -> str:
        """The access token of a person who logs in at the identity provider with the client `clerk`."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code", "client_id": "clerk", "redirect_uri": BACK, "scope": "openid notes",
            "resource": resource, "code_challenge": challenge, "code_challenge_method": "S256", "state": "s",
        }  # fmt: skip
        answer = await log_in(f"{self.idp}/auth?{urlencode(query)}", person)
        form = {
            "grant_type": "authorization_code", "code": answer["code"], "redirect_uri": BACK, "client_id": "clerk",
            "code_verifier": verifier, "resource": resource,
        }  # fmt: skip
        async with httpx2.AsyncClient(timeout=60) as http:
            given = (await http.post(f"{self.idp}/token", data=form)).json()
        return str(given["access_token"])


async def log_in(url: str, person: str, back: str = BACK, when: float | None = None) -> dict[str, str]:
    """Log in at a provider as a person would, or as one who has logged in there before; the query of its answer."""
    form = {"login": person, **({"ts": str(int(when))} if when is not None else {})}
    async with httpx2.AsyncClient(timeout=60) as client:
        answer = await client.get(url)
        for _ in range(10):
            if answer.status_code == 200:
                answer = await client.post(str(answer.url), data=form)
                continue
            assert answer.status_code in (302, 303), answer.text
            place = urljoin(str(answer.url), answer.headers["location"])
            if place.startswith(back):
                return dict(httpx2.URL(place).params)
            answer = await client.get(place)
    raise AssertionError("the provider did not send the browser back")


@asynccontextmanager
async def providers() -> AsyncIterator[Providers]:
    """Both authorization servers, in one process."""
    assert _NODE is not None
    program = str(Path(__file__).with_name("exchange_providers.mjs"))
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        _NODE, program, str(_MODULES), AUDIENCE, SECRET, stdout=pipe, stderr=nowhere
    )
    assert process.stdout is not None
    log: list[str] = []

    async def follow() -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            log.append(line.decode().strip())

    try:
        async with asyncio.timeout(60):
            while not (line := await process.stdout.readline()).startswith(b"http"):
                assert line, "the providers ended"
        following = asyncio.ensure_future(follow())
        given: list[Any] = [*line.decode().split(), log]
        yield Providers(*given)
        following.cancel()
    finally:
        process.kill()
        await process.wait()


class JwtNotes:
    """A notes server that trusts one issuer. It writes down every credential that reaches it, and who calls."""

    def __init__(self, url: str, issuer: str) -> None:
        self.url, self.issuer = url, issuer
        self.calls: list[tuple[str, str]] = []
        self.credentials: set[str] = set()
        self._keys = jwt.PyJWKClient(f"{issuer}/jwks")

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            key = await asyncio.to_thread(self._keys.get_signing_key_from_jwt, token)
            claims = jwt.decode(token, key.key, algorithms=["ES256"], audience=self.url, issuer=self.issuer)
        except jwt.PyJWTError:
            return None
        scopes = str(claims.get("scope", "")).split()
        return AccessToken(
            token=token, client_id=claims["client_id"], scopes=scopes, subject=claims["sub"], resource=self.url
        )

    def app(self) -> App:
        settings = AuthSettings(
            issuer_url=self.issuer,  # type: ignore[arg-type]
            resource_server_url=self.url,  # type: ignore[arg-type]
            required_scopes=["notes"],
            validate_token_resource=True,
        )
        server = MCPServer("notes", auth=settings, token_verifier=self)

        @server.tool()
        def read_note(name: str) -> str:
            """Reads one of your notes."""
            token = get_access_token()
            person = (token.subject if token is not None else None) or "nobody"
            self.calls.append((person, name))
            return f"{name} of {person}"

        @server.tool()
        def write_note(name: str) -> str:
            """Writes one of your notes."""
            return f"wrote {read_note(name)}"

        async def scopes_of(token: str) -> list[str]:
            found = await self.verify_token(token)
            return found.scopes if found is not None else []

        inner = demanding(server.streamable_http_app(), "write_note", "notes:all", scopes_of)

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                self.credentials |= {value.decode() for name, value in scope["headers"] if name == b"authorization"}
            await inner(scope, receive, send)

        return watched


@asynccontextmanager
async def jwt_notes(issuer: str) -> AsyncIterator[JwtNotes]:
    listener = bind("127.0.0.1", 0)
    notes = JwtNotes(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", issuer)
    server = PromptServer(make_server(notes.app(), drain=1, lifespan="auto").config)
    task = asyncio.ensure_future(server._serve(sockets=[listener]))
    while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
        await asyncio.sleep(0)
    try:
        yield notes
    finally:
        server.stop()
        await task
