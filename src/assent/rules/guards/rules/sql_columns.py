"""Guard `sql_columns`: SQL does not use blocked columns."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.rule import Examples
from assent.rules.guards.sql import SqlRule, sqlglot, unclear_part
from assent.rules.guards.text import fold

_OF_ROWS = frozenset(
    (
        *("to_json", "to_jsonb", "row_to_json", "json_agg", "jsonb_agg", "array_agg", "any_value", "concat", "hstore"),
        *("json_build_array", "jsonb_build_array", "quote_literal", "quote_nullable", "record_out", "record_send"),
    )
)


_DOUBLE_QUOTED = ("mysql", "singlestore", "doris", "starrocks")


class SqlColumns(SqlRule):
    """No SQL may name a blocked column, nor read all columns at once.

    A column counts by its name, in whatever table, also inside functions, conditions and `USING`. `SELECT *`, a whole
    row (`SELECT u FROM users u`) and other names for the columns of a table (`users AS u(a, b)`) are not allowed,
    because they hold the blocked columns; `star: pass` allows them. What may read a column without naming it is not
    allowed, as with `sql_tables`.
    """

    examples: ClassVar[Examples] = Examples(
        {"dialect": "postgres", "columns": ["ssn", "password*"]},
        passes=({"sql": "SELECT name, count(*) FROM users GROUP BY name"},),
        objects=(
            {"sql": 'SELECT u."SSN" FROM users u'},
            {"sql": "SELECT name FROM users WHERE password_hash LIKE 'a%'"},
            {"sql": "SELECT * FROM users"},
            {"sql": "SELECT row_to_json(u) FROM users u"},
            {"sql": "SELECT b FROM users AS u(a, b)"},
        ),
    )

    columns: Annotated[tuple[str, ...], Field(min_length=1, description="The blocked columns, or patterns.")]
    star: str = Field("deny", pattern="^(deny|pass)$", description="deny or pass queries that read all columns.")

    def judge(self, statements: list[Any]) -> str | None:
        found = (unclear_part(root, self.functions) or self._judge_names(root) for root in statements)
        return next((reason for reason in found if reason is not None), None)

    def _judge_names(self, root: Any) -> str | None:
        exp = sqlglot().exp
        for identifier in root.find_all(exp.Identifier):
            if any(fnmatchcase(fold(identifier.name), pattern.lower()) for pattern in self.columns):
                return "it uses a blocked column"
        if any(isinstance(column.this, exp.Literal) for column in root.find_all(exp.Column)):
            return "it names a column by a text"
        if self.dialect in _DOUBLE_QUOTED and any(map(self._is_named_by, root.find_all(exp.Literal))):
            return "it uses a blocked column"
        if self.star == "pass":
            return None
        if any(not isinstance(star.parent, exp.Count) for star in root.find_all(exp.Star, exp.Columns)):
            return "it reads all columns"
        if root.find(exp.PositionalColumn) or (self.dialect == "snowflake" and root.find(exp.Parameter)):
            return "it names a column by its number"
        if root.find(exp.Summarize) or any(join.method == "NATURAL" for join in root.find_all(exp.Join)):
            return "it reads columns that it does not name"
        if any(map(_is_renamed, root.find_all(exp.Table, exp.Subquery))):
            return "it gives the columns of a table other names"
        rows = {fold(table.alias_or_name) for table in root.find_all(exp.Table, exp.Subquery, exp.CTE)} - {""}
        whole = any(_is_row(column, rows) for column in root.find_all(exp.Column))
        return "it reads a whole row" if whole else None

    def _is_named_by(self, text: Any) -> bool:
        """Whether a text may be a name: where the mode ANSI_QUOTES is on, `"ssn"` is the column."""
        return text.is_string and any(fnmatchcase(fold(text.name), pattern.lower()) for pattern in self.columns)


def _is_renamed(table: Any) -> bool:
    """Whether a real table, not a query or a function that makes rows, has other names for its columns."""
    alias, exp = table.args.get("alias"), sqlglot().exp
    return alias is not None and bool(alias.columns) and not isinstance(table.this, exp.Func | exp.Query | exp.Values)


def _is_row(column: Any, rows: set[str]) -> bool:
    """Whether a column is the name of a row, or `u.to_json`, which PostgreSQL reads as `to_json(u)`."""
    return fold(column.name) in (rows if not column.table else _OF_ROWS)
