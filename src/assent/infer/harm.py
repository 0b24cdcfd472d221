"""Can a call lose data, access or running work, or replace what was there?"""

from dataclasses import dataclass
from typing import Final

from assent.infer.evidence import Evidence
from assent.infer.execution import judge_execution
from assent.infer.lexicon import DEEDS, LOSING, NOUNS, OTHERWISE, READING, VERBS
from assent.infer.statements import Statements

# Classes that say too little about the deed: the description may say more.
VAGUE: Final = frozenset({"none", "noun", "manage", "run", "look", "read", "session"})
_GIVING: Final = frozenset({"add", "make", "send", "share", "spend"})
_CHANGING: Final = frozenset({"change", "manage", "none", "noun", "run", "session"})
_CHOICE: Final = frozenset({"action", "method", "operation", "op", "subcommand"})
_DATABASE: Final = frozenset({"database", "db", "ddl", "postgres", "schema", "sql", "supabase", "table", "tables"})
_SCHEMA: Final = frozenset({"ddl", "migration", "migrations"})
_KEYS: Final = NOUNS["secret"] | {"token", "tokens", "key", "keys"}


@dataclass(frozen=True, slots=True)
class Harm:
    """What a call may destroy, run or replace, each with the sentence that says why."""

    destroys: str | None
    executes: str | None
    replaces: str | None

    @property
    def destructive(self) -> bool:
        return bool(self.destroys or self.executes)


def judge_harm(evidence: Evidence) -> Harm:
    """Judge a tool that acts; a tool that only looks harms nothing."""
    destroys = _by_name(evidence) or _by_choice(evidence) or _by_text(evidence) or _by_combination(evidence)
    return Harm(destroys, judge_execution(evidence), _replaces(evidence))


def _by_name(evidence: Evidence) -> str | None:
    said = evidence.prose.verbs
    if evidence.name.verb == "reset" and said and said[0] in DEEDS["mild"]:
        return None
    for verb in (evidence.name.verb, *evidence.name.beside):
        if verb and VERBS[verb] == "destroy" and not _otherwise(verb, evidence.words) and _loses(verb, evidence.words):
            return f"{verb} loses data, access or running work"
    return None


def _otherwise(verb: str, words: frozenset[str]) -> bool:
    return verb in OTHERWISE and bool(words & OTHERWISE[verb][1])


def _loses(verb: str, words: frozenset[str]) -> bool:
    if verb in DEEDS["halting"]:
        return not words & NOUNS["own"]
    if verb in DEEDS["sparing"]:
        little = words & NOUNS["trivial"]
        return not little or (little <= {"link", "links"} and bool(words & NOUNS["shared"]))
    if verb == "reset":
        return not words & (NOUNS["trivial"] - {"default"})
    if verb in {"regenerate", "rotate"}:
        return bool(words & _KEYS)
    return verb not in DEEDS["mild"]


def _by_choice(evidence: Evidence) -> str | None:
    if evidence.name.verb in DEEDS["mild"] and "force" in evidence.inputs.flags:
        return f"{evidence.name.verb} can be forced"
    chosen = {choice.verb for choice in evidence.inputs.choices if choice.kind == "destroy"}
    lost = sorted(chosen - DEEDS["mild"])
    if "undo" in {choice.verb for choice in evidence.inputs.choices}:
        lost.append("undo")
    return f"a parameter offers {', '.join(lost[:3])}" if lost else None


def _by_text(evidence: Evidence) -> str | None:
    prose, kind = evidence.prose, evidence.kind
    for verb in prose.verbs:
        counts = verb in DEEDS["strong"] or kind in VAGUE or kind == "destroy"
        words = evidence.words | prose.opening
        if counts and VERBS[verb] == "destroy" and not _otherwise(verb, words) and _loses(verb, words):
            return f"the description says {verb}"
    chosen = evidence.inputs.names & _CHOICE and kind not in READING and "erases" in Statements(evidence.headline)
    if chosen or (kind in {"manage", "none", "noun"} and "deletes" in prose.statements):
        return "the description offers to delete, remove or stop as well"
    if kind not in _GIVING and "lasting" in prose.statements:
        return "the description warns that the effect is lasting"
    return None


def _by_combination(evidence: Evidence) -> str | None:
    verb, words, prose = evidence.name.verb, evidence.words, evidence.prose
    if verb == "restore" and words & {"snapshot", "backup"}:
        return "restoring a copy replaces what is there now"
    if verb in {"upgrade", "downgrade"} and "version" in words:
        return "a change of version is hard to take back"
    if verb in {"sync", "synchronize", "synchronise"} and "deletes" in prose.statements:
        return "what is missing on one side is deleted on the other"
    if (verb == "apply" or "up" in words) and (words | prose.object) & {"terraform", "pulumi"}:
        return "applying a plan may destroy what it no longer names"
    if verb in DEEDS["applying"] and (words | prose.object) & _SCHEMA and (words | prose.opening) & _DATABASE:
        return "a change of the schema may lose what it no longer holds"
    lost = words & LOSING.get(verb or "", frozenset())
    if lost:
        return f"{verb} of {min(lost)} loses it or what it holds"
    if verb == "recreate" and "deletes" in prose.statements:
        return "what is made anew is removed first"
    if verb == "replace" and "all" in words and "text" not in words:
        return "everything that was there is replaced"
    if verb in DEEDS["writing"] and "discards" in prose.statements:
        return "what was there before is discarded"
    if verb in DEEDS["revising"] and not words & NOUNS["trivial"] and "discards" in Statements(evidence.headline):
        return "what was there before is discarded"
    if verb in DEEDS["answering"] and words & {"dialog", "dialogs"}:
        return "an answer to a dialog may do anything"
    if "force" in words and verb in DEEDS["forceable"]:
        return f"a forced {verb} does not ask what it replaces"
    if {"sign", "out"} <= words or {"log", "out"} <= words:
        return "others are signed out" if words & NOUNS["everybody"] else None
    if "power" in words and words & {"off", "cycle", "down"}:
        return "what runs is cut off"
    if evidence.kind == "change" and "emptying" in evidence.inputs.flags:
        return "a switch empties what was there"
    if evidence.kind in _CHANGING and "loses" in Statements(evidence.headline):
        return "the description says that something is lost on the way"
    if evidence.kind == "drive" or (prose.kind == "drive" and evidence.kind in VAGUE):
        return "a press on a live screen may do anything"
    return _by_errand(evidence)


def _by_errand(evidence: Evidence) -> str | None:
    """Running something that is itself a loss: a rollback, a clean-up, an action it warns of."""
    if evidence.kind != "run":
        return None
    lost = sorted(word for word in evidence.words if VERBS.get(word) == "destroy" or word in NOUNS["attack"])
    if lost:
        return f"runs a {lost[0]}"
    return "runs something it warns of" if "cautions" in evidence.prose.statements else None


def _replaces(evidence: Evidence) -> str | None:
    verb, kind, prose = evidence.name.verb, evidence.kind, evidence.prose
    if kind in {"change", "manage", "drive", "session", "destroy"} and verb not in DEEDS["beginning"]:
        return f"{verb} changes what was there"
    if evidence.inputs.flags & {"overwrite", "file"} or "overwrites" in prose.statements:
        return "may overwrite what was there"
    if kind in {"none", "noun", "look", "run"} and prose.kinds & {"change", "session"}:
        return f"the description says {prose.verbs[0]}"
    if any(choice.kind == "change" for choice in evidence.inputs.choices):
        return "a parameter offers to change what was there"
    return None
