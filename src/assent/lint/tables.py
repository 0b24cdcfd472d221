"""How do the tools of a server read as a table, and does a page still have that table?"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from assent.contract.profiles import WIRE_NAMES
from assent.errors import Fault, SettingsError
from assent.lint.rules.hidden_characters import hidden_in
from assent.lint.target import Subject

BEGIN = "<!-- assent:tools -->"
END = "<!-- /assent:tools -->"
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_NOTHING = "—"


def table(subjects: Sequence[Subject]) -> str:
    """A Markdown table with a row for every tool: its tier and risk under contract, its hints, what it does."""
    governed = any(subject.contract is not None for subject in subjects)
    head = [
        "Tool",
        *(["Side effect", "Risk"] if governed else []),
        *(f"`{wire}`" for wire in WIRE_NAMES.values()),
        "Notes",
    ]
    rows = [_row(subject, governed) for subject in subjects]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(row, widths) for row in [head, rule, *rows])


def _row(subject: Subject, governed: bool) -> list[str]:
    contract = subject.contract
    effect = [contract.side_effect.value, contract.risk.value] if contract else [_NOTHING, _NOTHING]
    hints = [_hint(getattr(subject.claims, name)) for name in WIRE_NAMES]
    return [
        f"`{_cell(subject.name)}`",
        *(effect if governed else []),
        *hints,
        _cell(first_sentence(subject.description)),
    ]


def _hint(value: bool | None) -> str:
    return _NOTHING if value is None else f"`{str(value).lower()}`"


def _cell(text: str) -> str:
    return _seen(" ".join(text.replace("|", "\\|").replace("<", "&lt;").split()))


def _seen(text: str) -> str:
    """The text with what nobody sees, or no file can hold, written out."""
    hidden = set(hidden_in(text))
    return "".join(f"\\u{{{ord(one):x}}}" if at in hidden else one for at, one in enumerate(text))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def first_sentence(text: str) -> str:
    """What stands before the first full stop."""
    match = _SENTENCE.match(text.strip())
    return (match[1] if match else text.strip())[:200]


def placed(page: str, made: str, file: str = "") -> str:
    """The page with the table between its marks."""
    begin, end = page.find(BEGIN), page.find(END)
    if begin < 0 or end < begin:
        raise SettingsError(
            Fault("the page has no place for the table", f"Put the lines {BEGIN} and {END} where it belongs", file=file)
        )
    return page[: begin + len(BEGIN)] + "\n" + made + "\n" + page[end:]


def drift(page: str, made: str, file: str = "") -> list[str]:
    """How the page differs from what it should be, as a unified diff; nothing where it is equal."""
    wanted = placed(page, made, file)
    return list(
        difflib.unified_diff(page.splitlines(), wanted.splitlines(), file or "page", "generated", lineterm="", n=1)
    )
