"""Rules that decide whether a tool only reads."""

import re
from itertools import pairwise
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import (
    ACTING,
    CONJUNCTION,
    DEEDS,
    MIXED,
    NOUN_FIRST,
    NOUN_TOO,
    NOUNS,
    OTHERWISE,
    READING,
    VERBS,
)
from assent.infer.rules.programs import PROGRAM, only_reads
from assent.infer.rules.side_effects import is_preview
from assent.infer.rules.verbs import BY_KIND, judge_act
from assent.infer.verdict import ACTS, FINAL, LOOKS, READS, SURE, ReadOnlyVerdict

_SHOWN_THERE: Final = frozenset({"focus", "highlight", "scroll", "zoom"})
_SCREENS: Final = frozenset({"browser", "camera", "canvas", "editor", "page", "screen", "tab", "viewport", "window"})
_ASKING: Final = frozenset({"check", "get", "list", "poll", "query", "read", "retrieve", "return", "show", "view"})
_LOST_TOLD = re.compile(
    r"\b(?:are|be|gets?|is|was|were) (?:\w+ly )?(?:dropped|removed|deleted|erased|purged|lost|cleared)\b"
    r"|\bempty\b|\bto zero\b"
)
# A first sentence that says more than a request.
_SAYS_MORE = re.compile(r"[^.]*(?:,| and | as | into | off )")
# With one of these parameters the tool sets a value, and does not report one.
_VALUE_INPUTS: Final = frozenset(
    {"content", "data", "force", "message", "new_status", "schema", "state", "status", "text", "value"}
)
# Names with such a verb never count as guidance, whatever the description says.
_AFTERMATH: Final = frozenset({"history", "schema", "statistics", "stats", "status"})
_WORKED = re.compile(
    r"adds? two (?:integers|numbers)(?: together| and returns? the sum| a and b)?"
    r"|(?:reverses?|simplif(?:y|ies)|solves?|integrates?|factors?) an? (?:\w+ )?(?:equation|expression|string)"
    r"|(?:splits?|joins?|concatenates?) (?:an?|two) strings?(?: by an? \w+)?"
    r"|converts? an? string to (?:lower|upper)case"
)
# Parameters that give a location.
_LOCATION_INPUTS: Final = ("id", "ids", "path", "file", "name", "url", "document", "session", "key")
# Words that follow a noun.
_AFTER_A_THING: Final = (
    "(?:amounts?|and|appliances|breakdown|by|data|endpoint|health|info|limits?"
    "|locations|metrics|or|per|restrictions|status|templates)"
)
_IN_A_TEXT = re.compile(r"^[^.]* (?:from|in|of) (?:an? |the |given |this )?text\b")
_CHECKING: Final = frozenset({"check", "echo", "test", "validate", "verify"})
_GRAVE: Final = frozenset({"destroy", "spend", "send", "share", "drive"})
# `check_in` is an action, unless it checks whether something is so.
_PARTICLES: Final = frozenset({"in", "out"})
_WHETHER = re.compile(r"\s*[Cc]hecks? (?:if|whether)\b")


def judge_read_only(tool: ToolFeatures) -> ReadOnlyVerdict:
    """Return the verdict of the first matching rule; rules that find an action come first."""
    for rule in (
        _worst_choice,
        _transforms_input,
        _reads_memory_graph,
        _claims_read_only,
        _joined_verbs,
        _guidance,
        _question,
    ):
        verdict = rule(tool)
        if verdict is not None:
            return verdict
    return BY_KIND.get(_effective_kind(tool), judge_act)(tool)


def _transforms_input(tool: ToolFeatures) -> ReadOnlyVerdict | None:
    """The input comes with the call and goes back with the answer: `Split a string by a delimiter`."""
    names = tool.inputs.names
    if any(name.endswith(_LOCATION_INPUTS) for name in names):
        return None
    summed = tool.name.words == ("add",) and names == {"a", "b"}
    first = tool.text[:120].lower().partition(".")[0].strip()
    if summed or _returns_changed_text(tool) or _WORKED.fullmatch(first):
        return ReadOnlyVerdict(LOOKS, "it works on what it is handed")
    return None


def _reads_memory_graph(tool: ToolFeatures) -> ReadOnlyVerdict | None:
    """`open_nodes` of memory-graph servers only reads."""
    opened = tool.name.words[-2:] == ("open", "nodes") and tool.inputs.names == {"names"}
    if opened and tool.prose.opening >= {"graph", "knowledge"}:
        return ReadOnlyVerdict(LOOKS, "nodes of a graph are looked up by their names")
    return None


def _returns_changed_text(tool: ToolFeatures) -> bool:
    """Whether a text is the only input and comes back changed: `Redact all names in a text and return it`."""
    prose, names = tool.prose, tool.inputs.names
    texts = tool.name.verb in DEEDS["reworking"] and names == {"text"} and _IN_A_TEXT.search(tool.text)
    lasting = "lasting" in prose.statements or " in place" in tool.text
    return bool(texts) and tool.confirmed and "returns" in prose.statements and not lasting


def _worst_choice(tool: ToolFeatures) -> ReadOnlyVerdict | None:
    """For one tool with many operations the worst operation counts."""
    if _only_filters(tool) or _only_checks(tool):
        return None
    guides = tool.kind == "noun" and tool.words & NOUNS["guide"] and tool.prose.kinds <= READING
    doubtful = tool.kind == "read" or bool(guides and tool.prose.kinds)
    acting = sorted(
        choice.verb
        for choice in (tool.deeds if tool.filters else tool.inputs.choices)
        if choice.kind in MIXED and (choice.certain or not doubtful or (guides and choice.kind == "destroy"))
    )
    if acting:
        offered = ", ".join(dict.fromkeys(acting))
        return ReadOnlyVerdict(ACTS, f"a parameter chooses between operations that include {offered[:80]}")
    plain = tool.kind in {"manage", "none", "noun", "look", "read"} and not tool.prose.kinds & ACTING
    if plain and tool.inputs.only_reads:
        return ReadOnlyVerdict(READS, "every operation its parameter offers only reads")
    return None


def _only_filters(tool: ToolFeatures) -> bool:
    """Whether an action only filters a list, as in `list_refunds`; not if `list` is one of the choices."""
    name, offered = tool.name, {choice.verb for choice in tool.inputs.choices}
    looks = name.place == "first" and tool.prose.kinds <= READING
    lists = looks and name.verb in {"count", "list"} and not offered & DEEDS["offered_beside"]
    return lists and name.words[-1] not in {"manager", "ops"}


def _only_checks(tool: ToolFeatures) -> bool:
    """Whether the operation is only checked, as in `validate_rows`, and the text says that nothing changes."""
    name, prose = tool.name, tool.prose
    checks = name.verb in {"validate", "verify"} and name.words[0] == name.verb and prose.kinds <= READING
    offered = any(choice.kind in READING for choice in tool.inputs.choices)
    return checks and not offered and "without making any changes" in tool.text.lower() and only_reads(tool)


def _claims_read_only(tool: ToolFeatures) -> ReadOnlyVerdict | None:
    """Name and description both say that it only reads: `run_read_only_query`."""
    words = tool.name.words
    named = "readonly" in words or ("read", "only") in pairwise(words)
    if named and tool.kind in {"run", "read", "look"} and "reads_only" in tool.prose.statements:
        return ReadOnlyVerdict(LOOKS, "its name and its description say that it only reads")
    return None


def _changes_screen(tool: ToolFeatures, verb: str) -> bool:
    """Whether it changes what a person sees: `Find and highlight text in a tab`."""
    shown = verb in _SHOWN_THERE and not tool.prose.opening.isdisjoint(_SCREENS)
    return VERBS[verb] in ACTING or shown


def _joined_verbs(tool: ToolFeatures) -> ReadOnlyVerdict | None:
    """A second verb acts: `search_and_replace`, `Read or replace the clipboard`."""
    looks = bool(tool.prose.kinds) and tool.prose.kinds <= READING
    looks = looks or (tool.name.verb in DEEDS["fetching"] and VERBS.get(tool.name.words[-1]) == "noun")
    beside = [verb for verb in tool.name.beside if VERBS[verb] in MIXED or VERBS[verb] == "make"]
    told = any(_is_certain_action(verb) or _is_joined(tool.name.words, verb) for verb in beside)
    told = told and not CONJUNCTION.isdisjoint(tool.name.words)
    if beside and (told or not looks):
        return ReadOnlyVerdict(ACTS, f"the name also says {beside[0]}")
    checks = bool(tool.prose.verbs) and tool.prose.verbs[0] in _CHECKING
    joined = [
        verb for verb in tool.prose.verbs[1:] if _changes_screen(tool, verb) and not (checks and verb == "confirm")
    ]
    if joined and tool.kind in {"read", "look", "noun", "none", "session"}:
        fetched = tool.name.verb in {"get", "list"} or tool.words & {"get", "list"}
        thing = fetched and all(_is_counted(tool.text, verb) for verb in joined)
        return ReadOnlyVerdict(ACTS, f"the description also says {joined[0]}", SURE if thing else FINAL)
    return None


def _is_counted(text: str, verb: str) -> bool:
    """Whether the verb is a counted noun: `spend and clicks`, but not `spend points on an item`."""
    said = re.search(rf"\b{verb}s?(?:[,.);]| {_AFTER_A_THING}\b)", text[:400].lower())
    return VERBS[verb] not in {"destroy", "drive", "send", "share"} and said is not None


def _is_joined(words: tuple[str, ...], verb: str) -> bool:
    """Whether the verb comes last, or after another verb and a conjunction: `scrape_and_save`."""
    place = words.index(verb)
    if place < 2 or words[place - 1] not in CONJUNCTION:
        return False
    return words[place - 2] in VERBS or (place == len(words) - 1 and VERBS[verb] in MIXED)


def _is_certain_action(verb: str) -> bool:
    return VERBS[verb] in ACTING and verb not in NOUN_TOO


def _guidance(tool: ToolFeatures) -> ReadOnlyVerdict | None:
    """The tool only explains how to do something."""
    prose = tool.prose
    if tool.kind in _GRAVE or not prose.kinds or not prose.kinds <= READING or prose.late:
        return None
    if tool.inputs.flags & (PROGRAM | {"mend", "felling", "emptying"}):
        return None
    advised = prose.verbs[0] in DEEDS["fetching"] and prose.object & NOUNS["advice"]
    if advised and tool.name.verb not in DEEDS["heeding"]:
        return ReadOnlyVerdict(LOOKS, "the description offers advice, not the deed")
    teaches = prose.verbs[0] in DEEDS["teaching"] or (prose.opening & NOUNS["guide"] and not tool.confirmed)
    if teaches and "guides" in prose.statements:
        return ReadOnlyVerdict(LOOKS, "the description offers guidance, not the deed")
    return None


def _question(tool: ToolFeatures) -> ReadOnlyVerdict | None:
    """The name is a question: `is_connected`, `harbour_can_i_deploy`."""
    words = tool.name.words
    asks = bool(words) and (
        words[0] in DEEDS["asking"] or ("i" in words[1:-1] and words[words.index("i") - 1] in DEEDS["asking"])
    )
    prose = tool.prose
    if asks and words[0] in {"does", "should"} and prose.opening:
        asks = "whether" in prose.opening or bool(prose.kinds and prose.kinds <= READING)
    return ReadOnlyVerdict(READS, "the name asks a question") if asks and not prose.kinds & ACTING else None


def _effective_kind(tool: ToolFeatures) -> str:
    """Return the class of the name's verb, corrected when nearby words show a noun or another action."""
    verb, words = tool.name.verb, tool.words
    meant = words & OTHERWISE[verb][1] if verb in OTHERWISE else frozenset()
    if verb is not None and meant and not (meant <= _PARTICLES and _WHETHER.match(tool.text)):
        return OTHERWISE[verb][0]
    asked = tool.prose.kind == "read" or "reads_only" in tool.prose.statements or "looks_up" in tool.outset
    if verb == "resolve" and not asked and not words & NOUNS["named"]:
        return "change"
    if verb == "review" and tool.inputs.names & {"decision", "verdict"}:
        return "add"
    sends_any_request = verb == "review" and words & {"pull", "pr", "merge", "request"}
    if sends_any_request and ("payload" in tool.inputs.flags or tool.inputs.names & NOUNS["opinion_input"]):
        return "add"
    if _begins_with_read(tool) or _is_dry_run(tool) or _reports_on_action(tool):
        return "read"
    if verb == "report" and "run" in words and "async" not in words:
        return "run"
    if (
        verb == "create"
        and tool.prose.kind == "make"
        and tool.prose.verbs[0] != "record"
        and "merely_makes" in tool.prose.statements
    ):
        return "make"
    if verb == "operations" and tool.name.place == "first":
        return "none"
    return "thing" if verb is not None and _is_thing(tool, verb) else tool.kind


def _is_dry_run(tool: ToolFeatures) -> bool:
    """Whether it only plans: `prune_dry_run` with a description that only reads."""
    dry = tool.name.words[-2:] == ("dry", "run") and tool.prose.kind in READING
    return dry or is_preview(tool)


def _reports_on_action(tool: ToolFeatures) -> bool:
    """Whether it reports on an action, as in `gc_status` or `purge_history`, and the description only reads."""
    name, prose = tool.name, tool.prose
    if name.kind not in ACTING or name.words[-1] not in _AFTERMATH or prose.kind not in READING or tool.confirmed:
        return False
    last, text = name.words[-1], tool.text[:300].lower()
    told = prose.verbs[0] in _ASKING and bool(prose.object & _AFTERMATH)
    told = told and (last != "schema" or prose.verbs[0] == "get") and _SAYS_MORE.match(text) is None
    lost = _LOST_TOLD.search(text) is not None or not tool.inputs.names.isdisjoint(_VALUE_INPUTS)
    stands = name.kind == "destroy" or (last != "history" and name.verb not in DEEDS["turning"])
    return told and stands and not lost


def _begins_with_read(tool: ToolFeatures) -> bool:
    """Whether the name starts with a reading verb and the description only reads: `list_resume_versions`."""
    first, verb = tool.name.words[:1], tool.name.verb
    thing = verb in NOUN_TOO or VERBS.get(verb or "", "destroy") not in {"destroy", "drive", "spend"}
    looks = bool(tool.prose.kinds) and tool.prose.kinds <= READING
    joined = not CONJUNCTION.isdisjoint(tool.name.words)
    return looks and thing and not joined and verb not in first and not DEEDS["fetching"].isdisjoint(first)


def _is_thing(tool: ToolFeatures, verb: str) -> bool:
    """Whether the verb is a noun, as in `release_notes`: the description does not use it and only reads."""
    name, prose = tool.name, tool.prose
    if verb not in NOUN_TOO or name.kind in READING or tool.confirmed:
        return False
    if name.kind == "destroy" and verb not in DEEDS["shelving"]:
        return False
    stirs = name.place == "middle" and verb in DEEDS["stirring"]
    if verb in NOUN_FIRST and name.place in {"middle", "last"} and prose.kinds == {"make"}:
        return True
    weak = (
        (name.place in {"middle", "last"} and not stirs)
        or verb in NOUN_FIRST
        or _is_requested_noun(verb, name.words[-1])
    )
    return weak and bool(prose.kinds) and prose.kinds <= READING


def _is_requested_noun(verb: str, last: str) -> bool:
    """Whether a noun is requested: `swap_quote`, `new_markets`; `new_market` may create one."""
    if verb == "new":
        return last.endswith("s") and not last.endswith("ss")
    return verb in DEEDS["quoted"] and last in NOUNS["asked_for"]
