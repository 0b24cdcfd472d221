"""How does state travel through a client that must not read, alter or lend it?"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState

from assent.core.principal import Principal

LASTS = 3600.0


class RequestStateCodec:
    """Sealed `requestState`: ours to open, for one principal and one tool, for a while. Single use is the store's."""

    def __init__(self, key: bytes, now: Callable[[], float]) -> None:
        self._codec = AESGCMRequestStateCodec([key])
        self._now = now

    def close(self, state: dict[str, Any], principal: Principal, tool: str) -> str:
        bound = {"s": state, "w": _whose(principal), "n": tool, "e": self._now() + LASTS}
        return self._codec.seal(json.dumps(bound).encode())

    def open(self, token: str, principal: Principal, tool: str) -> dict[str, Any] | None:
        """The state, or None for anything that is not ours, not theirs, not about this tool or too old."""
        try:
            bound = json.loads(self._codec.unseal(token))
        except (InvalidRequestState, ValueError):
            return None
        if (bound.get("w"), bound["n"]) != (_whose(principal), tool) or bound["e"] <= self._now():
            return None
        state: dict[str, Any] = bound["s"]
        return state


def _whose(principal: Principal) -> list[str]:
    """A test caller's state is not the live one's, who may have the same name: less is asked of it."""
    return [principal.tenant, principal.id, principal.mode]
