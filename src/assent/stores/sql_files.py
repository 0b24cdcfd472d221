"""Where does the SQL stand, and how is it found by name?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_ROW = re.compile(r"VALUES (\([?, ]+\))")
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def statements(dialect: str) -> Mapping[str, str]:
    """The statements of `sql/<dialect>/statements.sql`, each under the name written above it."""
    text = (files("assent.stores") / "sql" / dialect / "statements.sql").read_text("utf-8")
    _, *parts = _NAME.split(text)
    named = {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}
    return MappingProxyType(named)


@cache
def for_rows(statement: str, count: int) -> str:
    """A statement about one row of values, made about so many."""
    return _ROW.sub(lambda row: "VALUES " + ", ".join([row[1]] * count), statement)
