"""Askers: the terminal, no one, or the server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from assent.client.question import Answer, Question, Remember

_HOUR = 3_600.0
_GOES_ON = "    … "


async def refuse(question: Question) -> Answer:
    """Answer no, because no person is present."""
    return Answer("cancel")


async def leave_to_server(question: Question) -> Answer:
    """Accept here, because a trusted contract says that the server asks a user or an approver."""
    asked = question.standing.contract.get("confirmation") if question.standing and question.words is None else None
    return Answer("accept" if asked in ("user", "approver") else "cancel")


class Terminal:
    """Asks at the terminal; without a terminal the answer is no. Forms with fields are declined."""

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
            # As text, never as markup, so that a server's text cannot look like ours.
            shown = Text("\n").join(self._wrap_lines(question.text))
            self._console.print(Panel(shown, title="May the agent do this?", title_align="left"))
            if question.schema:
                self._console.print(Text("It wants data; that is declined here."))
                return Answer("decline")
            return await self._ask(question)

    async def _ask(self, question: Question) -> Answer:
        # A server's own question is never remembered, and neither is a tool name alone.
        again = bool(question.arguments) and question.words is None
        offered = "[y]es, yes and the very same for an [h]our, " if again else "[y]es, "
        self._console.print(Text(f"{offered}[n]o, or Enter to leave it: "), end="")
        line = await self._read_line()
        if line is None:
            return Answer("cancel")
        said = line.strip().lower()
        if again and said in ("h", "hour"):
            return Answer("accept", remember=Remember(dict(question.arguments), _HOUR))
        return Answer({"y": "accept", "yes": "accept", "n": "decline", "no": "decline"}.get(said, "cancel"))  # type: ignore[arg-type]

    def _wrap_lines(self, text: str) -> list[Text]:
        """Wrap the lines and mark continuations, so that padding cannot fake a new line."""
        width = max(self._console.width - 4, 20)
        found: list[Text] = []
        for line in text.splitlines():
            first, *more = Text(line).wrap(self._console, width - len(_GOES_ON), overflow="fold") or [Text()]
            found += [first, *(Text(_GOES_ON) + piece for piece in more)]
        return found

    async def _read_line(self) -> str | None:
        """Return the next line entered while the question is open; None if none can come.

        A blocking read cannot be stopped. If the person left a question open, its reader stays and serves the next
        question.
        A line entered in between is dropped, because it answers nothing.
        """
        loop = asyncio.get_running_loop()
        if self._reader is None or self._reader.done() or self._reader.get_loop() is not loop:
            self._reader = loop.create_future()
            # A thread of its own, because the loop waits for its own threads at the end.
            Thread(target=_read_into, args=(self._read, self._reader), name="assent-terminal", daemon=True).start()
        return await asyncio.shield(self._reader)


def _read_into(read: Callable[[], str], reader: asyncio.Future[str | None]) -> None:
    try:
        line = read()
    except (EOFError, KeyboardInterrupt, OSError, ValueError):
        line = None
    # The loop is closed if the program ended meanwhile.
    with suppress(RuntimeError):
        reader.get_loop().call_soon_threadsafe(_set, reader, line)


def _set(reader: asyncio.Future[str | None], line: str | None) -> None:
    if not reader.done():
        reader.set_result(line)
