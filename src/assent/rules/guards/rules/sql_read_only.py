"""Guard `sql_read_only`: SQL only reads."""

from __future__ import annotations

from typing import Any, ClassVar

from assent.rules.guards.rule import Examples
from assent.rules.guards.sql import SqlRule, effect_of


class SqlReadOnly(SqlRule):
    """Every text of the fields must be one SQL query that only reads.

    The text is parsed in the dialect of your database. Not allowed are: a second statement; anything that writes, also
    inside a common table expression; `INTO`, `FOR UPDATE`, `COPY`, `CALL`, `SET`, `PRAGMA`, `ATTACH`, `EXPLAIN`; files
    as tables; functions that are not known to only read (`pg_read_file`, `dblink`, `load_file`, and your own unless
    `functions` names them); comments that some databases run. What cannot be parsed is not allowed. Also give the tool
    a database user who may only read.
    """

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

    def judge(self, statements: list[Any]) -> str | None:
        return effect_of(statements, self.functions)
