"""Verdict whether a tool is read-only, with its strength and its reason."""

import re
from typing import Final, NamedTuple

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DETERMINER, NOUN_TOO, READING

READS, LOOKS, UNCLEAR, ACTS = "reads", "looks", "unclear", "acts"
# Minimum model probability that overrules a verdict; 2.0 can never be reached.
FINAL, SURE, STRONG, FAIR, WEAK = 2.0, 0.95, 0.9, 0.75, 0.5
# Verb classes that the model cannot overrule.
GRAVE: Final = frozenset({"destroy", "send", "spend", "drive"})

_CLAIMS: Final = (
    *("read-only", "readonly", "select quer", "select statement", "select only", "only select", "select operation"),
    *("select sql", "read query", "read queries", "read cypher", "read sql", "dql", "query that can only read data"),
)
_LINES: Final = 400
_HEAD: Final = 160
_SENTENCE = re.compile(r"(?<=[.;])\s+|\n+")
# The text refuses all writes, without a condition.
_REFUSES_WRITES = re.compile(
    r"(?:any|all) (?:other |write |writing |data-modifying )+(?:operations?|quer(?:y|ies)|statements?)(?: \([^)]*\))?"
    r" (?:are|is|will be) (?:always )?(?:blocked|forbidden|prohibited|refused|rejected|not (?:allowed|permitted))\.?"
)
_WRITING: Final = ("write", "insert", "update", "delete", "modif", "mutat", "any ")


class ReadOnlyVerdict(NamedTuple):
    """Whether a tool only reads, and the reason.

    `unless` is the model probability of read-only at which an acting verdict is overruled, and below which a read-only
    verdict is doubted. A read-only verdict that rests on one word is `WEAK`.
    """

    level: str
    because: str
    unless: float = FINAL


def _without_refusals(tool: ToolFeatures) -> str:
    """Return the title and the first lines without the sentences that say what is refused."""
    sentences = _SENTENCE.split(tool.text[:_LINES].lower())
    told = " ".join(one for one in sentences if _REFUSES_WRITES.fullmatch(one) is None)
    return f"{tool.title}. {told[:_HEAD]}".lower()


def claims_reading(tool: ToolFeatures) -> bool:
    """Whether the title or first lines claim read-only, without a writing verb or a setting that changes it."""
    headline = tool.headline
    claims = any(claim in headline for claim in _CLAIMS)
    if not claims or any(word in _without_refusals(tool) for word in _WRITING):
        return False
    titled = any(claim in tool.title.lower() for claim in _CLAIMS)
    return titled or "opens_up" not in tool.prose.statements


def unless_told(tool: ToolFeatures, unless: float) -> float:
    """Return the probability that overrules the description's verb, which can be a noun: `Text allowance`."""
    prose = tool.prose
    first, second = [*tool.text[:80].lower().split(maxsplit=2), "", ""][:2]
    thing = prose.verbs[0] in NOUN_TOO and first == prose.verbs[0] and second not in DETERMINER
    if first == prose.verbs[0] and second in DETERMINER and prose.kind != "run" and tool.kind not in READING:
        unless = max(unless, STRONG)  # such as `Save a snapshot`
    if (prose.kinds & (GRAVE | {"share"}) and not thing) or "starts_job" in prose.statements:
        return FINAL
    doubtful = (prose.verbs[0] in NOUN_TOO and prose.verbs[0] != "login") or prose.kind == "run"
    return unless if doubtful else max(unless, SURE)
