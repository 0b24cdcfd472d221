"""Parses SQL and tells whether a statement only reads, and which tables and columns it names.

`sqlglot` is imported when the first SQL guard is built.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal

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
"""Parsing takes about 25 microseconds per character."""
_FILE = re.compile(r"\.(?:csv|tsv|json|ndjson|parquet|xlsx|db|duckdb)\Z", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_RUN_COMMENT = re.compile(r"/\*\s*(?:!|m!)", re.IGNORECASE)
_NESTED_COMMENT = re.compile(r"/\*(?:(?!\*/).){0,10000}?/\*", re.DOTALL)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Where it is a statement of its own, a name such as DELETE ends the statement before it in some dialects.
_STATEMENTS = _words("""
    delete drop update insert exec execute truncate merge create alter grant revoke deny backup restore shutdown
    kill use set declare begin commit rollback waitfor reconfigure dbcc bulk call copy load lock unlock vacuum
    attach detach pragma do listen notify prepare deallocate rename reindex refresh import export install
""")
_READ_ROOTS = _words("Select Union Intersect Except Values Subquery Show Describe With")
_WRITES = _words("""
    Insert Update Delete Merge Create Drop Alter Command Into Lock Copy Set Use Pragma Attach Detach Transaction
    Commit Rollback Kill Grant Revoke LoadData Cache Uncache Refresh Analyze Export Execute TruncateTable
    QueryTransform Directory Install PropertyEQ Semicolon ReadCSV ReadParquet NextValueFor AIGenerate AIAgg
    AIClassify Declare Put Get Summarize Heredoc Block IfBlock WhileBlock StoredProcedure
""")
# Functions that sqlglot does not know and that are known to have no effect.
_HARMLESS = _words("""
    json_* jsonb_* to_* date_* time_* array_* string_* str_* regexp_* range_* bit_* st_* age ascii btrim cardinality
    char_length character_length chr clock_timestamp current_setting datediff dateadd datename datepart dayname
    digest encode decode enum_* format format_date formatdatetime gen_random_uuid getdate grouping host hour inet_*
    initcap instr int4 int8 isfinite isnull isnumeric julianday justify_* len locate localtimestamp lower make_date
    make_interval make_timestamp minute mode monthname netmask now num_nonnulls num_nulls numnode octet_length
    overlay percentile_* plainto_tsquery phraseto_tsquery position printf quarter quote_ident quote_literal replace
    reverse round row_to_json rpad lpad scale second similarity sign split_part sqlite_version strpos
    statement_timestamp text total transaction_timestamp translate trunc ts_headline ts_rank* tsvector_* typeof
    unnest upper version weekday websearch_to_tsquery width_bucket word_similarity yearweek pg_size_pretty
    pg_table_size pg_total_relation_size pg_relation_size obj_description col_description pg_get_viewdef
    pg_get_indexdef pg_get_constraintdef pg_typeof format_type has_table_privilege generate_subscripts floor ceil
    ceiling div mod power degrees radians sin cos tan asin acos atan atan2 exp ln log log10 sqrt cbrt pi
""")
# Names in these families that read files or run text.
_HARMFUL = _words("st_fromgdalraster* date_fin")
_BUILTIN_SCHEMAS = frozenset({"pg_catalog", "sys", "information_schema"})


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


def effect_of(text: str, dialect: str, functions: tuple[str, ...] = ()) -> str | None:
    """Why a text is more than one statement that only reads, or None."""
    try:
        statements = parse(text, dialect)
    except NotRead as why:
        return str(why)
    if len(statements) > 1:
        return "it has more than one statement"
    root = statements[0]
    if type(root).__name__ not in _READ_ROOTS:
        return "it is not a query"
    for node in root.walk():
        if (reason := _effect(node, functions)) is not None:
            return reason
    return None


def _effect(node: Any, functions: tuple[str, ...]) -> str | None:
    kind = type(node).__name__
    if kind in _WRITES:
        return "it does more than read"
    if kind == "Identifier":
        if not node.args.get("quoted") and node.name.lower() in _STATEMENTS:
            return "it uses a statement's name as a name"
        return None
    if kind == "Table":
        return _file_table(node)
    if kind in ("Anonymous", "AnonymousAggFunc"):
        return None if _is_harmless(node, functions) else "it calls a function that is not known to only read"
    return None


def _file_table(node: Any) -> str | None:
    """A table whose name is a file or an address, as DuckDB and Spark accept."""
    name = node.name
    is_file = (
        "/" in name
        or "\\" in name
        or re.search(r"\.(?:csv|tsv|json|ndjson|parquet|xlsx|db|duckdb)\Z", name, re.IGNORECASE)
    )
    return "it reads a file" if is_file else None


def _is_harmless(node: Any, functions: tuple[str, ...]) -> bool:
    name = str(node.this).lower()
    parent = node.parent
    schema = parent.this.name.lower() if type(parent).__name__ == "Dot" and parent.expression is node else ""
    table = parent if type(parent).__name__ == "Table" else None
    schema = schema or (table.db.lower() if table is not None else "")
    if any(fnmatchcase(f"{schema}.{name}" if schema else name, one.lower()) for one in functions):
        return True
    if schema and schema not in _BUILTIN_SCHEMAS:
        return False
    return any(fnmatchcase(name, one) for one in _HARMLESS) and not any(fnmatchcase(name, one) for one in _HARMFUL)


def tables_of(root: Any) -> Iterator[str]:
    """The tables of a statement in lower case, with their schemas; common table expressions are left out."""
    for table in root.find_all(sqlglot().exp.Table):
        parts = [part.name.lower() for part in table.parts if hasattr(part, "name")]
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
            if cte.alias.lower() == name and (cte is not inside or cte.parent.args.get("recursive")):
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
