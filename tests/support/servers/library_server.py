"""A server with a bit of everything beside tools, as a test's upstream: in its own loop, or as a process.

As a process: `python libraries.py NAME ERA`, where the era is modern or handshake.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import mcp_types as types
from mcp.server import MCPServer, runner
from mcp.server.mcpserver import Context
from pydantic import BaseModel


class Answer(BaseModel):
    name: str


class Library:
    """A server with a bit of everything, named so that one can be told from the other."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.watched: list[str] = []
        self.sessions: set[Any] = set()
        self.server = MCPServer(name, log_level="ERROR", instructions=f"Ask {name} first.")
        self.server.resource(f"{name}://books/1", name="one")(lambda: f"book one of {name}")
        self.server.resource("shared://motto", name="motto")(lambda: f"motto of {name}")
        self.server.resource(f"{name}://pages/{{number}}", name="page")(lambda number: f"page {number} of {name}")
        self.server.prompt("greet")(lambda who: f"{name} greets {who}")
        self.server.completion()(self._complete)
        self.server.tool()(self.find_words)
        self.server.tool()(self.get_name_of_user)
        self.server.tool()(self.get_news)
        low = self.server._lowlevel_server
        low.add_request_handler("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
        low.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        low.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        self.levels: list[str] = []

    async def find_words(self, ctx: Context[Any, Any]) -> str:
        """Finds words, and tells how far it is."""
        await ctx.report_progress(1, 2, "half")
        await ctx.info(f"log of {self.name}")
        return "words"

    async def get_name_of_user(self, ctx: Context[Any, Any]) -> str:
        """Gets the name of the user by asking."""
        answer = await ctx.elicit("Who are you?", Answer)
        return getattr(getattr(answer, "data", None), "name", "nobody")

    async def get_news(self, ctx: Context[Any, Any], uri: str) -> str:
        """Gets news: the upstream's own change, in both ways it can be told."""
        await ctx.notify_resource_updated(uri)
        await ctx.notify_resources_changed()
        for session in self.sessions:
            await session.send_resource_updated(uri)
            await session.send_resource_list_changed()
        return "told"

    async def _complete(self, ref: Any, argument: Any, context: Any) -> types.Completion:
        return types.Completion(values=[f"{self.name}-{argument.value}"])

    async def _subscribe(self, ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
        self.watched.append(str(params.uri))
        self.sessions.add(ctx.session)
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self.watched.remove(str(params.uri))
        return types.EmptyResult()

    async def _set_level(self, ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self.levels.append(params.level)
        return types.EmptyResult()


def main(name: str, era: str) -> None:
    if era == "handshake":
        # The same server as one that never heard of the newest revision.
        runner._has_modern_envelope = lambda params: False
    library = Library(name)
    library.server.tool()(find_end)
    library.server.run("stdio")


def find_end() -> str:
    """Finds the end of the process."""
    os._exit(7)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
