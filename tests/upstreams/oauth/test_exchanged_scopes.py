"""Exchanges for further scopes: a refused scope and a concurrent one leave the caller's other calls alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assent.core.principal import Principal
from assent.upstreams.credentials import SubjectToken, current_subject, owner_of
from assent.upstreams.errors import OAuthProblem
from assent.upstreams.oauth.discovery import OAuthClient, discover, new_http
from assent.upstreams.oauth.tokens import ExchangedTokens, ExchangeTerms
from support.servers.loopback_server import serving
from support.servers.scripted_server import Conversation, ScriptedServer

ANN = Principal("ann", "human")


class Server:
    """An authorization server that exchanges tokens, but not for the scope `forbidden`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.app = Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self.metadata),
                Route("/token", self.token, methods=["POST"]),
            ]
        )

    async def metadata(self, request: Request) -> Response:
        here = f"http://{request.url.netloc}"
        ends = {"authorization_endpoint": f"{here}/authorize", "token_endpoint": f"{here}/token"}
        return JSONResponse({"issuer": here, "response_types_supported": ["code"], **ends})

    async def token(self, request: Request) -> Response:
        scope = str((await request.form())["scope"])
        self.asked.append(scope)
        if "forbidden" in scope.split():
            return JSONResponse({"error": "invalid_scope"}, 400)
        return JSONResponse({"access_token": f"token-{len(self.asked)}", "token_type": "Bearer", "scope": scope})


@asynccontextmanager
async def exchanging() -> AsyncIterator[tuple[Server, ExchangedTokens]]:
    server = Server()
    async with serving(server.app) as url:
        issuer = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        terms = ExchangeTerms(url, "token", issuer, "assent", None, ("notes",), issuer, OAuthClient("assent"))
        current_subject.set(SubjectToken(ANN, "a.b.c"))
        yield server, ExchangedTokens("notes", terms, lambda: 1000.0)


async def test_a_refused_scope_does_not_end_the_callers_other_calls() -> None:
    async with exchanging() as (server, tokens):
        first = await tokens.token(owner_of(ANN))
        assert await tokens.token(owner_of(ANN), first, "forbidden") is None
        assert await tokens.token(owner_of(ANN), first, "forbidden") is None
        assert await tokens.token(owner_of(ANN)) == first
        assert server.asked == ["notes", "notes forbidden"], "it is asked again only after a while"


async def test_two_calls_that_lack_different_scopes_both_get_theirs() -> None:
    async with exchanging() as (server, tokens):
        first = await tokens.token(owner_of(ANN))
        wide = await tokens.token(owner_of(ANN), first, "notes:write")
        both = await tokens.token(owner_of(ANN), first, "notes:share")
        assert len({first, wide, both}) == 3
        assert server.asked[-1] == "notes notes:write notes:share"
        assert await tokens.token(owner_of(ANN)) == both
        again = await asyncio.gather(*(tokens.token(owner_of(ANN), first, "notes:write") for _ in range(3)))
        assert again == [both] * 3


@pytest.mark.parametrize("status", [b"200 OK", b"401 Unauthorized", b"500 Broken"])
async def test_an_answer_without_end_is_given_up(status: bytes) -> None:
    async def endless(conversation: Conversation) -> None:
        await conversation.read_request()
        await conversation.write(b"HTTP/1.1 %b\r\ncontent-type: application/json\r\n\r\n" % status)
        while True:
            await conversation.write(b" " * 65536)

    async with ScriptedServer(endless) as server, new_http() as http:
        with pytest.raises(OAuthProblem, match="too large"):
            async with asyncio.timeout(30):
                await discover(http, server.url)
