"""Guard `read_only`: only tools that read are called."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from pydantic import Field

from assent.contract.tiers import Tier
from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.match import plain_name
from assent.rules.guards.rule import Denial, Examples, GuardRule


class ReadOnly(GuardRule):
    """Only tools of the tiers read and compute may be called.

    The tier is that of the contract, or the inferred one. The inner tool of a meta-tool has no contract here, so it is
    allowed only if it is named under `also`.
    """

    takes_fields: ClassVar[bool] = False
    examples: ClassVar[Examples] = Examples(
        {"match": {"tool": "run", "inner": {}}, "also": ["get_*", "list_*"]},
        passes=({"name": "get_mail"}, {"name": "list_mails", "arguments": {"unread": True}}),
        objects=({"name": "send_mail"}, {"name": "forget_mail"}, {"name": 5}),
    )

    also: tuple[str, ...] = Field((), description="Patterns of tools that are allowed although they do not only read.")

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        if context.tier in (Tier.READ, Tier.COMPUTE):
            return None
        if any(fnmatchcase(plain_name(context.tool), plain_name(pattern)) for pattern in self.also):
            return None
        return "", "only tools that read are allowed"
