"""Binds `requestState` to a principal and a tool, and encrypts it where processes share a key."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from assent.core.principal import Principal

if TYPE_CHECKING:  # Most calls carry no state, so a start does not pay for the cipher.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LASTS = 3600.0
_PURPOSE = b"assent/request-state/1"
_NONCE = 12


class RequestStateCodec:
    """State for one principal and one tool, for a limited time. The store enforces single use.

    With a key the client can carry the state but not read, change or share it. Without one it is plain JSON: inside a
    server's own process a retry may reach a process that has no key in common, and the SDK encrypts every state at its
    own boundary. The pipeline checks approvals and claims against the call itself in either case.
    """

    def __init__(self, key: bytes | Callable[[], bytes] | None, now: Callable[[], float]) -> None:
        """A key that is a function is asked for when the first state is written or read."""
        if isinstance(key, bytes) and len(key) < 32:
            raise ValueError("the key for request states must have 32 bytes or more")
        self._key, self.now = key, now

    @cached_property
    def _cipher(self) -> AESGCM | None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        key = self._key() if callable(self._key) else self._key
        return None if key is None else AESGCM(HKDF(SHA256(), 32, salt=None, info=_PURPOSE).derive(key))

    def close(self, state: dict[str, Any], principal: Principal, tool: str) -> str:
        bound = {"s": state, "w": _binding_of(principal), "n": tool, "e": self.now() + LASTS}
        plain = json.dumps(bound)
        if self._cipher is None:
            return plain
        nonce = secrets.token_bytes(_NONCE)
        return base64.urlsafe_b64encode(nonce + self._cipher.encrypt(nonce, plain.encode(), _PURPOSE)).decode()

    def open(self, token: str, principal: Principal, tool: str) -> dict[str, Any] | None:
        """The state, or None if the token is forged, expired, or for another principal or tool."""
        from cryptography.exceptions import InvalidTag

        try:
            bound = json.loads(token if self._cipher is None else _decrypt(self._cipher, token))
            if (bound["w"], bound["n"]) != (_binding_of(principal), tool) or bound["e"] <= self.now():
                return None
            state = bound["s"]
        except (InvalidTag, ValueError, KeyError, TypeError):
            return None
        return state if isinstance(state, dict) else None


def _decrypt(cipher: AESGCM, token: str) -> bytes:
    sealed = base64.b64decode(token, altchars=b"-_", validate=True)
    return cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], _PURPOSE)


def _binding_of(principal: Principal) -> list[str]:
    """What the state is bound to. A test principal may have the name of a live one, so the mode is included."""
    return [principal.tenant, principal.id, principal.mode]
