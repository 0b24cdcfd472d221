"""Guard `labels`: only some labels are set."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule
from assent.rules.guards.text import name_key, skeleton

_SEVERAL = re.compile(r"[,;|\r\n]")


class AllowedLabels(ValueRule):
    """Every label must match `allow`, and none may match `block`.

    Labels are compared as a person reads them: without case, invisible characters and look-alike letters. A text may
    list several labels, parted by commas, semicolons, bars or line ends.
    """

    usual_fields: ClassVar[tuple[str, ...]] = ("label", "labels", "tag", "tags", "add_labels", "labelIds", "label_ids")
    examples: ClassVar[Examples] = Examples(
        {"allow": ["bug", "area/*"], "block": ["area/security"]},
        passes=({"labels": ["Bug", "area/ui"]}, {"labels": "bug, area/db"}, {"title": "urgent"}),
        objects=({"labels": ["urgent"]}, {"labels": ["bug", "AREA/security"]}, {"label": "area/sеcurity"}),
    )

    allow: Annotated[tuple[str, ...], Field(description="Patterns of the allowed labels; without it, all.")] = ()
    block: Annotated[tuple[str, ...], Field(description="Patterns of the blocked labels.")] = ()

    @model_validator(mode="after")
    def _some_label(self) -> AllowedLabels:
        if not self.allow and not self.block:
            raise ValueError("it has no labels; set allow, block or both")
        return self

    def objection(self, value: Any, context: Context) -> str | None:
        for label in _SEVERAL.split(value) if isinstance(value, str) else () if value is None else (str(value),):
            key, alike = name_key(label), skeleton(name_key(label))
            if any(fnmatchcase(one, name_key(pattern)) for one in (key, alike) for pattern in self.block):
                return "it is a blocked label"
            if self.allow and key and not any(fnmatchcase(key, name_key(pattern)) for pattern in self.allow):
                return "it is not one of the allowed labels"
        return None
