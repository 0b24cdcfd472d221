"""Signing in at servers whose metadata is unusual, and what people are told when they refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assent.upstreams.errors import OAuthProblem
from assent.upstreams.oauth.grants import begin_sign_in
from support.servers.loopback_server import serving

CALLBACK = "http://127.0.0.1:9/callback"


class Server:
    """An upstream with its authorization server, which refuses a registration with an unknown scope."""

    def __init__(self, needed: list[str] | None, known: list[str] | None, words: str = "no such scope") -> None:
        self.needed, self.known, self.words = needed, known, words
        self.origin = ""
        self.registered: list[str | None] = []

    async def resource(self, _: Request) -> Response:
        said: dict[str, Any] = {"resource": f"{self.origin}/mcp", "authorization_servers": [self.origin]}
        return JSONResponse(said | ({"scopes_supported": self.needed} if self.needed is not None else {}))

    async def metadata(self, _: Request) -> Response:
        said = {"issuer": self.origin, **{f"{one}_endpoint": f"{self.origin}/{one}" for one in ENDPOINTS}}
        return JSONResponse(said | ({"scopes_supported": self.known} if self.known is not None else {}))

    async def register(self, request: Request) -> Response:
        scope = (await request.json()).get("scope")
        self.registered.append(scope)
        if scope is not None and set(scope.split(" ")) - set(self.known or ()):
            return JSONResponse({"error": "invalid_client_metadata", "error_description": self.words}, 400)
        return JSONResponse({"client_id": "one"}, 201)

    async def challenge(self, _: Request) -> Response:
        return Response(status_code=401)


ENDPOINTS = ("authorization", "token", "registration")


@asynccontextmanager
async def served(server: Server) -> AsyncIterator[str]:
    routes = [
        Route("/.well-known/oauth-protected-resource/mcp", server.resource),
        Route("/.well-known/oauth-authorization-server", server.metadata),
        Route("/registration", server.register, methods=["POST"]),
        Route("/mcp", server.challenge, methods=["POST"]),
    ]
    async with serving(Starlette(routes=routes)) as url:
        server.origin = url.removesuffix("/mcp")
        yield url


@pytest.mark.parametrize(
    ("needed", "known", "asked"),
    [
        ([], ["offline_access"], "offline_access"),
        ([], [], None),
        ([], None, None),
        (None, [], None),
        (None, None, None),
        (["notes"], ["notes", "offline_access"], "notes offline_access"),
        ([""], ["offline_access"], "offline_access"),
    ],
)
async def test_a_registration_asks_for_words_or_for_nothing(
    needed: list[str] | None, known: list[str] | None, asked: str | None
) -> None:
    server = Server(needed, known)
    async with served(server) as url:
        started = await begin_sign_in(url, CALLBACK)
        assert server.registered == [asked] and (started.scope or None) == asked
        assert ("scope=" in started.url) is (asked is not None)


async def test_the_servers_own_words_are_quoted_where_it_refuses() -> None:
    server = Server(["notes"], [], "The scope\u202e notes is\nunknown. " + "x" * 1000)
    async with served(server) as url:
        with pytest.raises(OAuthProblem) as problem:
            await begin_sign_in(url, CALLBACK)
    said = problem.value.detail
    assert said.startswith('the authorization server did not register a client: invalid_client_metadata ("The scope')
    assert said.isprintable() and len(said) < 500


async def test_so_are_those_of_a_person_who_is_sent_back() -> None:
    async with served(Server(["notes"], ["notes"])) as url:
        started = await begin_sign_in(url, CALLBACK)
    answer = {"state": started.state, "error": "access_denied", "error_description": "You are not in the team."}
    with pytest.raises(OAuthProblem, match=r'refused: access_denied \("You are not in the team\."\)'):
        await started.finish(None, answer, 0.0)  # type: ignore[arg-type]
