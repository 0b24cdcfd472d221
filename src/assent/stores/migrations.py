"""Database migrations, the steps from an empty database to the schema of this version, and the SQL statements."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from assent.errors import StoreError

logger = logging.getLogger(__name__)

_ROW = re.compile(r"VALUES (\([?, ]+\))")
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_NUMBERED = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration step. A released step is never edited; the schema is all steps in order."""

    number: int
    name: str
    sql: str


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """The steps of `sql/<dialect>/migrations`, numbered from 1 without gaps."""
    folder = files("assent.stores") / "sql" / dialect / "migrations"
    named = [(file, _NUMBERED.fullmatch(file.name)) for file in folder.iterdir()]
    steps = [Migration(int(match[1]), match[2], file.read_text("utf-8")) for file, match in named if match]
    ordered = tuple(sorted(steps, key=lambda step: step.number))
    if [step.number for step in ordered] != list(range(1, len(ordered) + 1)):
        raise StoreError(f"The migrations of {dialect} are not numbered from 1 without gaps.")
    return ordered


def pending(dialect: str, version: int, where: str) -> tuple[Migration, ...]:
    """The steps that a schema of this version still needs. Raises StoreError for a schema newer than this Assent
    knows.
    """
    known = migrations(dialect)
    if version > len(known):
        raise StoreError(
            f"{where} has schema {version}, but this version of Assent knows schemas only up to {len(known)}. "
            "Upgrade Assent, or use another database."
        )
    return known[version:]


def note_migrated(where: str, version: int, steps: tuple[Migration, ...]) -> None:
    """Say that these steps changed a schema of this version for good. A new database is no news."""
    if version and steps:
        newest = steps[-1].number
        logger.warning("%s was migrated from schema %d to %d: earlier versions cannot open it.", where, version, newest)


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
