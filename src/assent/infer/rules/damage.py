"""Can a call lose data, access or running work, or replace what was there?"""

import re
from typing import Final, NamedTuple

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, OTHERWISE, READING, VAGUE, VERBS
from assent.infer.rules.damage_context import judge_circumstances
from assent.infer.rules.execution import judge_execution
from assent.infer.rules.side_effects import dispatched

_GIVING: Final = frozenset({"add", "make", "send", "share", "spend"})
_CHOICE: Final = frozenset({"action", "method", "operation", "op", "subcommand"})
# What is created to do something later.
_STANDING: Final = frozenset(
    {"adjustment", "automation", "creative", "policy", "quota", "rule", "rules", "trigger", "workflow"}
)
_ENDED = re.compile(
    r"(?<!not )(?<!without )(?<!be )\b(?:abort|cancel|delet|remov|revok|terminat)(?:e?d|es|l?ing|l?ed)\b"
    r"|\b(?:are|is) (?:shut down|stopped)\b|\bpowered off\b|\bcan no longer\b|\breleased\b|\(deletes?\)"
)
# What was to go out stays.
_DRAFTED = re.compile(r"\s*(?:cancel|reset) an? `?scheduled`? [\w ]+,? (?:back|returning it) to `?draft`?[.;]")
_UNLESS_TOLD: Final = frozenset({"archive", "detach", "disable", "unbind"})
_OPERATIONS: Final = frozenset({"add", "create", "get", "list", "update"})
_TWOFOLD: Final = DEEDS["shelving"] | DEEDS["sparing"]
_RESET_LIGHTLY: Final = (NOUNS["trivial"] - {"default"}) | {"alert", "alerts", "camera", "view", "viewport", "zoom"}
_CLEARED_LIGHTLY: Final = NOUNS["trivial"] - {"cache", "caches"}
# Who or what is kept out when one of these is switched off; anything else is switched on again, and nobody was.
_BARRED: Final = frozenset(
    (
        *("admin", "admins", "audit", "backup", "backups", "certificate", "certificates", "device", "devices"),
        *("encryption", "factor", "firewall", "staff"),
        *("account", "accounts", "auth", "authentication", "credential", "credentials", "customer", "customers"),
        *("employee", "employees", "key", "keys", "live", "login", "member", "members", "mfa", "protection", "saas"),
        *("secret", "secrets", "sso", "token", "tokens", "user", "users"),
    )
)
_OWN_LISTS: Final = frozenset({"favorites", "favourites", "playlist", "watchlist", "wishlist"})
# What one did oneself, and can do again.
_ATTENDED = re.compile(
    r"\s*stops? (?:capturing|listening|recording|tracing|watching)\b(?! instance)"
    r"(?!.*\b(?:and|clear|delet|disconnect|discard|drop|kill|los[es]|lost|shut|terminat|wip))"
)
_LEAVING: Final = frozenset({"logout", "signout"})
_FORGETTING: Final = frozenset({"clear", "delete", "end", "remove"})
_REMEMBERED: Final = frozenset(
    {"auth", "authentication", "cookie", "cookies", "credential", "credentials", "session", "token", "tokens"}
)
_OTHERS: Final = frozenset({"all", "data", "every", "everyone", "history", "sessions", "user", "users"})
_KEYS: Final = NOUNS["secret"] | {"token", "tokens", "key", "keys"}


class Damage(NamedTuple):
    """What a call may destroy, run or replace, each with the sentence that says why."""

    destroys: str | None
    executes: str | None
    replaces: str | None

    @property
    def destructive(self) -> bool:
        return bool(self.destroys or self.executes)


def judge_harm(evidence: ToolFeatures) -> Damage:
    """Judge a tool that acts; a tool that only looks harms nothing."""
    destroys = _by_name(evidence) or _by_choice(evidence) or _by_text(evidence) or judge_circumstances(evidence)
    return Damage(destroys, judge_execution(evidence), _replaces(evidence))


def _by_name(evidence: ToolFeatures) -> str | None:
    if _spared(evidence):
        return None
    if evidence.name.verb in _UNLESS_TOLD and _ends_for_good(evidence):
        return f"{evidence.name.verb} loses data, access or running work"
    for verb in (evidence.name.verb, *evidence.name.beside):
        halted = (verb in DEEDS["halting"] and verb != "cancel") or (verb == "reset" and len(evidence.words) == 1)
        done_to = evidence.words | (evidence.prose.object if halted else frozenset())
        if verb and VERBS[verb] == "destroy" and not _otherwise(verb, evidence.words) and _loses(verb, done_to):
            return f"{verb} loses data, access or running work"
    return None


def _ends_for_good(evidence: ToolFeatures) -> bool:
    """Whether the text says that more is lost than sight, or whoever is put away is kept out."""
    kept_out = evidence.name.verb == "archive" and bool(evidence.words & _BARRED)
    return kept_out or _ENDED.search(evidence.text[:300].lower()) is not None


def _spared(evidence: ToolFeatures) -> bool:
    """What sounds like a loss and only takes back an assignment, or what was staged."""
    verb, said = evidence.name.verb, evidence.prose.verbs
    if verb in {"cancel", "reset"} and _DRAFTED.match(evidence.text.lower()):
        return True
    if verb == "stop" and _ATTENDED.match(evidence.text.lower()):
        return True
    if verb == "reset":
        return bool(said) and said[0] in DEEDS["mild"]
    if said and said[0] in DEEDS["loosening"]:
        return True
    if verb == "remove" and _is_taken_out(evidence):
        return True
    loosed = evidence.words & NOUNS["assigned"] and evidence.words & NOUNS["assignment"]
    return verb in DEEDS["sparing"] and bool(loosed)


def _is_unlinked(evidence: ToolFeatures) -> bool:
    """`Remove the link of a feature`: both stay."""
    linked = evidence.name.verb == "unlink" and bool(evidence.prose.object & {"link", "links"})
    return linked and "delet" not in evidence.text


def _is_taken_out(evidence: ToolFeatures) -> bool:
    """`remove_devices_from_group`: they stay; a person who is taken out loses access."""
    words = evidence.name.words
    place = words.index("from") if "from" in words else len(words)
    taken, left = frozenset(words[:place]), frozenset(words[place + 1 :])
    if not left and "from" in evidence.prose.opening:  # `playlist_remove_from`, `watchlist_remove`
        left = taken & _OWN_LISTS if words[-1] in {"from", "remove"} else left
    whole = NOUNS["person"] | {"all", "everything"}
    planned = left & {"project", "section"} and taken & {"issue", "issues", "task", "tasks"}
    stays = planned and "scheduled" not in taken and "delet" not in evidence.text.lower()
    return bool(left & NOUNS["collected"] or stays) and whole.isdisjoint(taken)


def _otherwise(verb: str, words: frozenset[str]) -> bool:
    return verb in OTHERWISE and bool(words & OTHERWISE[verb][1])


def _loses(verb: str, words: frozenset[str]) -> bool:
    if verb in DEEDS["halting"]:
        return not words & NOUNS["own"]
    if verb in {"deactivate", "disable"}:
        return bool(words & _BARRED) and words.isdisjoint({"filter", "rule", "rules"})
    if verb in DEEDS["sparing"]:
        return not words & (_CLEARED_LIGHTLY if verb == "clear" else NOUNS["trivial"])
    if verb == "reset":
        return not words & _RESET_LIGHTLY
    if verb in {"regenerate", "rotate"}:
        return bool(words & _KEYS)
    return verb not in DEEDS["mild"]


def _by_choice(evidence: ToolFeatures) -> str | None:
    if evidence.name.verb in DEEDS["mild"] and "force" in evidence.inputs.flags:
        return f"{evidence.name.verb} can be forced"
    chosen = {choice.verb for choice in evidence.deeds if choice.kind == "destroy"}
    offered = {choice.verb for choice in evidence.deeds}
    created = evidence.confirmed and evidence.name.verb in {"add", "create"} and evidence.words & _STANDING
    if created and not offered & _OPERATIONS:
        return None  # what a rule that is created will do
    lost = sorted(chosen - DEEDS["mild"] - ({"disable"} if "enable" in offered else set()))
    lost += sorted(offered & DEEDS["losing_choice"])
    if evidence.words & NOUNS["trivial"]:
        lost = [verb for verb in lost if verb not in DEEDS["sparing"]]
    if evidence.name.words[-2:] == ("control", "playback"):
        lost = [verb for verb in lost if verb != "stop"]
    if lost:
        return f"a parameter offers {', '.join(lost[:3])}"
    replacing = offered & {"overwrite", "replace", "rewrite"}
    if "mode" in evidence.inputs.names and replacing and offered & {"add", "append", "merge", "prepend"}:
        return "one of its modes replaces what was there"
    pressed = {choice.verb for choice in evidence.deeds if choice.kind == "drive"}
    return "a parameter offers a press on a live screen" if pressed & DEEDS["pressing"] else None


def _by_text(evidence: ToolFeatures) -> str | None:
    prose, kind = evidence.prose, evidence.kind
    spared = _spared(evidence)
    for verb in prose.verbs:
        if verb == "stop" and _ATTENDED.match(evidence.text.lower()):
            continue
        if (spared and verb == evidence.name.verb) or (verb == "remove" and _is_unlinked(evidence)):
            continue
        if verb in _FORGETTING and _leaves(evidence):
            continue
        counts = verb in DEEDS["strong"] or kind in VAGUE or kind == "destroy"
        counts = counts or evidence.name.verb in _LEAVING
        counts = counts or (kind in {"change", "make"} and verb == prose.verbs[0] and verb not in _TWOFOLD)
        words = evidence.words | prose.opening
        toggles = verb == "disable" and "enable" in prose.verbs
        if toggles or not counts or VERBS[verb] != "destroy" or _otherwise(verb, words):
            continue
        if _loses(verb, words):
            return f"the description says {verb}"
    chosen = evidence.inputs.names & _CHOICE and kind not in READING and "erases" in evidence.outset
    chosen = bool(chosen) or (dispatched(evidence) is not None and "offers_deletion" in prose.statements)
    lost = "erases" if evidence.words & NOUNS["trivial"] else "deletes"
    if chosen or (kind in {"manage", "none", "noun"} and lost in prose.statements):
        return "the description offers to delete, remove or stop as well"
    if kind not in _GIVING and "lasting" in prose.statements:
        return "the description warns that the effect is lasting"
    return None


def _leaves(evidence: ToolFeatures) -> bool:
    """Whether somebody leaves a session of their own, and only what was kept for it is forgotten."""
    said = evidence.prose.opening
    return evidence.name.verb in _LEAVING and bool(said & _REMEMBERED) and said.isdisjoint(_OTHERS)


def _replaces(evidence: ToolFeatures) -> str | None:
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
