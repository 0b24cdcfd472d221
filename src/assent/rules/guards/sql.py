"""Parses SQL and walks its statements: whether they only read, and which tables they name.

A guard understands the whole text or objects: to a statement that the parser keeps as text, a function that is not
known to only read, a table whose name is not written out. `sqlglot` is imported with the first text.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import resources
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from assent.features import require_package
from assent.rules.guards.context import Context
from assent.rules.guards.rule import ValueRule
from assent.rules.guards.text import fold

Dialect = Literal[
    "postgres",
    "mysql",
    "sqlite",
    "tsql",
    "oracle",
    "bigquery",
    "snowflake",
    "redshift",
    "duckdb",
    "clickhouse",
    "databricks",
    "spark",
    "hive",
    "trino",
    "presto",
    "athena",
    "singlestore",
    "materialize",
]
SQL_FIELDS = ("sql", "query", "statement", "sql_query", "sqlQuery", "queries", "statements")
LONGEST = 10_000
"""For all SQL of one call. Parsing takes about 25 microseconds per character."""
_FILE = re.compile(r"\.(?:csv|tsv|json|ndjson|parquet|xlsx|db|duckdb)\Z", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_ENCODED_NAME = re.compile(r"\bu&[\"']", re.IGNORECASE)
_PATTERN = re.compile(r"[*@]|\$\w*\Z")
_XQUERY = re.compile(r"\b(?:ora|fn|doc|collection)\s*[:(]", re.IGNORECASE)
_RUN_COMMENT = re.compile(r"/\*\s*(?:!|m!)", re.IGNORECASE)
_NESTED_COMMENT = re.compile(r"/\*(?:(?!\*/).){0,10000}?/\*", re.DOTALL)
_TEXTS = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text("utf-8"))["sql"]
_WORDS = {name: frozenset(text.split()) for name, text in _TEXTS.items()}


class NotRead(Exception):
    """SQL that cannot be read in one clear way; the text says why."""


@lru_cache(1)
def sqlglot() -> Any:
    """The parser, imported on first use."""
    import sqlglot as parser

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    return parser


@lru_cache(16)
def parse(text: str, dialect: str) -> list[Any]:
    """The statements of a text; raises NotRead. Several guards of one call share them."""
    if len(text) > LONGEST:
        raise NotRead(f"it has more than {LONGEST} characters")
    if _CONTROL.search(text):
        raise NotRead("it contains control characters")
    if _ENCODED_NAME.search(text):
        raise NotRead("it contains a name or text in escapes (U&)")
    if _RUN_COMMENT.search(text):
        raise NotRead("it contains a comment that some databases run")
    if _NESTED_COMMENT.search(text):
        raise NotRead("it contains nested comments, which databases read differently")
    if "\\'" in text or '\\"' in text:
        raise NotRead("it contains a backslash before a quote, which databases read differently")
    try:
        found = [one for one in sqlglot().parse(text, read=dialect) if one is not None]
    except Exception:  # A deeply nested text ends in a RecursionError.
        raise NotRead("it is not SQL that can be read") from None
    if not found:
        raise NotRead("it holds no statement")
    return found


def effect_of(statements: list[Any], functions: tuple[str, ...] = ()) -> str | None:
    """Why statements are more than one that only reads, or None."""
    if len(statements) > 1:
        return "it has more than one statement"
    root = statements[0]
    if type(root).__name__ not in _WORDS["read_roots"]:
        return "it is not a query"
    for node in root.walk():
        if (reason := _effect(node, functions)) is not None:
            return reason
    return None


def _effect(node: Any, functions: tuple[str, ...]) -> str | None:
    kind = type(node).__name__
    locks = kind == "WithTableHint" and any(hint.name.upper() in _WORDS["locks"] for hint in node.expressions)
    if kind in _WORDS["writes"] or locks:
        return "it does more than read"
    return _unclear(node, functions)


def unclear_part(root: Any, functions: tuple[str, ...] = ()) -> str | None:
    """Why the tables and columns of a statement are not all in the parse, or None."""
    kind = type(root).__name__
    if kind not in _WORDS["table_roots"] or (
        kind in ("Create", "Drop", "Alter") and root.args.get("kind") not in _TABLE_KINDS
    ):
        return "it is a statement whose tables cannot be read"
    if root.find(sqlglot().exp.Show):
        return "it holds a part that cannot be read"
    return next((reason for node in root.walk() if (reason := _unclear(node, functions))), None)


_TABLE_KINDS = ("TABLE", "VIEW", "INDEX")


def _unclear(node: Any, functions: tuple[str, ...]) -> str | None:
    kind = type(node).__name__
    if kind in _WORDS["opaque"]:
        return "it holds a part that cannot be read"
    if kind == "Identifier":
        is_statement = not node.args.get("quoted") and node.name.lower() in _WORDS["statements"]
        return "it uses a statement's name as a name" if is_statement else None
    if kind in ("Anonymous", "AnonymousAggFunc"):
        return None if _is_harmless(node, functions) else "it calls a function that is not known to only read"
    if kind == "TableFromRows" and not isinstance(node.this, sqlglot().exp.Func):
        return "it makes up the name of a table"
    if kind == "XMLTable" and _XQUERY.search(node.this.name):
        return "it holds a part that cannot be read"
    if kind == "Lateral" and isinstance(node.this, sqlglot().exp.Column | sqlglot().exp.Identifier):
        return "it uses a table that is not read as one"
    return _unclear_table(node) if kind == "Table" else None


def _unclear_table(node: Any) -> str | None:
    """A table whose name is a file, a pattern or made up, as DuckDB, Spark, BigQuery and Snowflake accept."""
    exp = sqlglot().exp
    if not isinstance(node.this, exp.Identifier | exp.Func | exp.Dot):
        return None if node.args.get("rows_from") or node.args.get("db") else "it makes up the name of a table"
    name = node.name
    if "/" in name or "\\" in name or _FILE.search(name):
        return "it reads a file"
    if name.lower() in _WORDS["statistics"] or name.lower().startswith("pg_toast"):
        return "it reads statistics, which hold values of other tables"
    return "it names tables by a pattern" if _PATTERN.search(name) else None


def _is_harmless(node: Any, functions: tuple[str, ...]) -> bool:
    name = str(node.this).lower()
    parent = node.parent
    schema = parent.this.name.lower() if type(parent).__name__ == "Dot" and parent.expression is node else ""
    table = parent if type(parent).__name__ == "Table" else None
    schema = schema or (table.db.lower() if table is not None else "")
    if any(fnmatchcase(f"{schema}.{name}" if schema else name, one.lower()) for one in functions):
        return True
    return name in _WORDS["harmless"] and (not schema or schema in _WORDS["builtin_schemas"])


def tables_of(root: Any) -> Iterator[str]:
    """The tables of a statement as people read them, with their schemas; common table expressions are left out."""
    exp = sqlglot().exp
    for table in root.find_all(exp.Table):
        if isinstance(table.this, exp.Func) or table.args.get("rows_from"):
            continue
        parts = [fold(part.name) for part in table.parts if hasattr(part, "name")]
        name = ".".join(parts)
        if len(parts) > 1 or not _is_common(table, name):
            yield name


def _is_common(table: Any, name: str) -> bool:
    """Whether a name is that of a common table expression that is visible where it is used."""
    inside: Any = None
    here = table
    while here is not None:
        if type(here).__name__ == "CTE":
            inside = here
        given = here.args.get("with_")
        for cte in given.expressions if given is not None else ():
            if fold(cte.alias) == name and (cte is not inside or cte.parent.args.get("recursive")):
                return True
            if cte is inside:
                break  # Those after it are not visible in it.
        here = here.parent
    return False


def matches_table(name: str, pattern: str, *, exact: bool) -> bool:
    """Whether a table matches a pattern; without `exact`, a pattern without a schema matches in every schema."""
    plain = pattern.lower()
    if fnmatchcase(name, plain):
        return "." in plain or "." not in name or not exact
    return not exact and fnmatchcase(name.rpartition(".")[2], plain) if "." not in plain else name.endswith("." + plain)


class SqlRule(ValueRule):
    """A rule that parses every text of its fields as SQL. A text that is none is not allowed."""

    usual_fields: ClassVar[tuple[str, ...]] = SQL_FIELDS
    on_results: ClassVar[bool] = False
    changed: ClassVar[tuple[str, str]] = ("functions", "functions that are not known to only read are refused")
    per_character: ClassVar[float] = 25.0
    most_characters: ClassVar[int] = LONGEST

    dialect: Dialect = Field(description="The dialect of the database.")
    functions: Annotated[tuple[str, ...], Field(description="Further functions that only read, or patterns.")] = ()

    def model_post_init(self, context: Any) -> None:
        require_package("sqlglot", "guards")  # A guard that cannot read must not wait for its first call to say so.

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            return "it is not SQL"
        try:
            return self.judge(parse(value, self.dialect))
        except NotRead as unread:
            return str(unread)

    def judge(self, statements: list[Any]) -> str | None:
        """Why these statements are not allowed, or None."""
        raise NotImplementedError
