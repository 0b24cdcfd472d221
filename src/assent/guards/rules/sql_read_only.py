"""Guard `sql_read_only`: SQL only reads."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.guards.context import Context
from assent.guards.rule import Examples, ValueRule
from assent.guards.sql import SQL_FIELDS, Dialect, effect_of


class SqlReadOnly(ValueRule):
    """Every text of the fields must be one SQL query that only reads.

    The text is parsed in the dialect of your database. Not allowed are: a second statement; anything that writes, also
    inside a common table expression; `INTO`, `FOR UPDATE`, `COPY`, `CALL`, `SET`, `PRAGMA`, `ATTACH`, `EXPLAIN`; files
    as tables; functions that are not known to only read (`pg_read_file`, `dblink`, `load_file`, your own); comments
    that some databases run. What cannot be parsed is not allowed. Also give the tool a database user who may only read.
    """

    usual_fields: ClassVar[tuple[str, ...]] = SQL_FIELDS
    on_results: ClassVar[bool] = False
    examples: ClassVar[Examples] = Examples(
        {"dialect": "postgres", "functions": ["our_rate"]},
        passes=(
            {"sql": "SELECT name, count(*) FROM users GROUP BY 1 LIMIT 10"},
            {"query": "WITH a AS (SELECT 1) SELECT * FROM a -- the end"},
            {"sql": "SELECT our_rate(price) FROM items;"},
        ),
        objects=(
            {"sql": "DELETE FROM users"},
            {"sql": "SELECT 1; DROP TABLE users"},
            {"sql": "WITH d AS (DELETE FROM users RETURNING *) SELECT * FROM d"},
            {"sql": "SELECT pg_read_file('/etc/passwd')"},
            {"sql": "SELECT * INTO copied FROM users"},
        ),
    )

    dialect: Dialect = Field(description="The dialect of the database.")
    functions: Annotated[tuple[str, ...], Field(description="Further functions that only read, or patterns.")] = ()

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        return effect_of(value, self.dialect, self.functions) if isinstance(value, str) else "it is not SQL"
