"""Guard `require_prefix`: every text of a field begins with an allowed prefix."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import Context
from assent.rules.guards.rule import Examples, ValueRule


class RequirePrefix(ValueRule):
    """Every text of the fields must begin with one of the prefixes.

    The comparison is exact. For paths use `allow_paths`, for links `allow_hosts`: a prefix does not see `..` or a
    user name in front of a host.
    """

    needs_fields: ClassVar[bool] = True
    examples: ClassVar[Examples] = Examples(
        {"fields": ["name"], "prefixes": ["test-", "dev-"]},
        passes=({"name": "test-run"}, {"name": ["dev-a", "test-b"]}, {"other": "prod"}),
        objects=({"name": "prod-run"}, {"name": " test-run"}, {"name": "Test-run"}, {"name": ["dev-a", "prod"]}),
    )

    prefixes: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1, description="The allowed beginnings.")
    ]

    def objection(self, value: Any, context: Context) -> str | None:
        if value is None or (isinstance(value, str) and value.startswith(self.prefixes)):
            return None
        return "it does not begin with a required prefix"
