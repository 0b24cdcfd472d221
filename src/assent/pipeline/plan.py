"""The plan of a call: the stages that can object to it, in the fixed order.

Each stage states beside its code, in `applies`, when it can object to calls of a tool. What it states may only read
the tool, the rights of the caller and the rules, so a plan is compiled once for them and kept with the tool.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from assent.core.principal import Principal, Rights
from assent.core.tool import Tool
from assent.pipeline import (
    afford,
    authenticate,
    authorize,
    claim,
    confirm,
    discover,
    execute,
    guard,
    recall,
    rehearse,
    step_up,
    validate,
)
from assent.ports import Rules


class Stage(Protocol):
    """The module of a stage."""

    __name__: str

    def applies(self, tool: Tool, caller: Rights, rules: Rules) -> bool:
        """Whether the stage can object to such calls, or makes something that later stages need."""


_ORDER: tuple[Stage, ...] = (
    *(authenticate, discover, authorize, validate, recall, guard),
    *(afford, rehearse, step_up, confirm, claim, execute),
)
STAGES = {stage.__name__.rpartition(".")[2]: stage for stage in _ORDER}
"""Every stage by its name, in the fixed order."""


class Plan(NamedTuple):
    """The stages that a call can do without, and whether it does. All others always run."""

    guard: bool = True
    afford: bool = True
    rehearse: bool = True
    step_up: bool = True
    confirm: bool = True
    claim: bool = True


EVERY_STAGE = Plan()


def plan_of(tool: Tool, caller: Principal, rules: Rules) -> Plan:
    """The plan for calls of a tool by callers with the same rights, compiled once for these rules."""
    known: tuple[Rules, dict[tuple[str, str, bool], Plan]] | None = tool.derived.get("plans")
    if known is None or known[0] is not rules:
        known = tool.derived["plans"] = rules, {}
    plan = known[1].get((caller.kind, caller.mode, caller.bearer))
    if plan is None:
        rights = Rights(caller.kind, caller.mode, caller.bearer)
        plan = known[1][rights] = Plan(*(STAGES[name].applies(tool, rights, rules) for name in Plan._fields))
    return plan
