"""Guard `lengths`: texts are neither too short nor too long."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule


class Lengths(ValueRule):
    """Every text must have between `least` and `most` characters.

    Characters are counted as code points, invisible ones included.
    """

    texts_alone: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["subject"], "least": 3, "most": 20},
        passes=({"subject": "Minutes"}, {"body": "x" * 500}),
        objects=({"subject": "Hi"}, {"subject": "x" * 21}, {"subject": ["fine", "x" * 21]}),
    )

    least: Annotated[int, Field(ge=0, description="The smallest number of characters.")] = 0
    most: Annotated[int | None, Field(ge=0, description="The largest number of characters.")] = None

    @model_validator(mode="after")
    def _some_limit(self) -> Lengths:
        if self.least == 0 and self.most is None:
            raise ValueError("it has no limit; set least, most or both")
        if self.most is not None and self.least > self.most:
            raise ValueError("`least` is more than `most`, so no text would pass")
        return self

    def objection(self, value: Any, context: Context) -> str | None:
        if not isinstance(value, str):
            return None
        if len(value) < self.least:
            return f"it has fewer than {self.least} characters"
        return f"it has more than {self.most} characters" if self.most is not None and len(value) > self.most else None
