"""Tools that an upstream lists only to clients with certain capabilities, such as clients that can ask their user.

See ADR 0117.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from assent.mcp.jsonrpc import RpcError
from assent.upstreams.errors import SessionLost, UpstreamError, safe_error_text

logger = logging.getLogger(__name__)

CAN_BE_ASKED: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}}
"""Capabilities that callers of a shared process may have."""
CAN_DO_ALL: dict[str, Any] = {**CAN_BE_ASKED, "sampling": {"context": {}, "tools": {}}, "roots": {}}
"""Every capability on which a list of tools can depend. The catalogue has the tools of such a client."""
_WITHIN = 10.0

Definitions = list[dict[str, Any]]


class ConditionalTools:
    """Asks an upstream once for each set of capabilities, and only if its list depends on them at all."""

    def __init__(self, name: str, list_as: Callable[[dict[str, Any]], Awaitable[Definitions]]) -> None:
        self._name, self._list_as = name, list_as
        self._definitions: Definitions = []
        self._conditional: frozenset[str] = frozenset()
        self._hidden: dict[str, frozenset[str]] = {}

    def __bool__(self) -> bool:
        """Whether some tools are not listed to every client."""
        return bool(self._conditional)

    async def load(self) -> Definitions:
        """Every tool that the upstream lists to a client that can do all; notes which of them are conditional."""
        found = await self._list_as(CAN_DO_ALL)
        if found != self._definitions:
            always = await self._names_for({})
            self._conditional = _names(found) - always if always is not None else frozenset()
            self._definitions, self._hidden = found, {}
        return found

    async def hidden_from(self, asks: dict[str, Any]) -> frozenset[str]:
        """The names of the tools that the upstream does not list to a client that can be asked these questions."""
        if not self._conditional:
            return frozenset()
        key = repr(asks)
        if key not in self._hidden:
            conditional, names = self._conditional, await self._names_for(asks)
            if names is None:
                return frozenset()  # It would be wrong to hide tools because of a failure.
            self._hidden[key] = conditional - names
        return self._hidden[key]

    async def _names_for(self, asks: dict[str, Any]) -> frozenset[str] | None:
        try:
            async with asyncio.timeout(_WITHIN):
                return _names(await self._list_as(asks))
        except (UpstreamError, RpcError, SessionLost, TimeoutError) as error:
            logger.debug("%s does not list its tools to a client with %s: %s", self._name, asks, safe_error_text(error))
            return None


def _names(definitions: Definitions) -> frozenset[str]:
    return frozenset(str(one.get("name")) for one in definitions)
