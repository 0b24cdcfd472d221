"""Guard `sql_tables`: SQL uses allowed tables only."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from assent.rules.guards.rule import Examples
from assent.rules.guards.sql import SqlRule, matches_table, tables_of, unclear_part


class SqlTables(SqlRule):
    """Every table in the SQL must match `allow`, and none may match `block`.

    Names are compared without regard to case and quotes. Under `block`, a pattern without a schema matches in every
    schema. Under `allow` it matches a table without a schema only; write `public.orders` or `public.*`. The names of
    common table expressions do not count where they are visible. What may use a table without naming it is not allowed:
    a statement that is not parsed as a whole (`DO`, `EXPLAIN`, `EXECUTE`, cursors), a function that is not known to
    only read (`query_to_xml`, `dblink`, your own unless `functions` names it), a name that is made up, a file.
    """

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
            {"sql": "DO $$ BEGIN DELETE FROM users; END $$"},
        ),
    )

    allow: Annotated[tuple[str, ...], Field(description="Patterns of the allowed tables; without it, all.")] = ()
    block: Annotated[tuple[str, ...], Field(description="Patterns of the blocked tables.")] = ()

    @model_validator(mode="after")
    def _some_table(self) -> SqlTables:
        if not self.allow and not self.block:
            raise ValueError("it has no tables; set allow, block or both")
        return self

    def judge(self, statements: list[Any]) -> str | None:
        for root in statements:
            if (reason := unclear_part(root, self.functions)) is not None:
                return reason
        return next((why for root in statements for name in tables_of(root) if (why := self._judge_name(name))), None)

    def _judge_name(self, name: str) -> str | None:
        if any(matches_table(name, pattern, exact=False) for pattern in self.block):
            return "it uses a blocked table"
        allowed = not self.allow or any(matches_table(name, pattern, exact=True) for pattern in self.allow)
        return None if allowed else "it uses a table that is not allowed"
