"""Writes a server's tools as a Markdown table and compares a page with it."""

from __future__ import annotations

import difflib
import io
import re
from collections.abc import Iterator, Sequence

from assent.checks.lint.target import LintedTool
from assent.contract.profiles import WIRE_NAMES
from assent.contract.tiers import Risk
from assent.core.hidden_characters import hidden_in
from assent.errors import Fault, SettingsError

BEGIN = "<!-- assent:tools -->"
END = "<!-- /assent:tools -->"
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_NOTHING = "—"
_LISTS = {"permissions": "Scopes", "produces": "Produces"}
# Both are code in Markdown, where a marker is only an example.
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
# A backslash before an escaped pipe would end the cell.
_PIPE = re.compile(r"(\\*)\|")
_INDENTED = re.compile(r" {4}| {0,3}\t")


def table(subjects: Sequence[LintedTool]) -> str:
    """Return a Markdown table with a row per tool: tier and risk under contract, hints, scopes and what it produces if
    any tool has them, and the first sentence.
    """
    governed = any(subject.contract is not None for subject in subjects)
    lists = [
        name for name in _LISTS if any(subject.contract and getattr(subject.contract, name) for subject in subjects)
    ]
    head = [
        "Tool",
        *(["Side effect", "Risk"] if governed else []),
        *(f"`{wire}`" for wire in WIRE_NAMES.values()),
        *(_LISTS[name] for name in lists),
        "Notes",
    ]
    rows = [_row(subject, governed, lists) for subject in subjects]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(row, widths) for row in [head, rule, *rows])


def excluded_table(excluded: Sequence[tuple[str, str]]) -> str:
    """Return a Markdown table of the operations that get no tool, with the reason of each."""
    rows = [["Operation without a tool", "Reason"], ["-", "-"]]
    rows += [[f"`{_cell(place)}`", _cell(reason)] for place, reason in excluded]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def by_safety(subjects: Sequence[LintedTool]) -> list[LintedTool]:
    """The riskiest tools first, as the console sorts them."""
    return sorted(subjects, key=lambda one: (-_risk(one).number, -one.tier.number, one.name))


def _risk(subject: LintedTool) -> Risk:
    return subject.contract.risk if subject.contract is not None else Risk(subject.inference.risk)


def _row(subject: LintedTool, governed: bool, lists: Sequence[str]) -> list[str]:
    contract = subject.contract
    effect = [contract.side_effect.value, contract.risk.value] if contract else [_NOTHING, _NOTHING]
    hints = [_hint(getattr(subject.claims, name)) for name in WIRE_NAMES]
    return [
        f"`{_cell(subject.name)}`",
        *(effect if governed else []),
        *hints,
        *(_code_words(getattr(contract, name) if contract else ()) for name in lists),
        _cell(" ".join([*_warnings(subject), first_sentence(subject.description)])),
    ]


def _code_words(words: Sequence[str]) -> str:
    return ", ".join(f"`{_cell(word)}`" for word in words) or _NOTHING


def _warnings(subject: LintedTool) -> list[str]:
    """Return warnings for the reader: the tool is not served, or its annotations contradict its contract."""
    served = [f"**Not served: {subject.withheld}.**"] if subject.withheld else []
    return [*served, *(f"**Contradiction: {message}.**" for message in subject.contradictions)]


def _hint(value: bool | None) -> str:
    return _NOTHING if value is None else f"`{str(value).lower()}`"


def _cell(text: str) -> str:
    return _visible(" ".join(_PIPE.sub(r"\1\1\\|", text).replace("<", "&lt;").split()))


def _visible(text: str) -> str:
    """Return the text with invisible and unencodable characters written out."""
    hidden = set(hidden_in(text))
    return "".join(f"\\u{{{ord(one):x}}}" if at in hidden else one for at, one in enumerate(text))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def first_sentence(text: str) -> str:
    """Return the text before the first full stop."""
    match = _SENTENCE.match(text.strip())
    return (match[1] if match else text.strip())[:200]


def placed(page: str, table_text: str, file: str = "") -> str:
    """Return the page with the table between its markers; other lines are unchanged."""
    lines = io.StringIO(page, newline="").readlines()
    begin, end = _place(lines, file)
    line_end = lines[begin][len(lines[begin].rstrip("\r\n")) :]
    table_lines = [line + line_end for line in table_text.split("\n")]
    return "".join([*lines[: begin + 1], *table_lines, *lines[end:]])


def _place(lines: Sequence[str], file: str) -> tuple[int, int]:
    """Return the lines of the two markers; raise if there are more or fewer."""
    marks = list(_marks(lines))
    if [mark for mark, _ in marks] == [BEGIN, END]:
        return marks[0][1], marks[1][1]
    if len(marks) > 2:
        numbers = ", ".join(str(at + 1) for _, at in marks)
        fault = Fault(f"the page has several marks, on lines {numbers}", f"Leave one {BEGIN} and one {END}", file=file)
    else:
        remedy = f"Put the lines {BEGIN} and {END} where it belongs"
        fault = Fault("the page has no place for the table", remedy, file=file)
    raise SettingsError(fault)


def _marks(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the lines that contain only a marker, outside of code."""
    fence = ""
    for at, line in enumerate(line.removeprefix("\ufeff") for line in lines):
        bare = line.strip()
        if fence:
            fence = "" if len(bare) >= len(fence) and not bare.strip(fence[0]) else fence
        elif opened := _FENCE.match(line):
            fence = opened[1]
        elif bare in (BEGIN, END) and not _INDENTED.match(line):
            yield bare, at


def drift(page: str, table_text: str, file: str = "") -> list[str]:
    """Return the difference between the page and the table as a unified diff; empty if equal."""
    wanted = placed(page, table_text, file)
    return list(
        difflib.unified_diff(page.splitlines(), wanted.splitlines(), file or "page", "generated", lineterm="", n=1)
    )
