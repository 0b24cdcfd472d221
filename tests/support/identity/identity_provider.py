"""A tiny identity provider on loopback: its metadata, its keys, and tokens signed with them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from assent.web.asgi import Receive, Scope, Send
from assent.web.http import respond
from support.servers.loopback_server import serving


class IdentityProvider:
    """One issuer. `rotate` makes a new key and forgets the old one."""

    def __init__(self) -> None:
        self.issuer, self.audience = "", "http://127.0.0.1:8420/mcp"
        self.fetched: list[str] = []
        self.away = False
        self._number = 0
        self.rotate()

    def rotate(self) -> None:
        self._number += 1
        self.key = ec.generate_private_key(ec.SECP256R1())

    def token(self, subject: str = "ann", **claims: Any) -> str:
        """A good token for a subject; claims that are None are left out."""
        said = {"iss": self.issuer, "aud": self.audience, "sub": subject, "exp": int(time.time()) + 600, **claims}
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(said, self.key, algorithm="ES256", headers={"kid": f"k{self._number}"})

    def jwk(self) -> dict[str, Any]:
        public = ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {**public, "kid": f"k{self._number}", "use": "sig", "alg": "ES256"}

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.fetched.append(scope["path"])
        if self.away:
            return await respond(send, 503, b"")
        if scope["path"] == "/.well-known/openid-configuration":
            said: dict[str, Any] = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks"}
        else:
            said = {"keys": [self.jwk()]}
        await respond(send, 200, orjson.dumps(said))


@asynccontextmanager
async def identity_provider() -> AsyncIterator[IdentityProvider]:
    provider = IdentityProvider()
    async with serving(provider) as url:
        provider.issuer = url.removesuffix("/mcp")
        yield provider
