"""Guard `file_types`: files have an allowed type."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from assent.rules.guards.context import Context
from assent.rules.guards.paths import UNCLEAR, extension_of
from assent.rules.guards.rule import Examples, ValueRule

Extension = Annotated[str, Field(min_length=1), AfterValidator(lambda text: text.lstrip(".").casefold())]


class FileTypes(ValueRule):
    """Every file name in the fields must have an allowed extension, or none of the blocked ones.

    The last extension counts, as Windows reads it: without trailing dots, spaces and streams. A name with control or
    direction-changing characters is not allowed. Under `allow`, a name without an extension is not allowed.
    """

    needs_fields: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["file"], "allow": ["pdf", "csv"]},
        passes=({"file": "report.PDF"}, {"file": "/tmp/a.b.csv"}, {"file": None}),
        objects=({"file": "setup.exe"}, {"file": "report.pdf.exe"}, {"file": "x.exe\u0000.pdf"}, {"file": "README"}),
    )

    allow: Annotated[tuple[Extension, ...], Field(description="The allowed extensions.")] = ()
    block: Annotated[tuple[Extension, ...], Field(description="The blocked extensions.")] = ()

    @model_validator(mode="after")
    def _some_type(self) -> FileTypes:
        if bool(self.allow) == bool(self.block):
            raise ValueError("set either `allow` or `block`")
        return self

    @cached_property
    def _listed_types(self) -> frozenset[str]:
        return frozenset(self.allow or self.block)

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            return "it is not a file name"
        found = extension_of(value)
        if found == UNCLEAR or (found is None and self.allow):
            return "its type cannot be read from its name"
        return "its type is not allowed" if (found in self._listed_types) != bool(self.allow) else None
