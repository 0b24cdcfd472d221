"""Guard `sql_tables`: SQL uses allowed tables only."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from assent.guards.context import Context
from assent.guards.rule import Examples, ValueRule
from assent.guards.sql import SQL_FIELDS, Dialect, NotRead, matches_table, parse, tables_of


class SqlTables(ValueRule):
    """Every table in the SQL must match `allow`, and none may match `block`.

    Names are compared without regard to case and quotes. Under `block`, a pattern without a schema matches in every
    schema. Under `allow` it matches a table without a schema only; write `public.orders` or `public.*`. The names of
    common table expressions do not count where they are visible. What cannot be parsed is not allowed.
    """

    usual_fields: ClassVar[tuple[str, ...]] = SQL_FIELDS
    on_results: ClassVar[bool] = False
    examples: ClassVar[Examples] = Examples(
        {"dialect": "postgres", "allow": ["orders", "public.*"], "block": ["public.salaries"]},
        passes=(
            {"sql": "SELECT * FROM orders o JOIN public.items USING (id)"},
            {"sql": "WITH x AS (SELECT 1) SELECT * FROM x"},
        ),
        objects=(
            {"sql": "SELECT * FROM users"},
            {"sql": 'SELECT * FROM "public"."SALARIES"'},
            {"sql": "WITH users AS (SELECT * FROM users) SELECT * FROM users"},
            {"sql": "SELECT (SELECT max(x) FROM secret.pay) FROM orders"},
        ),
    )

    dialect: Dialect = Field(description="The dialect of the database.")
    allow: Annotated[tuple[str, ...], Field(description="Patterns of the allowed tables; without it, all.")] = ()
    block: Annotated[tuple[str, ...], Field(description="Patterns of the blocked tables.")] = ()

    @model_validator(mode="after")
    def _some_table(self) -> SqlTables:
        if not self.allow and not self.block:
            raise ValueError("it has no tables; set allow, block or both")
        return self

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        try:
            statements = parse(value, self.dialect) if isinstance(value, str) else []
        except NotRead as unread:
            return str(unread)
        if not statements:
            return "it is not SQL"
        return next((why for root in statements for name in tables_of(root) if (why := self._judge(name))), None)

    def _judge(self, name: str) -> str | None:
        if any(matches_table(name, pattern, exact=False) for pattern in self.block):
            return "it uses a blocked table"
        allowed = not self.allow or any(matches_table(name, pattern, exact=True) for pattern in self.allow)
        return None if allowed else "it uses a table that is not allowed"
