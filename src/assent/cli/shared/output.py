"""How is a list shown at a terminal, however narrow it is?"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table


def print_table(names: Sequence[str], rows: Sequence[Sequence[str]], console: Console | None = None) -> None:
    """The first column is what the next command is given, so it stays whole and in one line; the others may break."""
    whole = max([len(names[0]), *(len(row[0]) for row in rows)])
    first = Column(names[0], no_wrap=True, min_width=whole)
    table = Table(first, *(Column(name, overflow="fold") for name in names[1:]), box=None)
    for row in rows:
        table.add_row(*row)
    (console or Console()).print(table)
