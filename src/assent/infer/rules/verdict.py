"""Verdicts of the rules about reading, and how sure the word model must be to overrule one."""

from collections.abc import Callable
from typing import NamedTuple

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DETERMINER, GRAVE, NOUN_TOO, READING

READS, LOOKS, UNCLEAR, ACTS = "reads", "looks", "unclear", "acts"
# The model's probability of read-only that overrules a verdict; 2.0 can never be reached.
FINAL, SURE, STRONG, FAIR, WEAK = 2.0, 0.95, 0.9, 0.75, 0.5


class ReadOnlyVerdict(NamedTuple):
    """Whether a tool only reads, and the reason.

    `overrule` is the model's probability of read-only at which an acting verdict is overruled, and below which a
    read-only verdict is doubted. A read-only verdict that rests on one word is `WEAK`.
    """

    level: str
    reason: str
    overrule: float = FINAL

    @property
    def reads(self) -> bool:
        return self.level in {READS, LOOKS}


def by_text(minimum: float) -> Callable[[ToolFeatures], float]:
    """Return how to compute the probability that overrules the description's verb, which can be a noun."""
    return lambda tool: _overrule_text(tool, minimum)


def _overrule_text(tool: ToolFeatures, minimum: float) -> float:
    first, second = [*tool.description[:80].lower().split(maxsplit=2), "", ""][:2]
    leads = first == tool.said
    if leads and second in DETERMINER and tool.said_kind != "run" and tool.kind not in READING:
        minimum = max(minimum, STRONG)  # `Save a snapshot`
    thing = leads and tool.said in NOUN_TOO and second not in DETERMINER  # `Text allowance`
    if (tool.said_kinds & (GRAVE | {"share"}) and not thing) or "starts_job" in tool.says:
        return FINAL
    doubtful = (tool.said in NOUN_TOO and tool.said != "login") or tool.said_kind == "run"
    return minimum if doubtful else max(minimum, SURE)


def by_name(tool: ToolFeatures) -> float:
    """Return the probability that overrules the name's verb; a grave or confirmed verb is final."""
    return FINAL if "confirmed" in tool.traits or tool.kind in GRAVE | {"add", "share"} else SURE
