"""What does a tool do whose name has no verb?"""

import re
from typing import Final

from assent.infer.features.name import read_name
from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import ACTING, MIXED, NOUN_TOO, NOUNS, OTHERWISE, READING, VERBS, find_verb
from assent.infer.rules.output import judge_product
from assent.infer.rules.programs import PROGRAM, program
from assent.infer.rules.side_effects import consulted, continued, dispatched, errand, let_in, mended, saved, traced
from assent.infer.verdict import ACTS, FINAL, GRAVE, LOOKS, UNCLEAR, WEAK, ReadOnlyVerdict, claims_reading, unless_told

_GIVING: Final = frozenset({"payload", "force", "confirm", "rehearse"})
# Deeds that are called by a noun.
_UNDOING: Final = frozenset({"cutoff", "deletion", "erasure", "eviction", "removal", "termination"})
# Verbs of a look that nothing else is meant by, whatever the tool is called.
_PLAIN: Final = frozenset({"calculate", "count", "fetch", "find", "get", "list", "lookup", "retrieve", "search"})
_RECORDED: Final = frozenset({"entries", "history", "log", "logs", "requests", "traffic"})
_CHOOSING: Final = frozenset({"action", "command", "method", "operation"})
_SELECTED = re.compile(r"\bruns? an? read-?only (?:\w+ )?(?:select|sql|query|statement)\b")
_ALTERING: Final = frozenset({"alter", "create", "create/merge", "ddl", "dml", "drop", "merge", "other"})
# A first sentence that goes on, in other languages.
_JOINED_ABROAD = re.compile(
    r"[^.。\n]*(?:并(?!且?返回)|並(?!且?返回)|后|後|然|して|하여|후| (?:e|et|y|и) "
    r"|[，,；;][^.。\n]*(?:自动|同时|将|失效|重启|支付|扣|标记|通知|下单|取消|停止|启动|发布))"
)


def judge_nameless(evidence: ToolFeatures) -> ReadOnlyVerdict:
    """The name has no verb, so the description and the title must say it."""
    prose = evidence.prose
    if prose.unknown:
        return ReadOnlyVerdict(UNCLEAR, f"no verb in the name, and {prose.unknown} is not known")
    if evidence.kind == "noun" and evidence.name.place == "last" and claims_reading(evidence):
        return ReadOnlyVerdict(LOOKS, "it says that it only reads")
    if evidence.kind == "noun" and prose.late and prose.kind not in GRAVE and _tells(evidence):
        return ReadOnlyVerdict(LOOKS, f"no verb in the name; it is about {evidence.name.words[-1]}")
    loads = prose.verbs == ("load",) and not evidence.inputs.names
    if loads and not traced(evidence):
        return ReadOnlyVerdict(LOOKS, "what is loaded is said, and nothing is given")
    if "http" in evidence.inputs.flags and _RECORDED.isdisjoint(evidence.name.words[-1:]):
        return ReadOnlyVerdict(ACTS, "it sends any method")
    if prose.verbs[:1] == ("simulate",) and prose.object & OTHERWISE["simulate"][1]:
        return ReadOnlyVerdict(ACTS, "the description says simulate, of what is done to a device")
    if "operates" in evidence.outset:
        return ReadOnlyVerdict(ACTS, "the description lists operations that act")
    if prose.verbs[:1] in {("create",), ("make",)} and _gives_back(evidence):
        return ReadOnlyVerdict(LOOKS, f"{prose.verbs[0]}, and the result is returned and nothing kept")
    if prose.kinds & ACTING or prose.kind in {"manage", "session"}:
        return ReadOnlyVerdict(ACTS, f"the description says {prose.verbs[0]}", unless_told(evidence, WEAK))
    if prose.kind == "make":
        return judge_product(evidence)
    if prose.kind == "run" and _only_selects(evidence):
        return ReadOnlyVerdict(LOOKS, f"the description says {prose.verbs[0]}, and that it only reads")
    if prose.kind == "run":
        looking = prose.object & NOUNS["report"] and not prose.object & NOUNS["written"] and not saved(evidence)
        looking = looking and prose.verbs[0] not in {"operate", "orchestrate"}
        if looking:
            return ReadOnlyVerdict(LOOKS, f"the description says {prose.verbs[0]}", WEAK)
        return ReadOnlyVerdict(ACTS, f"the description says {prose.verbs[0]}", unless_told(evidence, WEAK))
    doubt = program(evidence) or saved(evidence) or errand(evidence) or mended(evidence) or traced(evidence)
    doubt = doubt or consulted(evidence) or dispatched(evidence) or continued(evidence) or let_in(evidence)
    if doubt:
        return ReadOnlyVerdict(UNCLEAR, doubt)
    returned = prose.late and prose.verbs[:1] == ("return",) and bool(evidence.inputs.names)
    if prose.kind in READING and returned and evidence.kind != "noun":
        return ReadOnlyVerdict(UNCLEAR, "what is returned is said, but not what is done", WEAK)
    if prose.verbs[:1] == ("track",) and VERBS.get(evidence.name.verb or "") in ACTING:
        return ReadOnlyVerdict(UNCLEAR, f"{evidence.name.verb} that is tracked may be written down")
    if prose.kind in READING:
        plain = prose.verbs[0] in _PLAIN
        return ReadOnlyVerdict(
            LOOKS, f"no verb in the name; the description says {prose.verbs[0]}", FINAL if plain else WEAK
        )
    return _titled(evidence)


def _only_selects(evidence: ToolFeatures) -> bool:
    """`Run a read-only SELECT`: what is run is said to read only, and nothing else is."""
    free = evidence.inputs.flags & {"code", "command"} or not _ALTERING.isdisjoint(evidence.headline.split())
    return _SELECTED.search(evidence.headline) is not None and not free and claims_reading(evidence)


def _gives_back(evidence: ToolFeatures) -> bool:
    """Whether the text says that what is made is returned, and that nothing is written anywhere."""
    said = evidence.prose.statements
    plain = len(evidence.prose.verbs) == 1 and " source" in evidence.text
    return plain and "returns" in said and "unwritten" in said and not saved(evidence)


def _tells(evidence: ToolFeatures) -> bool:
    """`harbour_status`, to which nothing is given that could be kept."""
    given = evidence.inputs.flags & (_GIVING | PROGRAM | {"mend"}) or evidence.inputs.names & _CHOOSING
    return evidence.name.words[-1] in NOUNS["told"] and not given and not saved(evidence) and not traced(evidence)


def _titled(evidence: ToolFeatures) -> ReadOnlyVerdict:
    prose = evidence.prose
    title = read_name(evidence.title, prose.verbs)
    if title.place in {"first", "only"} and title.kind in READING | MIXED:
        return ReadOnlyVerdict(LOOKS if title.kind in READING else ACTS, f"the title says {title.verb}")
    if evidence.kind == "noun" and "reads_only" in prose.statements:
        return ReadOnlyVerdict(LOOKS, "the description says that it only reads")
    named = evidence.kind == "noun" and prose.opening
    topic = prose.topic or (evidence.name.verb if named else None)
    topic = topic or ("insight" if evidence.text.startswith("Insight into ") else None)
    chosen = evidence.inputs.names & _CHOOSING
    if topic and not chosen and not evidence.inputs.flags & _GIVING and not any(map(_is_deed, prose.opening)):
        return ReadOnlyVerdict(LOOKS, f"no verb at all; it is about {topic}")
    abroad = "looks_abroad" in prose.statements and "acts_abroad" not in prose.statements
    abroad = abroad and _JOINED_ABROAD.match(evidence.text.lower()) is None
    if abroad and not prose.unknown and not chosen and not evidence.inputs.flags & (_GIVING | PROGRAM):
        return ReadOnlyVerdict(LOOKS, "the description begins with a look, in another language")
    ends = evidence.words & _UNDOING
    return ReadOnlyVerdict(UNCLEAR, "neither name nor description says what it does", FINAL if ends else WEAK)


def _is_deed(word: str) -> bool:
    """Whether a word can be nothing but something that is done: `prunes`."""
    verb = find_verb(word)
    return verb is not None and verb not in NOUN_TOO and VERBS[verb] in ACTING
