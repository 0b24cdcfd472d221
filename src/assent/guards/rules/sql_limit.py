"""Guard `sql_limit`: queries have a row limit."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.guards.context import Context
from assent.guards.rule import Examples, ValueRule
from assent.guards.sql import SQL_FIELDS, Dialect, NotRead, parse, sqlglot


class SqlLimit(ValueRule):
    """Every query must end with a limit of at most `most` rows.

    `LIMIT`, `FETCH FIRST` and `TOP` count if their number is written out. What cannot be parsed is not allowed.
    """

    usual_fields: ClassVar[tuple[str, ...]] = SQL_FIELDS
    on_results: ClassVar[bool] = False
    examples: ClassVar[Examples] = Examples(
        {"dialect": "postgres", "most": 100},
        passes=({"sql": "SELECT * FROM a LIMIT 100"}, {"sql": "SELECT 1 FROM a FETCH FIRST 5 ROWS ONLY"}),
        objects=(
            {"sql": "SELECT * FROM a"},
            {"sql": "SELECT * FROM a LIMIT 101"},
            {"sql": "SELECT * FROM (SELECT * FROM a LIMIT 1) x CROSS JOIN b"},
            {"sql": "SELECT * FROM a LIMIT 10 * 1000"},
        ),
    )

    dialect: Dialect = Field(description="The dialect of the database.")
    most: Annotated[int, Field(ge=0, description="The largest number of rows.")]

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        try:
            statements = parse(value, self.dialect) if isinstance(value, str) else []
        except NotRead as why:
            return str(why)
        found = [_limit(root) for root in statements]
        if not found or None in found:
            return "it has no row limit"
        return (
            None
            if all(one is not None and one <= self.most for one in found)
            else f"its limit is more than {self.most}"
        )


def _limit(root: Any) -> int | None:
    exp = sqlglot().exp
    limit = root.args.get("limit")
    number = limit.args.get("expression") or limit.args.get("count") if limit is not None else None
    if isinstance(number, exp.Paren):
        number = number.this
    percent = limit is not None and (
        limit.args.get("limit_options") is not None and limit.args["limit_options"].args.get("percent")
    )
    is_number = isinstance(number, exp.Literal) and not number.is_string and number.name.isdecimal() and not percent
    return int(number.name) if is_number and number is not None else None
