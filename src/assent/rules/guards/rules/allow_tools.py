"""Guard `allow_tools`: only named tools are called."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

from pydantic import Field

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule


class AllowTools(GuardRule):
    """Only tools whose name matches one of the patterns may be called.

    The name is compared exactly, with case. Use it for an upstream, or for the inner tools of a meta-tool.
    """

    takes_fields: ClassVar[bool] = False
    examples: ClassVar[Examples] = Examples(
        {"match": {"tool": "run", "inner": {"name": "/tool", "arguments": "/input"}}, "tools": ["mail_*", "search"]},
        passes=({"tool": "mail_send", "input": {}}, {"tool": "search"}),
        objects=({"tool": "calendar_delete"}, {"tool": "MAIL_SEND"}, {"tool": "mail_send\n; rm"}),
    )

    tools: Annotated[tuple[str, ...], Field(min_length=1, description="Patterns of the allowed tools.")]

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        plain = context.tool.isascii() and context.tool.isprintable() and " " not in context.tool
        if plain and any(fnmatchcase(context.tool, pattern) for pattern in self.tools):
            return None
        return "", "this tool is not one of the allowed tools"
