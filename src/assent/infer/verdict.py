"""How sure are we that a tool only reads, and why?"""

import re
from typing import Final, NamedTuple

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DETERMINER, NOUN_TOO, READING

READS, LOOKS, UNCLEAR, ACTS = "reads", "looks", "unclear", "acts"
# How likely a read the words must make an act to overrule it: more than they can, and as much as proved right.
FINAL, SURE, STRONG, FAIR, WEAK = 2.0, 0.95, 0.9, 0.75, 0.5
# Classes of verbs that no words overrule.
GRAVE: Final = frozenset({"destroy", "send", "spend", "drive"})

_CLAIMS: Final = (
    *("read-only", "readonly", "select quer", "select statement", "select only", "only select", "select operation"),
    *("select sql", "read query", "read queries", "read cypher", "read sql", "dql", "query that can only read data"),
)
_LINES: Final = 400
_HEAD: Final = 160
_SENTENCE = re.compile(r"(?<=[.;])\s+|\n+")
# All writing, and under no condition.
_REFUSED = re.compile(
    r"(?:any|all) (?:other |write |writing |data-modifying )+(?:operations?|quer(?:y|ies)|statements?)(?: \([^)]*\))?"
    r" (?:are|is|will be) (?:always )?(?:blocked|forbidden|prohibited|refused|rejected|not (?:allowed|permitted))\.?"
)
_WRITING: Final = ("write", "insert", "update", "delete", "modif", "mutat", "any ")


class ReadOnlyVerdict(NamedTuple):
    """How sure we are that the tool only reads, and the sentence that says why.

    `unless`: how likely a read the words must make it, an act to be overruled, a look to be left alone. A look that
    rests on one word is `WEAK`; any other is doubted only if it is hardly ever a read.
    """

    level: str
    because: str
    unless: float = FINAL


def _without_refusals(evidence: ToolFeatures) -> str:
    """The title and the first lines, but for the sentences that say what is refused."""
    sentences = _SENTENCE.split(evidence.text[:_LINES].lower())
    told = " ".join(one for one in sentences if _REFUSED.fullmatch(one) is None)
    return f"{evidence.title}. {told[:_HEAD]}".lower()


def claims_reading(evidence: ToolFeatures) -> bool:
    """Only a claim in the title or the first lines counts, not beside a word of writing, nor where settings decide."""
    headline = evidence.headline
    claims = any(claim in headline for claim in _CLAIMS)
    if not claims or any(word in _without_refusals(evidence) for word in _WRITING):
        return False
    titled = any(claim in evidence.title.lower() for claim in _CLAIMS)
    return titled or "opens_up" not in evidence.prose.statements


def unless_told(evidence: ToolFeatures, unless: float) -> float:
    """What it takes to overrule the description's verb, which may be a thing: `Text allowance`, not `Sends a text`."""
    prose = evidence.prose
    first, second = [*evidence.text[:80].lower().split(maxsplit=2), "", ""][:2]
    thing = prose.verbs[0] in NOUN_TOO and first == prose.verbs[0] and second not in DETERMINER
    if first == prose.verbs[0] and second in DETERMINER and prose.kind != "run" and evidence.kind not in READING:
        unless = max(unless, STRONG)  # `Save a snapshot`
    if (prose.kinds & (GRAVE | {"share"}) and not thing) or "starts_job" in prose.statements:
        return FINAL
    doubtful = (prose.verbs[0] in NOUN_TOO and prose.verbs[0] != "login") or prose.kind == "run"
    return unless if doubtful else max(unless, SURE)
