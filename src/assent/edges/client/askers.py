"""How is a person at the client reached: at the terminal, through the caller's own function, or not at all?"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from assent.edges.client.allowances import Remember
from assent.edges.client.question import Answer, Question

_HOUR = 3_600.0


async def refuse(question: Question) -> Answer:
    """Nobody is there: no answer is no."""
    return Answer("cancel")


async def leave_to_server(question: Question) -> Answer:
    """Nobody is here, but a trusted contract promises that the server has somebody asked: a user or an approver."""
    asked = question.standing.contract.get("confirmation") if question.standing and question.words is None else None
    return Answer("accept" if asked in ("user", "approver") else "cancel")


class Terminal:
    """Asks at the terminal; without one, nobody is there. Forms with fields are declined."""

    def __init__(
        self,
        console: Console | None = None,
        read: Callable[[], str] = input,
        attached: Callable[[], bool] = lambda: sys.stdin.isatty(),
    ) -> None:
        self._console = console or Console(stderr=True)
        self._read = read
        self._attached = attached
        self._turn = asyncio.Lock()

    async def __call__(self, question: Question) -> Answer:
        if not self._attached():
            return Answer("cancel")
        async with self._turn:
            # As text, never as markup: what a server wrote must not look like ours.
            self._console.print(Panel(Text(question.text), title="May the agent do this?", title_align="left"))
            if question.schema:
                self._console.print(Text("It wants data; that is declined here."))
                return Answer("decline")
            return await self._ask(question)

    async def _ask(self, question: Question) -> Answer:
        # A server's own question is never answered for later, and a name alone is never remembered.
        again = bool(question.arguments) and question.words is None
        offered = "[y]es, yes and the very same for an [h]our, " if again else "[y]es, "
        self._console.print(Text(f"{offered}[n]o, or Enter to leave it: "), end="")
        try:
            said = (await asyncio.to_thread(self._read)).strip().lower()
        except (EOFError, KeyboardInterrupt):
            return Answer("cancel")
        if again and said in ("h", "hour"):
            return Answer("accept", remember=Remember(dict(question.arguments), _HOUR))
        return Answer({"y": "accept", "yes": "accept", "n": "decline", "no": "decline"}.get(said, "cancel"))  # type: ignore[arg-type]
