"""Guard `nesting`: values are not nested too deeply and do not hold too many values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule


class Nesting(GuardRule):
    """Lists and objects may be nested at most `deepest` times, and hold at most `most` values in all."""

    on_results: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"deepest": 2, "most": 10},
        passes=({"a": {"b": [1]}}, {"list": list(range(9))}),
        objects=({"a": {"b": {"c": [1]}}}, {"list": list(range(10))}),
    )

    deepest: Annotated[int, Field(ge=0, description="How often values may be nested.")] = 10
    most: Annotated[int, Field(ge=1, description="How many values there may be.")] = 100_000

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        count, waiting = 0, [(path, value, 0) for path, value in self.checked_values(arguments)]
        while waiting:
            path, value, depth = waiting.pop()
            count += 1
            if count > self.most:
                return path, f"there are more than {self.most} values"
            if not isinstance(value, dict | list):
                continue
            if depth >= self.deepest:
                return path, f"it is nested more than {self.deepest} deep"
            below = value.values() if isinstance(value, dict) else value
            waiting += [(path, item, depth + 1) for item in below]
        return None
