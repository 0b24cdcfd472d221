"""Prints the demo's story: coloured and wrapped at a terminal, plain elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable

import click

Write = Callable[[str], None]
WIDEST = 100
_INDENT = "   "


class Narration:
    """Lines of the story by what they are: a step, what happens, a quotation, an attack, what Assent spared you."""

    def __init__(self, write: Write = click.echo) -> None:
        self._write = write
        self._steps = 0
        at_terminal = sys.stdout.isatty()
        self._coloured = at_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        columns = shutil.get_terminal_size((80, 24)).columns
        self._width = max(40, min(columns, WIDEST)) if at_terminal else None

    def step(self, title: str) -> None:
        self._steps += 1
        self._write("")
        self._print(title, f"{self._steps}  ", bold=True)

    def say(self, text: str, indent: str = _INDENT) -> None:
        self._print(text, indent)

    def quote(self, line: str) -> None:
        """A line that a person is shown, as it is shown."""
        self._write(self._styled(f"{_INDENT}| {line}", fg="cyan"))

    def good(self, text: str) -> None:
        self._print(text, _INDENT, fg="green")

    def attack(self, text: str) -> None:
        self._print(text, f"{_INDENT}!! ", fg="red", bold=True)

    def changed(self, before: str, after: str) -> None:
        self._print(before, f"{_INDENT}- ", fg="yellow")
        self._print(after, f"{_INDENT}+ ", fg="red")

    def without(self, text: str) -> None:
        """What would have happened without Assent."""
        self._print(text, f"{_INDENT}Without Assent: ", fg="yellow")

    def line(self, text: str = "", **style: bool) -> None:
        """A line that is copied, such as a command: never wrapped."""
        self._write(self._styled(text, **style))

    def _print(self, text: str, start: str, **style: str | bool) -> None:
        lines = [text]
        if self._width is not None:
            lines = textwrap.wrap(text, self._width - len(start), break_on_hyphens=False) or [""]
        for number, line in enumerate(lines):
            self._write(self._styled((start if number == 0 else " " * len(start)) + line, **style))

    def _styled(self, text: str, **style: str | bool) -> str:
        return click.style(text, **style) if self._coloured and style else text  # type: ignore[arg-type]
