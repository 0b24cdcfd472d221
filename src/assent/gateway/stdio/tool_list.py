"""The list of tools of a wrapped server, and the server's texts without tools that do not exist for the client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from assent.core.principal import Principal
from assent.gateway.hidden_text import CLEANED, LISTED, HiddenText
from assent.gateway.tool_service import ToolService
from assent.mcp.jsonrpc import RpcError
from assent.pipeline.tool_mentions import without_texts
from assent.upstreams.errors import UpstreamError

logger = logging.getLogger(__name__)

LISTS_WITHIN = 10.0
"""How long the server's texts wait for its list of tools; without the list they are left out."""


class ToolList:
    """Loads the tools when they are first needed, and again when the server changes them."""

    def __init__(
        self,
        server: str,
        governed: Callable[[], ToolService],
        principal: Principal,
        reload: Callable[[], Awaitable[None]],
        hidden_text: HiddenText,
    ) -> None:
        self._server, self._governed, self._principal, self._reload = server, governed, principal, reload
        self._loaded, self._turn = False, asyncio.Lock()
        self._hidden_text = hidden_text

    async def load(self) -> None:
        async with self._turn:
            if not self._loaded:
                await self._reload()
                self._loaded = True

    async def refresh(self) -> None:
        """Load the tools again, if they were loaded before."""
        async with self._turn:
            if self._loaded:
                await self._reload()

    def without_hidden(self, answer: dict[str, Any]) -> dict[str, Any]:
        """An answer in which the server describes itself, without hidden characters."""
        seen: dict[str, Any] = self._hidden_text.clean_message(self._server, answer)
        return seen

    async def clean(self, method: str, answer: dict[str, Any]) -> dict[str, Any]:
        """An answer without hidden characters and mentions of tools that do not exist for the client; without the
        list of tools, without texts.
        """
        if "error" in answer:
            return self.without_hidden(answer)
        if method not in CLEANED or "result" not in answer:
            return answer
        if method in LISTED:
            answer = self.without_hidden(answer)
        try:
            async with asyncio.timeout(LISTS_WITHIN):
                await self.load()
            return {**answer, "result": self._governed().absent(self._principal).clean(answer["result"])}
        except (UpstreamError, RpcError, TimeoutError) as error:
            reason = str(error) or f"no list of tools in {LISTS_WITHIN:.0f} seconds"
            logger.warning(
                "%s: the descriptions in the answer to %s are left out, because the list of tools that they may"
                " mention is not known: %s", self._server, method, reason,
            )  # fmt: skip
            return {**answer, "result": without_texts(answer["result"])}
