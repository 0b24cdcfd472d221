"""Damage of a tool: what a call may destroy, execute or replace."""

from typing import Final, NamedTuple

from assent.infer.features.tool import ToolFeatures
from assent.infer.rules.execution import EXECUTION
from assent.infer.rules.losses import LOSSES, OVERWRITES


class Damage(NamedTuple):
    """What a call may destroy, execute or replace, each with its reason."""

    destroys: str | None = None
    executes: str | None = None
    replaces: str | None = None

    @property
    def destructive(self) -> bool:
        return bool(self.destroys or self.executes)


NO_DAMAGE: Final = Damage()


def find_damage(tool: ToolFeatures) -> Damage:
    """Find the damage of a tool that acts; do not call it for read-only tools."""
    return Damage(LOSSES.reason(tool), EXECUTION.reason(tool), OVERWRITES.reason(tool))
