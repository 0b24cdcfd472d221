"""The interface through which an HTTP upstream gets a credential with each request."""

from __future__ import annotations

import re
from typing import Protocol

from assent.upstreams.oauth.owner import CredentialOwner

_SCOPE = re.compile(rb'\bscope="([^"]{0,1000})"')
_WORD = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_MOST_WORDS = 50


class Credentials(Protocol):
    """Header lines with the credential of an owner."""

    async def header(self, owner: CredentialOwner) -> bytes:
        """The header line. Raises NotConnected if the owner has no credential."""
        ...

    async def renew(self, owner: CredentialOwner, rejected: bytes) -> bytes:
        """Another header line than the one that was rejected, or NotConnected."""
        ...

    async def widen(self, owner: CredentialOwner, rejected: bytes, scope: str) -> bytes:
        """A header line with the scope that the rejected one lacks, or NotConnected."""
        ...


def bearer_line(token: str) -> bytes:
    """The header line that sends a token."""
    return b"authorization: Bearer %b\r\n" % token.encode()


def bearer_token(line: bytes) -> str:
    """The token in a header line."""
    return line.removeprefix(b"authorization: Bearer ").rstrip().decode()


def insufficient_scope(challenge: bytes | None) -> str | None:
    """The scopes that a 403 answer asks for, or None if it is about something else. What is no scope is left out."""
    if challenge is None or b"insufficient_scope" not in challenge:
        return None
    found = _SCOPE.search(challenge)
    words = found[1].decode("latin-1").split(" ") if found else []
    return " ".join([word for word in words if _WORD.fullmatch(word)][:_MOST_WORDS])
