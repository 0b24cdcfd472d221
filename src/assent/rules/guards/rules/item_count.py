"""Guard `item_count`: lists and objects do not have too many items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule
from assent.rules.guards.values import Named


class ItemCount(GuardRule):
    """No list or object may have more than `most` items, at any depth."""

    on_results: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["ids"], "most": 3},
        passes=({"ids": [1, 2, 3]}, {"ids": 7}, {"names": ["a", "b", "c", "d"]}),
        objects=({"ids": [1, 2, 3, 4]}, {"ids": [[1, 2, 3, 4]]}, {"ids": {"a": 1, "b": 2, "c": 3, "d": 4}}),
    )

    most: Annotated[int, Field(ge=0, description="The largest number of items.")]

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        waiting: list[Named] = self.checked_values(arguments)
        while waiting:
            path, value = waiting.pop()
            if not isinstance(value, list | dict):
                continue
            if len(value) > self.most:
                return path, f"it has more than {self.most} items"
            if isinstance(value, dict):
                waiting += [(f"{path}.{name}", item) for name, item in value.items()]
            else:
                waiting += [(f"{path}[{index}]", item) for index, item in enumerate(value)]
        return None
