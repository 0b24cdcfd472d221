"""The SQL statements, read by name from the files in `sql/`."""

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
    """Repeat the VALUES row of a statement so that it takes `count` rows."""
    return _ROW.sub(lambda row: "VALUES " + ", ".join([row[1]] * count), statement)
