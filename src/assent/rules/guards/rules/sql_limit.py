"""Guard `sql_limit`: queries have a row limit."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.rule import Examples
from assent.rules.guards.sql import SqlRule, sqlglot


class SqlLimit(SqlRule):
    """Every query must end with a limit of at most `most` rows.

    `LIMIT`, `FETCH FIRST` and `TOP` count if their number is written out, without `PERCENT` and `WITH TIES`. What
    cannot be parsed is not allowed.
    """

    changed: ClassVar[tuple[str, str]] = ("", "")
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

    most: Annotated[int, Field(ge=0, description="The largest number of rows.")]

    def judge(self, statements: list[Any]) -> str | None:
        found = [_limit(root) for root in statements]
        if None in found:
            return "it has no row limit"
        return (
            None
            if all(one is not None and one <= self.most for one in found)
            else f"its limit is more than {self.most}"
        )


def _limit(root: Any) -> int | None:
    exp = sqlglot().exp
    limit = root.args.get("limit") if isinstance(root, exp.Query) else None
    number = limit.args.get("expression") or limit.args.get("count") if limit is not None else None
    if isinstance(number, exp.Paren):
        number = number.this
    options = limit.args.get("limit_options") if limit is not None else None
    is_more = options is not None and (options.args.get("percent") or options.args.get("with_ties"))
    is_more = is_more or (limit is not None and bool(limit.expressions))  # LIMIT 5 BY x
    is_number = isinstance(number, exp.Literal) and not number.is_string and number.name.isdecimal() and not is_more
    return int(number.name) if is_number and number is not None else None
