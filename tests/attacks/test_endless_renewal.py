"""An authorization server that gives out a rejected token again is asked a bounded number of times."""

from __future__ import annotations

import asyncio
import time

import pytest
from httpx2 import AsyncClient, MockTransport, Request, Response

from assent.core.principal import Principal
from assent.stores.memory import MemoryStore
from assent.upstreams.errors import OAuthProblem
from assent.upstreams.oauth import tokens
from assent.upstreams.oauth.discovery import OAuthClient
from assent.upstreams.oauth.grants import Token
from assent.upstreams.oauth.tokens import TokenSource
from assent.upstreams.vault import CredentialVault

ANN = Principal("ann", "human")
END = "https://id.example/token"


async def test_the_same_token_again_ends_the_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(request: Request) -> Response:
        asked.append(str(request.url))
        return Response(200, json={"access_token": "same", "token_type": "Bearer", "expires_in": 60})

    monkeypatch.setattr(tokens, "new_http", lambda: AsyncClient(transport=MockTransport(answer)))
    vault = CredentialVault(MemoryStore(), lambda: b"k" * 32, time.time)
    await vault.put("notes", ANN, Token("same", "renewal", None, "", END, None, "r", OAuthClient("c")).as_json())
    with pytest.raises(OAuthProblem, match="again that was rejected"):
        async with asyncio.timeout(20):
            await TokenSource("notes", vault, time.time).renew(ANN, "same")
    assert 1 <= len(asked) <= 2
