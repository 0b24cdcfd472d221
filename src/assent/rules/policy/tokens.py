"""Splits Cedar text into policies and finds the line of an error, which the Cedar parser does not report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import cedarpy

_TOKEN = re.compile(r'//[^\n]*|\s+|"(?:\\.|[^"\\])*"|[A-Za-z_][A-Za-z0-9_]*|\d+|::|.', re.DOTALL)
_INCOMPLETE = "unexpected end of input"
_NAMED = re.compile(r"`([^`]+)`")


class Statement(NamedTuple):
    """The text of one policy and the line on which it begins."""

    text: str
    line: int


def split_policies(text: str) -> Iterator[Statement]:
    """Each policy of a file. A rest without a semicolon is a statement too, which the parser refuses."""
    begin, line, first, parts = None, 1, 1, list[str]()
    for match in _TOKEN.finditer(text):
        token = match[0]
        if begin is None and not _is_blank(token):
            begin, first = match.start(), line
        if begin is not None:
            parts.append(token)
        line += token.count("\n")
        if token == ";":
            yield Statement("".join(parts), first)
            begin, parts = None, []
    if begin is not None:
        yield Statement("".join(parts), first)


def locate_error(statement: Statement, error: str) -> int:
    """The line of the token at which the parser stops, or of the name that the error mentions."""
    tokens = list(_TOKEN.finditer(statement.text))
    if error.startswith("unexpected token"):
        for match in tokens:
            if not _is_blank(match[0]) and _stops_at(statement.text[: match.end()]):
                return _line_at(statement, match.start())
    for name in reversed(_NAMED.findall(error)):
        wanted = name.rpartition(".")[2].strip('"')
        for match in tokens:
            if match[0].strip('"') == wanted:
                return _line_at(statement, match.start())
    return statement.line


def _stops_at(prefix: str) -> bool:
    """Whether the parser refuses a beginning of a policy for another reason than that it ends."""
    try:
        cedarpy.PolicySet.from_str(prefix)
    except ValueError as error:
        return _INCOMPLETE not in str(error)
    return False


def _line_at(statement: Statement, position: int) -> int:
    return statement.line + statement.text.count("\n", 0, position)


def _is_blank(token: str) -> bool:
    return token.isspace() or token.startswith("//")
