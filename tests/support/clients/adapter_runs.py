"""Every adapter with its real library and a model that does as it is told: what the examples run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from assent import GovernedClient
from support.clients.person import Naps
from support.clients.transports import ROOT
from support.servers.plain_server import Plain

sys.path.insert(0, str(ROOT))
from examples.estimate_then_place import upstream as upstream
from examples.estimate_then_place.agent import shop as shop
from examples.frameworks import (
    with_anthropic,
    with_langgraph,
    with_openai,
    with_openai_agents,
    with_pydantic_ai,
)
from examples.frameworks.story import buys as buys
from examples.frameworks.story import tell as tell

RUNS: dict[str, Any] = {
    "pydantic-ai": with_pydantic_ai.run,
    "openai-agents": with_openai_agents.run,
    "langgraph": with_langgraph.run,
    "anthropic": with_anthropic.run,
    "openai-chat": with_openai.run,
    "openai-responses": with_openai.run_responses,
}


class Model:
    """Says one turn after the other, then "done"; a turn may be a function that is called when it is due."""

    def __init__(self, *turns: list[Any] | Callable[[], list[Any]]) -> None:
        self._turns = list(turns)
        self.seen: list[str] = []
        self.offered: list[list[str]] = []

    def __call__(self, seen: Sequence[str], tools: Sequence[str]) -> Any:
        self.seen = list(seen)
        self.offered.append(list(tools))
        if not self._turns:
            return "done"
        turn = self._turns.pop(0)
        return turn() if callable(turn) else turn


@asynccontextmanager
async def governed(plain: Plain, person: Any = None, **options: Any) -> Any:
    options.setdefault("sleep", Naps())
    options.setdefault("trusted", True)
    async with GovernedClient(plain.server, asker=person, **options) as client:
        yield client
