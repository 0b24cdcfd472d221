"""Guard `payload_size`: arguments and results are not too large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule


class PayloadSize(GuardRule):
    """The arguments, or the result, may have at most `most` bytes as JSON. With `fields`, each of them may."""

    on_results: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"most": 40},
        passes=({"text": "short"}, {"text": "x" * 29}),
        objects=({"text": "x" * 30}, {"list": list(range(100))}),
    )

    most: Annotated[int, Field(ge=1, description="The largest number of bytes.")]

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        for path, value in self.checked_values(arguments) if self.fields else [("", arguments)]:
            if len(orjson.dumps(dict(value) if isinstance(value, Mapping) else value)) > self.most:
                return path, f"it has more than {self.most} bytes"
        return None
