"""The verdicts of the rules: whether a tool only reads, what it may damage, and its risk."""

from functools import cache
from typing import Final, NamedTuple

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.features.words import read_data
from assent.contract.infer.lexicon import OTHER_CLASS
from assent.contract.infer.rules import conditions
from assent.contract.infer.rules.tables import UNCLEAR, ReadOnlyVerdict, RuleBook, Table, table

_FILES: Final = ("execution", "side_effects", "losses", "risk", "reads", "model")
RULES: Final = RuleBook((read_data(f"rules/{name}.toml") for name in _FILES), vars(conditions))
_BY_CLASS: Final = {
    "read": "read",
    "look": "look",
    "run": "run",
    "make": "output",
    "none": "no_verb",
    "noun": "no_verb",
    "thing": "no_verb",
}


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
    return Damage(*(RULES.table(name).reason(tool) for name in ("losses", "execution", "overwrites")))


def judge_read_only(tool: ToolFeatures) -> ReadOnlyVerdict:
    """Return the verdict of the first rule that applies; rules that find an action come first."""
    return RULES.table("all_tools").judge(tool) or _judge_by_class(tool, _find_class(tool))


def _judge_by_class(tool: ToolFeatures, verb_class: str) -> ReadOnlyVerdict:
    """Return the verdict of the table for the verb's class; each table ends with a rule that always applies."""
    verdict = RULES.table(_BY_CLASS.get(verb_class, "act")).judge(tool)
    return verdict or ReadOnlyVerdict(UNCLEAR, "neither the name nor the description says what it does")


def _find_class(tool: ToolFeatures) -> str:
    """Return the corrected class of the name's verb; `thing` is a verb that is used as a noun."""
    other, words = OTHER_CLASS.get(tool.verb, ("", frozenset()))
    meant = tool.words & words
    if meant and not (meant <= {"in", "out"} and RULES.holds("checks_whether", tool)):
        return other
    match = RULES.table("corrections").first(tool)
    return match[0].verdict if match else tool.kind


def choose_risk(tool: ToolFeatures, tier: str) -> tuple[str, str | None]:
    """Return the risk of the first rule that applies, and its reason; a default has no reason."""
    match = _risks_of(tier).first(tool)
    return (match[0].verdict, match[0].reason or None) if match else ("medium", None)


@cache
def _risks_of(tier: str) -> Table:
    return table(one for one in RULES.table("risks") if not one.tiers or tier in one.tiers.split())
