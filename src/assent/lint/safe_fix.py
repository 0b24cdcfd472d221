"""May a fix say this of a tool, or would hosts then guard it less than its definition deserves?

A fix that nobody looks at must not take a person out of the loop: what it writes leaves a tool at least as guarded as
it was, or says what the definition confidently says too.
"""

from __future__ import annotations

from collections.abc import Iterator

from assent.contract.profiles import WIRE_NAMES
from assent.contract.wire import SPECIFIED_DEFAULTS
from assent.lint.edit import Edit, put
from assent.lint.target import LintedTool

_SHORT = {wire: short for short, wire in WIRE_NAMES.items()}


def deserved(tool: LintedTool, hint: str, value: bool) -> bool:
    """Whether a hint of this value, under its wire name, guards no less than the definition deserves."""
    inference = tool.inference
    match _SHORT[hint], value:
        case "read_only", True:
            return tool.confident and inference.read_only
        case "destructive", False:
            return tool.confident and not inference.destructive
        case "open_world", False:
            return tool.confident and not inference.open_world
        case "idempotent", True:
            return tool.confident and inference.read_only
    return True


def spelled_out(tool: LintedTool, hint: str) -> Iterator[Edit]:
    """An absent hint written as what its absence means already, where the definition says the same."""
    short = _SHORT[hint]
    value = SPECIFIED_DEFAULTS[short]
    if tool.contract is None and tool.confident and getattr(tool.inference, short, None) == value:
        yield put(value, "annotations", hint)
