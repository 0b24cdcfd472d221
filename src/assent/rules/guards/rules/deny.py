"""Guard `deny`: the matched calls are not allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from assent.rules.guards.context import NO_CONTEXT, Context
from assent.rules.guards.rule import Denial, Examples, GuardRule


class Deny(GuardRule):
    """No call that the guard matches is allowed.

    Choose the calls with `match`: by tool, tier, risk, upstream, caller, or by the inner tool of a meta-tool. With
    `action: approve` a person decides about each of them.
    """

    takes_fields: ClassVar[bool] = False
    examples: ClassVar[Examples] = Examples(
        {"match": {"tool": "invoke_tool", "inner": {"tool": "delete_*"}}},
        passes=({"name": "list_files", "arguments": {}},),
        objects=({"name": "delete_file", "arguments": {"path": "/a"}}, {"name": " Delete_File"}),
    )

    def denies(self, arguments: Mapping[str, Any], context: Context = NO_CONTEXT) -> Denial | None:
        return "", "calls like this one are not allowed"
