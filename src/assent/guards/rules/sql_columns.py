"""Guard `sql_columns`: SQL does not use blocked columns."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.guards.context import Context
from assent.guards.rule import Examples, ValueRule
from assent.guards.sql import SQL_FIELDS, Dialect, NotRead, parse, sqlglot


class SqlColumns(ValueRule):
    """No SQL may name a blocked column, nor read all columns at once.

    A column counts by its name, in whatever table, also inside functions, conditions and `USING`. `SELECT *` and a
    whole row (`SELECT u FROM users u`) are not allowed, because they hold the blocked columns; `star: pass` allows
    them. What cannot be parsed is not allowed.
    """

    usual_fields: ClassVar[tuple[str, ...]] = SQL_FIELDS
    on_results: ClassVar[bool] = False
    examples: ClassVar[Examples] = Examples(
        {"dialect": "postgres", "columns": ["ssn", "password*"]},
        passes=({"sql": "SELECT name, count(*) FROM users GROUP BY name"},),
        objects=(
            {"sql": 'SELECT u."SSN" FROM users u'},
            {"sql": "SELECT name FROM users WHERE password_hash LIKE 'a%'"},
            {"sql": "SELECT * FROM users"},
            {"sql": "SELECT row_to_json(u) FROM users u"},
        ),
    )

    dialect: Dialect = Field(description="The dialect of the database.")
    columns: Annotated[tuple[str, ...], Field(min_length=1, description="The blocked columns, or patterns.")]
    star: str = Field("deny", pattern="^(deny|pass)$", description="deny or pass queries that read all columns.")

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        try:
            statements = parse(value, self.dialect) if isinstance(value, str) else []
        except NotRead as unread:
            return str(unread)
        if not statements:
            return "it is not SQL"
        return next((why for root in statements if (why := self._judge(root))), None)

    def _judge(self, root: Any) -> str | None:
        exp = sqlglot().exp
        for identifier in root.find_all(exp.Identifier):
            if any(fnmatchcase(identifier.name.lower(), pattern.lower()) for pattern in self.columns):
                return "it uses a blocked column"
        if self.star == "pass":
            return None
        if any(not isinstance(star.parent, exp.Count) for star in root.find_all(exp.Star)):
            return "it reads all columns"
        rows = {table.alias_or_name.lower() for table in root.find_all(exp.Table, exp.Subquery, exp.CTE)} - {""}
        whole = any(not column.table and column.name.lower() in rows for column in root.find_all(exp.Column))
        return "it reads a whole row" if whole else None
