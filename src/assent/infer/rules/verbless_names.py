"""Rules for tools whose name has no verb."""

import re
from typing import Final

from assent.infer.features.name import read_name
from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import ACTING, MIXED, NOUN_TOO, NOUNS, OTHERWISE, READING, VERBS, find_verb
from assent.infer.rules.output import judge_output
from assent.infer.rules.programs import PROGRAM, find_program
from assent.infer.rules.side_effects import (
    acts_before_reading,
    asks_agent,
    can_fix,
    grants_access,
    leaves_trace,
    runs_named_operation,
    saves_result,
    starts_background_job,
)
from assent.infer.verdict import ACTS, FINAL, GRAVE, LOOKS, UNCLEAR, WEAK, ReadOnlyVerdict, claims_reading, unless_told

_GIVING: Final = frozenset({"payload", "force", "confirm", "rehearse"})
# Nouns for destructive actions.
_UNDOING: Final = frozenset({"cutoff", "deletion", "erasure", "eviction", "removal", "termination"})
# Verbs that only mean reading, whatever the name is.
_PLAIN: Final = frozenset({"calculate", "count", "fetch", "find", "get", "list", "lookup", "retrieve", "search"})
_RECORDED: Final = frozenset({"entries", "history", "log", "logs", "requests", "traffic"})
_CHOOSING: Final = frozenset({"action", "command", "method", "operation"})
_SELECTED = re.compile(r"\bruns? an? read-?only (?:\w+ )?(?:select|sql|query|statement)\b")
_ALTERING: Final = frozenset({"alter", "create", "create/merge", "ddl", "dml", "drop", "merge", "other"})
# A first sentence that continues, in other languages.
_CONTINUES_IN_OTHER_LANGUAGE = re.compile(
    r"[^.。\n]*(?:并(?!且?返回)|並(?!且?返回)|后|後|然|して|하여|후| (?:e|et|y|и) "
    r"|[，,；;][^.。\n]*(?:自动|同时|将|失效|重启|支付|扣|标记|通知|下单|取消|停止|启动|发布))"
)


def judge_verbless(tool: ToolFeatures) -> ReadOnlyVerdict:
    """Judge by the description and the title, because the name has no verb."""
    prose = tool.prose
    if prose.unknown:
        return ReadOnlyVerdict(UNCLEAR, f"no verb in the name, and {prose.unknown} is not known")
    if tool.kind == "noun" and tool.name.place == "last" and claims_reading(tool):
        return ReadOnlyVerdict(LOOKS, "it says that it only reads")
    if tool.kind == "noun" and prose.late and prose.kind not in GRAVE and _reports_state(tool):
        return ReadOnlyVerdict(LOOKS, f"no verb in the name; it is about {tool.name.words[-1]}")
    loads = prose.verbs == ("load",) and not tool.inputs.names
    if loads and not leaves_trace(tool):
        return ReadOnlyVerdict(LOOKS, "what is loaded is said, and nothing is given")
    if "http" in tool.inputs.flags and _RECORDED.isdisjoint(tool.name.words[-1:]):
        return ReadOnlyVerdict(ACTS, "it sends any method")
    if prose.verbs[:1] == ("simulate",) and prose.object & OTHERWISE["simulate"][1]:
        return ReadOnlyVerdict(ACTS, "the description says simulate, of what is done to a device")
    if "operates" in tool.outset:
        return ReadOnlyVerdict(ACTS, "the description lists operations that act")
    if prose.verbs[:1] in {("create",), ("make",)} and _only_returns(tool):
        return ReadOnlyVerdict(LOOKS, f"{prose.verbs[0]}, and the result is returned and nothing kept")
    if prose.kinds & ACTING or prose.kind in {"manage", "session"}:
        return ReadOnlyVerdict(ACTS, f"the description says {prose.verbs[0]}", unless_told(tool, WEAK))
    if prose.kind == "make":
        return judge_output(tool)
    if prose.kind == "run" and _only_selects(tool):
        return ReadOnlyVerdict(LOOKS, f"the description says {prose.verbs[0]}, and that it only reads")
    if prose.kind == "run":
        looking = prose.object & NOUNS["report"] and not prose.object & NOUNS["written"] and not saves_result(tool)
        looking = looking and prose.verbs[0] not in {"operate", "orchestrate"}
        if looking:
            return ReadOnlyVerdict(LOOKS, f"the description says {prose.verbs[0]}", WEAK)
        return ReadOnlyVerdict(ACTS, f"the description says {prose.verbs[0]}", unless_told(tool, WEAK))
    doubt = find_program(tool) or saves_result(tool) or acts_before_reading(tool) or can_fix(tool) or leaves_trace(tool)
    doubt = (
        doubt or asks_agent(tool) or runs_named_operation(tool) or starts_background_job(tool) or grants_access(tool)
    )
    if doubt:
        return ReadOnlyVerdict(UNCLEAR, doubt)
    returned = prose.late and prose.verbs[:1] == ("return",) and bool(tool.inputs.names)
    if prose.kind in READING and returned and tool.kind != "noun":
        return ReadOnlyVerdict(UNCLEAR, "what is returned is said, but not what is done", WEAK)
    if prose.verbs[:1] == ("track",) and VERBS.get(tool.name.verb or "") in ACTING:
        return ReadOnlyVerdict(UNCLEAR, f"{tool.name.verb} that is tracked may be written down")
    if prose.kind in READING:
        plain = prose.verbs[0] in _PLAIN
        return ReadOnlyVerdict(
            LOOKS, f"no verb in the name; the description says {prose.verbs[0]}", FINAL if plain else WEAK
        )
    return _judge_title(tool)


def _only_selects(tool: ToolFeatures) -> bool:
    """Whether it runs only statements that the text calls read-only: `Run a read-only SELECT`."""
    free = tool.inputs.flags & {"code", "command"} or not _ALTERING.isdisjoint(tool.headline.split())
    return _SELECTED.search(tool.headline) is not None and not free and claims_reading(tool)


def _only_returns(tool: ToolFeatures) -> bool:
    """Whether the text says that the output is returned and nothing is written."""
    said = tool.prose.statements
    plain = len(tool.prose.verbs) == 1 and " source" in tool.text
    return plain and "returns" in said and "unwritten" in said and not saves_result(tool)


def _reports_state(tool: ToolFeatures) -> bool:
    """Whether the name asks for a state, as in `harbour_status`, and no input could be stored."""
    given = tool.inputs.flags & (_GIVING | PROGRAM | {"mend"}) or tool.inputs.names & _CHOOSING
    return tool.name.words[-1] in NOUNS["told"] and not given and not saves_result(tool) and not leaves_trace(tool)


def _judge_title(tool: ToolFeatures) -> ReadOnlyVerdict:
    prose = tool.prose
    title = read_name(tool.title, prose.verbs)
    if title.place in {"first", "only"} and title.kind in READING | MIXED:
        return ReadOnlyVerdict(LOOKS if title.kind in READING else ACTS, f"the title says {title.verb}")
    if tool.kind == "noun" and "reads_only" in prose.statements:
        return ReadOnlyVerdict(LOOKS, "the description says that it only reads")
    named = tool.kind == "noun" and prose.opening
    topic = prose.topic or (tool.name.verb if named else None)
    topic = topic or ("insight" if tool.text.startswith("Insight into ") else None)
    chosen = tool.inputs.names & _CHOOSING
    if topic and not chosen and not tool.inputs.flags & _GIVING and not any(map(_is_action, prose.opening)):
        return ReadOnlyVerdict(LOOKS, f"no verb at all; it is about {topic}")
    abroad = "looks_abroad" in prose.statements and "acts_abroad" not in prose.statements
    abroad = abroad and _CONTINUES_IN_OTHER_LANGUAGE.match(tool.text.lower()) is None
    if abroad and not prose.unknown and not chosen and not tool.inputs.flags & (_GIVING | PROGRAM):
        return ReadOnlyVerdict(LOOKS, "the description begins with a look, in another language")
    ends = tool.words & _UNDOING
    return ReadOnlyVerdict(UNCLEAR, "neither name nor description says what it does", FINAL if ends else WEAK)


def _is_action(word: str) -> bool:
    """Whether a word can only be an action: `prunes`."""
    verb = find_verb(word)
    return verb is not None and verb not in NOUN_TOO and VERBS[verb] in ACTING
