"""Rules for damage: loss of data, access or running work, and replaced content."""

import re
from typing import Final, NamedTuple

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, OTHERWISE, READING, VAGUE, VERBS
from assent.infer.rules.damage_context import find_contextual_damage
from assent.infer.rules.execution import find_execution
from assent.infer.rules.side_effects import runs_named_operation

_GIVING: Final = frozenset({"add", "make", "send", "share", "spend"})
_CHOICE: Final = frozenset({"action", "method", "operation", "op", "subcommand"})
# Things that are created to act later.
_LATER_EFFECTS: Final = frozenset(
    {"adjustment", "automation", "creative", "policy", "quota", "rule", "rules", "trigger", "workflow"}
)
_SAYS_ENDED = re.compile(
    r"(?<!not )(?<!without )(?<!be )\b(?:abort|cancel|delet|remov|revok|terminat)(?:e?d|es|l?ing|l?ed)\b"
    r"|\b(?:are|is) (?:shut down|stopped)\b|\bpowered off\b|\bcan no longer\b|\breleased\b|\(deletes?\)"
)
# A scheduled item goes back to draft, and nothing is lost.
_BACK_TO_DRAFT = re.compile(r"\s*(?:cancel|reset) an? `?scheduled`? [\w ]+,? (?:back|returning it) to `?draft`?[.;]")
_REVERSIBLE_UNLESS_TEXT: Final = frozenset({"archive", "detach", "disable", "unbind"})
_OPERATIONS: Final = frozenset({"add", "create", "get", "list", "update"})
_ARCHIVE_OR_CLEAR: Final = DEEDS["shelving"] | DEEDS["sparing"]
_RESET_LIGHTLY: Final = (NOUNS["trivial"] - {"default"}) | {"alert", "alerts", "camera", "view", "viewport", "zoom"}
_CLEARED_LIGHTLY: Final = NOUNS["trivial"] - {"cache", "caches"}
# Switching one of these off locks someone out or removes protection. Anything else can be switched on again.
_ACCESS_OR_PROTECTION: Final = frozenset(
    (
        *("admin", "admins", "audit", "backup", "backups", "certificate", "certificates", "device", "devices"),
        *("encryption", "factor", "firewall", "staff"),
        *("account", "accounts", "auth", "authentication", "credential", "credentials", "customer", "customers"),
        *("employee", "employees", "key", "keys", "live", "login", "member", "members", "mfa", "protection", "saas"),
        *("secret", "secrets", "sso", "token", "tokens", "user", "users"),
    )
)
_OWN_LISTS: Final = frozenset({"favorites", "favourites", "playlist", "watchlist", "wishlist"})
# Stopping a capture that the caller started can be repeated.
_STOPS_OWN_CAPTURE = re.compile(
    r"\s*stops? (?:capturing|listening|recording|tracing|watching)\b(?! instance)"
    r"(?!.*\b(?:and|clear|delet|disconnect|discard|drop|kill|los[es]|lost|shut|terminat|wip))"
)
_SIGN_OUT: Final = frozenset({"logout", "signout"})
_REMOVING: Final = frozenset({"clear", "delete", "end", "remove"})
_SESSION_DATA: Final = frozenset(
    {"auth", "authentication", "cookie", "cookies", "credential", "credentials", "session", "token", "tokens"}
)
_MORE_THAN_SESSION: Final = frozenset({"all", "data", "every", "everyone", "history", "sessions", "user", "users"})
_KEYS: Final = NOUNS["secret"] | {"token", "tokens", "key", "keys"}


class Damage(NamedTuple):
    """What a call may destroy, execute or replace, each with its reason."""

    destroys: str | None
    executes: str | None
    replaces: str | None

    @property
    def destructive(self) -> bool:
        return bool(self.destroys or self.executes)


def find_damage(tool: ToolFeatures) -> Damage:
    """Find the damage of a tool that acts; do not call it for read-only tools."""
    destroys = (
        _damage_by_name(tool) or _damage_by_parameter(tool) or _damage_by_text(tool) or find_contextual_damage(tool)
    )
    return Damage(destroys, find_execution(tool), _replaced_content(tool))


def _damage_by_name(tool: ToolFeatures) -> str | None:
    if _is_harmless(tool):
        return None
    if tool.name.verb in _REVERSIBLE_UNLESS_TEXT and _is_permanent(tool):
        return f"{tool.name.verb} loses data, access or running work"
    for verb in (tool.name.verb, *tool.name.beside):
        halted = (verb in DEEDS["halting"] and verb != "cancel") or (verb == "reset" and len(tool.words) == 1)
        done_to = tool.words | (tool.prose.object if halted else frozenset())
        if verb and VERBS[verb] == "destroy" and not _has_other_class(verb, tool.words) and _is_loss(verb, done_to):
            return f"{verb} loses data, access or running work"
    return None


def _is_permanent(tool: ToolFeatures) -> bool:
    """Whether the text says that something ends, or an archived account loses access."""
    kept_out = tool.name.verb == "archive" and bool(tool.words & _ACCESS_OR_PROTECTION)
    return kept_out or _SAYS_ENDED.search(tool.text[:300].lower()) is not None


def _is_harmless(tool: ToolFeatures) -> bool:
    """Whether a destructive verb only removes an assignment or a staged change."""
    verb, said = tool.name.verb, tool.prose.verbs
    if verb in {"cancel", "reset"} and _BACK_TO_DRAFT.match(tool.text.lower()):
        return True
    if verb == "stop" and _STOPS_OWN_CAPTURE.match(tool.text.lower()):
        return True
    if verb == "reset":
        return bool(said) and said[0] in DEEDS["mild"]
    if said and said[0] in DEEDS["loosening"]:
        return True
    if verb == "remove" and _removes_from_collection(tool):
        return True
    loosed = tool.words & NOUNS["assigned"] and tool.words & NOUNS["assignment"]
    return verb in DEEDS["sparing"] and bool(loosed)


def _removes_only_link(tool: ToolFeatures) -> bool:
    """Whether only a link is removed: `Remove the link of a feature`."""
    linked = tool.name.verb == "unlink" and bool(tool.prose.object & {"link", "links"})
    return linked and "delet" not in tool.text


def _removes_from_collection(tool: ToolFeatures) -> bool:
    """Whether items leave a collection but stay, as in `remove_devices_from_group`; people lose access, so they do not
    count.
    """
    words = tool.name.words
    place = words.index("from") if "from" in words else len(words)
    taken, left = frozenset(words[:place]), frozenset(words[place + 1 :])
    if not left and "from" in tool.prose.opening:  # `playlist_remove_from`, `watchlist_remove`
        left = taken & _OWN_LISTS if words[-1] in {"from", "remove"} else left
    whole = NOUNS["person"] | {"all", "everything"}
    planned = left & {"project", "section"} and taken & {"issue", "issues", "task", "tasks"}
    stays = planned and "scheduled" not in taken and "delet" not in tool.text.lower()
    return bool(left & NOUNS["collected"] or stays) and whole.isdisjoint(taken)


def _has_other_class(verb: str, words: frozenset[str]) -> bool:
    return verb in OTHERWISE and bool(words & OTHERWISE[verb][1])


def _is_loss(verb: str, words: frozenset[str]) -> bool:
    if verb in DEEDS["halting"]:
        return not words & NOUNS["own"]
    if verb in {"deactivate", "disable"}:
        return bool(words & _ACCESS_OR_PROTECTION) and words.isdisjoint({"filter", "rule", "rules"})
    if verb in DEEDS["sparing"]:
        return not words & (_CLEARED_LIGHTLY if verb == "clear" else NOUNS["trivial"])
    if verb == "reset":
        return not words & _RESET_LIGHTLY
    if verb in {"regenerate", "rotate"}:
        return bool(words & _KEYS)
    return verb not in DEEDS["mild"]


def _damage_by_parameter(tool: ToolFeatures) -> str | None:
    if tool.name.verb in DEEDS["mild"] and "force" in tool.inputs.flags:
        return f"{tool.name.verb} can be forced"
    chosen = {choice.verb for choice in tool.deeds if choice.kind == "destroy"}
    offered = {choice.verb for choice in tool.deeds}
    created = tool.confirmed and tool.name.verb in {"add", "create"} and tool.words & _LATER_EFFECTS
    if created and not offered & _OPERATIONS:
        return None  # the action of the rule that is created
    lost = sorted(chosen - DEEDS["mild"] - ({"disable"} if "enable" in offered else set()))
    lost += sorted(offered & DEEDS["losing_choice"])
    if tool.words & NOUNS["trivial"]:
        lost = [verb for verb in lost if verb not in DEEDS["sparing"]]
    if tool.name.words[-2:] == ("control", "playback"):
        lost = [verb for verb in lost if verb != "stop"]
    if lost:
        return f"a parameter offers {', '.join(lost[:3])}"
    replacing = offered & {"overwrite", "replace", "rewrite"}
    if "mode" in tool.inputs.names and replacing and offered & {"add", "append", "merge", "prepend"}:
        return "one of its modes replaces what was there"
    pressed = {choice.verb for choice in tool.deeds if choice.kind == "drive"}
    return "a parameter offers a press on a live screen" if pressed & DEEDS["pressing"] else None


def _damage_by_text(tool: ToolFeatures) -> str | None:
    prose, kind = tool.prose, tool.kind
    spared = _is_harmless(tool)
    for verb in prose.verbs:
        if verb == "stop" and _STOPS_OWN_CAPTURE.match(tool.text.lower()):
            continue
        if (spared and verb == tool.name.verb) or (verb == "remove" and _removes_only_link(tool)):
            continue
        if verb in _REMOVING and _signs_out_self(tool):
            continue
        counts = verb in DEEDS["strong"] or kind in VAGUE or kind == "destroy"
        counts = counts or tool.name.verb in _SIGN_OUT
        counts = counts or (kind in {"change", "make"} and verb == prose.verbs[0] and verb not in _ARCHIVE_OR_CLEAR)
        words = tool.words | prose.opening
        toggles = verb == "disable" and "enable" in prose.verbs
        if toggles or not counts or VERBS[verb] != "destroy" or _has_other_class(verb, words):
            continue
        if _is_loss(verb, words):
            return f"the description says {verb}"
    chosen = tool.inputs.names & _CHOICE and kind not in READING and "erases" in tool.outset
    chosen = bool(chosen) or (runs_named_operation(tool) is not None and "offers_deletion" in prose.statements)
    lost = "erases" if tool.words & NOUNS["trivial"] else "deletes"
    if chosen or (kind in {"manage", "none", "noun"} and lost in prose.statements):
        return "the description offers to delete, remove or stop as well"
    if kind not in _GIVING and "lasting" in prose.statements:
        return "the description warns that the effect is lasting"
    return None


def _signs_out_self(tool: ToolFeatures) -> bool:
    """Whether the caller signs out and only its own session data is removed."""
    said = tool.prose.opening
    return tool.name.verb in _SIGN_OUT and bool(said & _SESSION_DATA) and said.isdisjoint(_MORE_THAN_SESSION)


def _replaced_content(tool: ToolFeatures) -> str | None:
    verb, kind, prose = tool.name.verb, tool.kind, tool.prose
    if kind in {"change", "manage", "drive", "session", "destroy"} and verb not in DEEDS["beginning"]:
        return f"{verb} changes what was there"
    if tool.inputs.flags & {"overwrite", "file"} or "overwrites" in prose.statements:
        return "may overwrite what was there"
    if kind in {"none", "noun", "look", "run"} and prose.kinds & {"change", "session"}:
        return f"the description says {prose.verbs[0]}"
    if any(choice.kind == "change" for choice in tool.inputs.choices):
        return "a parameter offers to change what was there"
    return None
