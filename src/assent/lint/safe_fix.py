"""Decides whether an automatic fix is safe.

A fix must not remove a person from the loop. What it writes leaves a tool at least as guarded as before, or repeats
what the definition clearly says.
"""

from __future__ import annotations

from collections.abc import Iterator

from assent.contract.profiles import WIRE_NAMES
from assent.contract.wire import SPECIFIED_DEFAULTS
from assent.lint.edit import Edit, put
from assent.lint.target import LintedTool

_SHORT = {wire: short for short, wire in WIRE_NAMES.items()}


def is_safe_hint(tool: LintedTool, hint: str, value: bool) -> bool:
    """Whether this hint value keeps the tool at least as guarded as its definition requires."""
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


def explicit_default(tool: LintedTool, hint: str) -> Iterator[Edit]:
    """Yield an edit that writes an absent hint as its default, if the definition agrees."""
    short = _SHORT[hint]
    value = SPECIFIED_DEFAULTS[short]
    if tool.contract is None and tool.confident and getattr(tool.inference, short, None) == value:
        yield put(value, "annotations", hint)


def write_default(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Write the absent hint that a finding points to as its default, if the definition agrees."""
    return explicit_default(tool, at.rpartition("/")[2])


def set_true(tool: LintedTool, at: str) -> Iterator[Edit]:
    """Set the hint that a finding points to; a true hint makes hosts more careful."""
    hint = at.rpartition("/")[2]
    if tool.contract is None and hint in tool.annotations:
        yield put(True, "annotations", hint)
