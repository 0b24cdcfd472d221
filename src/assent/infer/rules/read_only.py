"""Does the tool only look, or does it act?"""

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
from assent.infer.rules.side_effects import is_planned
from assent.infer.rules.verbs import BY_KIND, judge_act
from assent.infer.verdict import ACTS, FINAL, LOOKS, READS, SURE, ReadOnlyVerdict

_SHOWN_THERE: Final = frozenset({"focus", "highlight", "scroll", "zoom"})
_SCREENS: Final = frozenset({"browser", "camera", "canvas", "editor", "page", "screen", "tab", "viewport", "window"})
_ASKING: Final = frozenset({"check", "get", "list", "poll", "query", "read", "retrieve", "return", "show", "view"})
_LOST_TOLD = re.compile(
    r"\b(?:are|be|gets?|is|was|were) (?:\w+ly )?(?:dropped|removed|deleted|erased|purged|lost|cleared)\b"
    r"|\bempty\b|\bto zero\b"
)
# A first sentence that says more than that something is asked for.
_MORE_TOLD = re.compile(r"[^.]*(?:,| and | as | into | off )")
# With one of these it is what they are set to, not what became of them.
_TURNED: Final = frozenset(
    {"content", "data", "force", "message", "new_status", "schema", "state", "status", "text", "value"}
)
# Whatever its description says, a name with such a verb is never taken for guidance.
_AFTERMATH: Final = frozenset({"history", "schema", "statistics", "stats", "status"})
_WORKED = re.compile(
    r"adds? two (?:integers|numbers)(?: together| and returns? the sum| a and b)?"
    r"|(?:reverses?|simplif(?:y|ies)|solves?|integrates?|factors?) an? (?:\w+ )?(?:equation|expression|string)"
    r"|(?:splits?|joins?|concatenates?) (?:an?|two) strings?(?: by an? \w+)?"
    r"|converts? an? string to (?:lower|upper)case"
)
# Parameters that say where something is.
_ELSEWHERE: Final = ("id", "ids", "path", "file", "name", "url", "document", "session", "key")
# What follows a word that is a thing.
_AFTER_A_THING: Final = (
    "(?:amounts?|and|appliances|breakdown|by|data|endpoint|health|info|limits?"
    "|locations|metrics|or|per|restrictions|status|templates)"
)
_IN_A_TEXT = re.compile(r"^[^.]* (?:from|in|of) (?:an? |the |given |this )?text\b")
_CHECKING: Final = frozenset({"check", "echo", "test", "validate", "verify"})
_GRAVE: Final = frozenset({"destroy", "spend", "send", "share", "drive"})
# `check_in` checks somebody in, unless what is checked is whether something is so.
_PARTICLES: Final = frozenset({"in", "out"})
_WHETHER = re.compile(r"\s*[Cc]hecks? (?:if|whether)\b")


def judge_reading(evidence: ToolFeatures) -> ReadOnlyVerdict:
    """The first rule that has something to say decides; acting evidence is asked first."""
    for rule in (_choices, _worked_on, _recalled, _avowed, _joined_verbs, _guidance, _question):
        verdict = rule(evidence)
        if verdict is not None:
            return verdict
    return BY_KIND.get(_kind(evidence), judge_act)(evidence)


def _worked_on(evidence: ToolFeatures) -> ReadOnlyVerdict | None:
    """`Split a string by a delimiter`: what is worked on comes with the call and goes back with the answer."""
    names = evidence.inputs.names
    if any(name.endswith(_ELSEWHERE) for name in names):
        return None
    summed = evidence.name.words == ("add",) and names == {"a", "b"}
    first = evidence.text[:120].lower().partition(".")[0].strip()
    if summed or _is_reworked(evidence) or _WORKED.fullmatch(first):
        return ReadOnlyVerdict(LOOKS, "it works on what it is handed")
    return None


def _recalled(evidence: ToolFeatures) -> ReadOnlyVerdict | None:
    """`open_nodes` of the servers that remember in a graph."""
    opened = evidence.name.words[-2:] == ("open", "nodes") and evidence.inputs.names == {"names"}
    if opened and evidence.prose.opening >= {"graph", "knowledge"}:
        return ReadOnlyVerdict(LOOKS, "nodes of a graph are looked up by their names")
    return None


def _is_reworked(evidence: ToolFeatures) -> bool:
    """`Redact all names in a text and return it`: the text is all that is given, and it comes back."""
    prose, names = evidence.prose, evidence.inputs.names
    texts = evidence.name.verb in DEEDS["reworking"] and names == {"text"} and _IN_A_TEXT.search(evidence.text)
    lasting = "lasting" in prose.statements or " in place" in evidence.text
    return bool(texts) and evidence.confirmed and "returns" in prose.statements and not lasting


def _choices(evidence: ToolFeatures) -> ReadOnlyVerdict | None:
    """One tool, many operations: the worst one counts."""
    if _only_filters(evidence) or _only_checks(evidence):
        return None
    guides = evidence.kind == "noun" and evidence.words & NOUNS["guide"] and evidence.prose.kinds <= READING
    doubtful = evidence.kind == "read" or bool(guides and evidence.prose.kinds)
    acting = sorted(
        choice.verb
        for choice in (evidence.deeds if evidence.filters else evidence.inputs.choices)
        if choice.kind in MIXED and (choice.certain or not doubtful or (guides and choice.kind == "destroy"))
    )
    if acting:
        offered = ", ".join(dict.fromkeys(acting))
        return ReadOnlyVerdict(ACTS, f"a parameter chooses between operations that include {offered[:80]}")
    plain = evidence.kind in {"manage", "none", "noun", "look", "read"} and not evidence.prose.kinds & ACTING
    if plain and evidence.inputs.only_reads:
        return ReadOnlyVerdict(READS, "every operation its parameter offers only reads")
    return None


def _only_filters(evidence: ToolFeatures) -> bool:
    """`list_refunds` with an action chooses what is listed, unless to list is itself one of the choices."""
    name, offered = evidence.name, {choice.verb for choice in evidence.inputs.choices}
    looks = name.place == "first" and evidence.prose.kinds <= READING
    lists = looks and name.verb in {"count", "list"} and not offered & DEEDS["offered_beside"]
    return lists and name.words[-1] not in {"manager", "ops"}


def _only_checks(evidence: ToolFeatures) -> bool:
    """`validate_rows` with an operation checks what is meant for it, where the text says that nothing is changed."""
    name, prose = evidence.name, evidence.prose
    checks = name.verb in {"validate", "verify"} and name.words[0] == name.verb and prose.kinds <= READING
    offered = any(choice.kind in READING for choice in evidence.inputs.choices)
    return checks and not offered and "without making any changes" in evidence.text.lower() and only_reads(evidence)


def _avowed(evidence: ToolFeatures) -> ReadOnlyVerdict | None:
    """`run_read_only_query`: what runs something only looks where name and description both say so."""
    words = evidence.name.words
    named = "readonly" in words or ("read", "only") in pairwise(words)
    if named and evidence.kind in {"run", "read", "look"} and "reads_only" in evidence.prose.statements:
        return ReadOnlyVerdict(LOOKS, "its name and its description say that it only reads")
    return None


def _acts(evidence: ToolFeatures, verb: str) -> bool:
    """`Find and highlight text in a tab`: somebody's screen changes."""
    shown = verb in _SHOWN_THERE and not evidence.prose.opening.isdisjoint(_SCREENS)
    return VERBS[verb] in ACTING or shown


def _joined_verbs(evidence: ToolFeatures) -> ReadOnlyVerdict | None:
    """`search_and_replace`, `Read or replace the clipboard`."""
    looks = bool(evidence.prose.kinds) and evidence.prose.kinds <= READING
    looks = looks or (evidence.name.verb in DEEDS["fetching"] and VERBS.get(evidence.name.words[-1]) == "noun")
    beside = [verb for verb in evidence.name.beside if VERBS[verb] in MIXED or VERBS[verb] == "make"]
    told = any(_certain_deed(verb) or _coupled(evidence.name.words, verb) for verb in beside)
    told = told and not CONJUNCTION.isdisjoint(evidence.name.words)
    if beside and (told or not looks):
        return ReadOnlyVerdict(ACTS, f"the name also says {beside[0]}")
    checks = bool(evidence.prose.verbs) and evidence.prose.verbs[0] in _CHECKING
    joined = [verb for verb in evidence.prose.verbs[1:] if _acts(evidence, verb) and not (checks and verb == "confirm")]
    if joined and evidence.kind in {"read", "look", "noun", "none", "session"}:
        fetched = evidence.name.verb in {"get", "list"} or evidence.words & {"get", "list"}
        thing = fetched and all(_is_counted(evidence.text, verb) for verb in joined)
        return ReadOnlyVerdict(ACTS, f"the description also says {joined[0]}", SURE if thing else FINAL)
    return None


def _is_counted(text: str, verb: str) -> bool:
    """`spend and clicks`, `view and edit restrictions`; not `spend points on an item`."""
    said = re.search(rf"\b{verb}s?(?:[,.);]| {_AFTER_A_THING}\b)", text[:400].lower())
    return VERBS[verb] not in {"destroy", "drive", "send", "share"} and said is not None


def _coupled(words: tuple[str, ...], verb: str) -> bool:
    """Whether the verb stands last, or after another verb, behind a conjunction: `scrape_and_save`."""
    place = words.index(verb)
    if place < 2 or words[place - 1] not in CONJUNCTION:
        return False
    return words[place - 2] in VERBS or (place == len(words) - 1 and VERBS[verb] in MIXED)


def _certain_deed(verb: str) -> bool:
    return VERBS[verb] in ACTING and verb not in NOUN_TOO


def _guidance(evidence: ToolFeatures) -> ReadOnlyVerdict | None:
    """Tools that only tell how something is done, whatever harmless verb their name has."""
    prose = evidence.prose
    if evidence.kind in _GRAVE or not prose.kinds or not prose.kinds <= READING or prose.late:
        return None
    if evidence.inputs.flags & (PROGRAM | {"mend", "felling", "emptying"}):
        return None
    advised = prose.verbs[0] in DEEDS["fetching"] and prose.object & NOUNS["advice"]
    if advised and evidence.name.verb not in DEEDS["heeding"]:
        return ReadOnlyVerdict(LOOKS, "the description offers advice, not the deed")
    teaches = prose.verbs[0] in DEEDS["teaching"] or (prose.opening & NOUNS["guide"] and not evidence.confirmed)
    if teaches and "guides" in prose.statements:
        return ReadOnlyVerdict(LOOKS, "the description offers guidance, not the deed")
    return None


def _question(evidence: ToolFeatures) -> ReadOnlyVerdict | None:
    """`is_connected`, `harbour_can_i_deploy`."""
    words = evidence.name.words
    asks = bool(words) and (
        words[0] in DEEDS["asking"] or ("i" in words[1:-1] and words[words.index("i") - 1] in DEEDS["asking"])
    )
    prose = evidence.prose
    if asks and words[0] in {"does", "should"} and prose.opening:
        asks = "whether" in prose.opening or bool(prose.kinds and prose.kinds <= READING)
    return ReadOnlyVerdict(READS, "the name asks a question") if asks and not prose.kinds & ACTING else None


def _kind(evidence: ToolFeatures) -> str:
    """The class of the name's verb, unless the words around show that it is a thing or another deed."""
    verb, words = evidence.name.verb, evidence.words
    meant = words & OTHERWISE[verb][1] if verb in OTHERWISE else frozenset()
    if verb is not None and meant and not (meant <= _PARTICLES and _WHETHER.match(evidence.text)):
        return OTHERWISE[verb][0]
    asked = evidence.prose.kind == "read" or "reads_only" in evidence.prose.statements or "looks_up" in evidence.outset
    if verb == "resolve" and not asked and not words & NOUNS["named"]:
        return "change"
    if verb == "review" and evidence.inputs.names & {"decision", "verdict"}:
        return "add"
    requested = verb == "review" and words & {"pull", "pr", "merge", "request"}
    if requested and ("payload" in evidence.inputs.flags or evidence.inputs.names & NOUNS["opinion_input"]):
        return "add"
    if _is_fetched(evidence) or _is_rehearsal(evidence) or _is_aftermath(evidence):
        return "read"
    if verb == "report" and "run" in words and "async" not in words:
        return "run"
    if (
        verb == "create"
        and evidence.prose.kind == "make"
        and evidence.prose.verbs[0] != "record"
        and "merely_makes" in evidence.prose.statements
    ):
        return "make"
    if verb == "operations" and evidence.name.place == "first":
        return "none"
    return "thing" if verb is not None and _is_thing(evidence, verb) else evidence.kind


def _is_rehearsal(evidence: ToolFeatures) -> bool:
    """`prune_dry_run`, whose description only looks, or what is only planned."""
    dry = evidence.name.words[-2:] == ("dry", "run") and evidence.prose.kind in READING
    return dry or is_planned(evidence)


def _is_aftermath(evidence: ToolFeatures) -> bool:
    """`gc_status`, `purge_history`: what became of a deed, where the description only looks."""
    name, prose = evidence.name, evidence.prose
    if name.kind not in ACTING or name.words[-1] not in _AFTERMATH or prose.kind not in READING or evidence.confirmed:
        return False
    last, text = name.words[-1], evidence.text[:300].lower()
    told = prose.verbs[0] in _ASKING and bool(prose.object & _AFTERMATH)
    told = told and (last != "schema" or prose.verbs[0] == "get") and _MORE_TOLD.match(text) is None
    lost = _LOST_TOLD.search(text) is not None or not evidence.inputs.names.isdisjoint(_TURNED)
    stands = name.kind == "destroy" or (last != "history" and name.verb not in DEEDS["turning"])
    return told and stands and not lost


def _is_fetched(evidence: ToolFeatures) -> bool:
    """`list_resume_versions`: the name begins with a look, and the description only looks."""
    first, verb = evidence.name.words[:1], evidence.name.verb
    thing = verb in NOUN_TOO or VERBS.get(verb or "", "destroy") not in {"destroy", "drive", "spend"}
    looks = bool(evidence.prose.kinds) and evidence.prose.kinds <= READING
    joined = not CONJUNCTION.isdisjoint(evidence.name.words)
    return looks and thing and not joined and verb not in first and not DEEDS["fetching"].isdisjoint(first)


def _is_thing(evidence: ToolFeatures, verb: str) -> bool:
    """Whether `release` in `release_notes` is no deed: the description does not name it, and only looks."""
    name, prose = evidence.name, evidence.prose
    if verb not in NOUN_TOO or name.kind in READING or evidence.confirmed:
        return False
    if name.kind == "destroy" and verb not in DEEDS["shelving"]:
        return False
    stirs = name.place == "middle" and verb in DEEDS["stirring"]
    if verb in NOUN_FIRST and name.place in {"middle", "last"} and prose.kinds == {"make"}:
        return True
    weak = (name.place in {"middle", "last"} and not stirs) or verb in NOUN_FIRST or _asked_for(verb, name.words[-1])
    return weak and bool(prose.kinds) and prose.kinds <= READING


def _asked_for(verb: str, last: str) -> bool:
    """`swap_quote` is a quote, and `new_markets` are markets, where `new_market` may make one."""
    if verb == "new":
        return last.endswith("s") and not last.endswith("ss")
    return verb in DEEDS["quoted"] and last in NOUNS["asked_for"]
