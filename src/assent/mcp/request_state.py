"""Encrypts `requestState`, so that a client can carry it but not read, change or share it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState

from assent.core.principal import Principal

LASTS = 3600.0


class RequestStateCodec:
    """Encrypts state for one principal and one tool, for a limited time. The store enforces single use."""

    def __init__(self, key: bytes, now: Callable[[], float]) -> None:
        self._codec = AESGCMRequestStateCodec([key])
        self._now = now

    def close(self, state: dict[str, Any], principal: Principal, tool: str) -> str:
        bound = {"s": state, "w": _binding_of(principal), "n": tool, "e": self._now() + LASTS}
        return self._codec.seal(json.dumps(bound).encode())

    def open(self, token: str, principal: Principal, tool: str) -> dict[str, Any] | None:
        """The state, or None if the token is forged, expired, or for another principal or tool."""
        try:
            bound = json.loads(self._codec.unseal(token))
        except (InvalidRequestState, ValueError):
            return None
        if (bound.get("w"), bound["n"]) != (_binding_of(principal), tool) or bound["e"] <= self._now():
            return None
        state: dict[str, Any] = bound["s"]
        return state


def _binding_of(principal: Principal) -> list[str]:
    """What the state is bound to. A test principal may have the name of a live one, so the mode is included."""
    return [principal.tenant, principal.id, principal.mode]
