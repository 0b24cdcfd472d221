"""Prints tables at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def print_table(names: Sequence[str], rows: Sequence[Sequence[str]], console: Console | None = None) -> None:
    """Prints a table. The first column is never wrapped, because the next command needs it; others may wrap."""
    from rich.console import Console
    from rich.table import Column, Table

    whole = max([len(names[0]), *(len(row[0]) for row in rows)])
    first = Column(names[0], no_wrap=True, min_width=whole)
    table = Table(first, *(Column(name, overflow="fold") for name in names[1:]), box=None)
    for row in rows:
        table.add_row(*row)
    (console or Console()).print(table)
