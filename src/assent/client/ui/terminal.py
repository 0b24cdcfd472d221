"""How is a person at the client reached: at the terminal, through the caller's own function, or not at all?"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from assent.client.question import Answer, Question
from assent.client.remembered_approvals import Remember

_HOUR = 3_600.0
_GOES_ON = "    … "


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
        self._reader: asyncio.Future[str | None] | None = None

    async def __call__(self, question: Question) -> Answer:
        if not self._attached():
            return Answer("cancel")
        async with self._turn:
            # As text, never as markup: what a server wrote must not look like ours.
            shown = Text("\n").join(self._folded(question.text))
            self._console.print(Panel(shown, title="May the agent do this?", title_align="left"))
            if question.schema:
                self._console.print(Text("It wants data; that is declined here."))
                return Answer("decline")
            return await self._ask(question)

    async def _ask(self, question: Question) -> Answer:
        # A server's own question is never answered for later, and a name alone is never remembered.
        again = bool(question.arguments) and question.words is None
        offered = "[y]es, yes and the very same for an [h]our, " if again else "[y]es, "
        self._console.print(Text(f"{offered}[n]o, or Enter to leave it: "), end="")
        line = await self._line()
        if line is None:
            return Answer("cancel")
        said = line.strip().lower()
        if again and said in ("h", "hour"):
            return Answer("accept", remember=Remember(dict(question.arguments), _HOUR))
        return Answer({"y": "accept", "yes": "accept", "n": "decline", "no": "decline"}.get(said, "cancel"))  # type: ignore[arg-type]

    def _folded(self, text: str) -> list[Text]:
        """The lines as they fit; what goes on is marked, so that padding cannot make a line of its own."""
        width = max(self._console.width - 4, 20)
        found: list[Text] = []
        for line in text.splitlines():
            first, *more = Text(line).wrap(self._console, width - len(_GOES_ON), overflow="fold") or [Text()]
            found += [first, *(Text(_GOES_ON) + piece for piece in more)]
        return found

    async def _line(self) -> str | None:
        """The next line somebody ends while the question stands; None where none can come.

        Reading cannot be stopped: whoever walked away left a reader behind, and the next question goes on with it. A
        line that it brought in between was the answer to nothing.
        """
        loop = asyncio.get_running_loop()
        if self._reader is None or self._reader.done() or self._reader.get_loop() is not loop:
            self._reader = loop.create_future()
            # Of its own, and not one of the loop's: those are waited for at the end.
            Thread(target=_bring, args=(self._read, self._reader), name="assent-terminal", daemon=True).start()
        return await asyncio.shield(self._reader)


def _bring(read: Callable[[], str], reader: asyncio.Future[str | None]) -> None:
    try:
        line = read()
    except (EOFError, KeyboardInterrupt, OSError, ValueError):
        line = None
    # The loop is gone where the program ended meanwhile.
    with suppress(RuntimeError):
        reader.get_loop().call_soon_threadsafe(_set, reader, line)


def _set(reader: asyncio.Future[str | None], line: str | None) -> None:
    if not reader.done():
        reader.set_result(line)
