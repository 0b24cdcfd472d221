"""Rules for losses: of data, of access, of running work, and of replaced content.

`LOSSES` lists what makes a tool destructive, besides execution. `OVERWRITES` lists what replaces existing content.
"""

from typing import Final, NamedTuple

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import NOUNS, OTHER_CLASS, VAGUE, VERB_GROUPS, VERBS
from assent.contract.infer.rules.condition import mentions, starts, when
from assent.contract.infer.rules.execution import EXECUTION
from assent.contract.infer.rules.losses_by_context import LOSSES_BY_CONTEXT
from assent.contract.infer.rules.table import rule, table, unless

# Verbs of the class `destroy` that lose nothing next to these words, because they can be repeated or matter little.
_SPARED_WORDS: Final = {
    "cancel": NOUNS["started_by_caller"],
    "stop": NOUNS["started_by_caller"],
    "clear": NOUNS["trivial"] - {"cache", "caches"},
    "remove": NOUNS["trivial"],
    "reset": (NOUNS["trivial"] - {"default"}) | {"alert", "alerts", "camera", "view", "viewport", "zoom"},
    "disable": frozenset({"filter", "rule", "rules"}),
}
# Switching one of these off locks someone out or removes protection. Anything else can be switched on again.
_ACCESS_OR_PROTECTION: Final = word_set(
    """
    account accounts admin admins audit auth authentication backup backups certificate certificates credential
    credentials customer customers device devices employee employees encryption factor firewall key keys live
    login member members mfa protection saas secret secrets sso staff token tokens user users
    """
)
_KEYS: Final = NOUNS["secret"] | {"token", "tokens", "key", "keys"}
# Verbs that lose something only next to these words.
_NEEDED_WORDS: Final = {"disable": _ACCESS_OR_PROTECTION, "regenerate": _KEYS, "rotate": _KEYS}


def _is_loss(verb: str, words: frozenset[str]) -> bool:
    """Whether a verb of the class `destroy` loses something next to these words."""
    if VERBS[verb] != "destroy" or verb in VERB_GROUPS["mild_losses"]:
        return False
    if verb in OTHER_CLASS and not words.isdisjoint(OTHER_CLASS[verb][1]):
        return False
    if verb in _NEEDED_WORDS and words.isdisjoint(_NEEDED_WORDS[verb]):
        return False
    return verb not in _SPARED_WORDS or words.isdisjoint(_SPARED_WORDS[verb])


def _find_loss_in_name(tool: ToolFeatures) -> str | None:
    for verb in (tool.name.verb, *tool.name.beside):
        halts = verb == "stop" or (verb == "reset" and len(tool.words) == 1)
        if verb and _is_loss(verb, tool.about if halts else tool.words):
            return verb
    return None


def _find_loss_in_text(tool: ToolFeatures) -> str | None:
    """Return a losing verb of the description that counts for this name."""
    return next((verb for verb in tool.text.verbs if _counts(tool, verb) and _is_loss(verb, tool.around)), None)


def _counts(tool: ToolFeatures, verb: str) -> bool:
    if VERBS[verb] != "destroy" or _is_excused(tool, verb):
        return False
    if verb in VERB_GROUPS["certain_losses"] or tool.kind in VAGUE or tool.kind == "destroy":
        return True
    if tool.verb in {"logout", "signout"}:
        return True
    leads = verb == tool.said and verb not in VERB_GROUPS["often_nouns"] | VERB_GROUPS["clear_or_remove"]
    return leads and tool.kind in {"change", "make"}


def _is_excused(tool: ToolFeatures, verb: str) -> bool:
    """Whether the verb of the description is harmless here."""
    if verb == "stop" and _STOPS_OWN_CAPTURE(tool):
        return True
    if verb == tool.verb and _IS_HARMLESS(tool):
        return True
    if verb == "remove" and _REMOVES_LINK(tool):
        return True
    if verb == "disable" and "enable" in tool.said_verbs:
        return True
    return verb in {"clear", "delete", "end", "remove"} and bool(_SIGNS_OUT_SELF(tool))


def _leaves_collection(tool: ToolFeatures) -> bool:
    """Items leave a collection but stay, as in `remove_devices_from_group`. People do not count: they lose access."""
    words = tool.name.words
    place = words.index("from") if "from" in words else len(words)
    taken, left = frozenset(words[:place]), frozenset(words[place + 1 :])
    if not left and "from" in tool.opening and words[-1] in {"from", "remove"}:  # `playlist_remove_from`
        left = taken & {"favorites", "favourites", "playlist", "watchlist", "wishlist"}
    planned = left & {"project", "section"} and taken & {"issue", "issues", "task", "tasks"}
    stays = planned and "scheduled" not in taken and "delet" not in tool.lower
    return bool(left & NOUNS["collection"] or stays) and taken.isdisjoint(NOUNS["person"] | {"all", "everything"})


def _list_losing_choices(tool: ToolFeatures) -> str:
    """Return the operations that lose something, of those that a parameter offers."""
    lost = {verb for verb in tool.offers if VERBS[verb] == "destroy"} - VERB_GROUPS["mild_losses"]
    if "enable" in tool.offers:
        lost -= {"disable"}
    chosen = [*sorted(lost), *sorted(tool.offers & VERB_GROUPS["losing_choices"])]
    spared = VERB_GROUPS["clear_or_remove"] if tool.words & NOUNS["trivial"] else frozenset()
    if tool.name.words[-2:] == ("control", "playback"):
        spared |= {"stop"}
    return ", ".join([verb for verb in chosen if verb not in spared][:3])


# Stopping a capture that the caller started can be repeated.
_STOPS_OWN_CAPTURE: Final = starts(
    r"stops? (?:capturing|listening|recording|tracing|watching)\b(?! instance)"
    r"(?!.*\b(?:and|clear|delet|disconnect|discard|drop|kill|los[es]|lost|shut|terminat|wip))"
)
# A destructive verb only removes an assignment or a staged change.
_IS_HARMLESS: Final = when(_leaves_collection, verb="remove")
# Only a link is removed: `Remove the link of a feature`.
_REMOVES_LINK: Final = when(lambda tool: "delet" not in tool.description, verb="unlink", object="link links")
# The caller signs out and only its own session data is removed.
_SIGNS_OUT_SELF: Final = when(
    verb="logout signout",
    opening="auth authentication cookie cookies credential credentials session token tokens",
    no_opening="all data every everyone history sessions user users",
)

BY_NAME: Final = unless(
    _IS_HARMLESS,
    rule(
        "the name says '{verb}', and the description says that something ends",
        when(
            mentions(
                r"(?<!not )(?<!without )(?<!be )\b(?:abort|cancel|delet|remov|revok|terminat)(?:e?d|es|l?ing|l?ed)\b"
                r"|\b(?:are|is) (?:shut down|stopped)\b|\bpowered off\b|\bcan no longer\b|\breleased\b|\(deletes?\)",
                within=300,
            ),
            verb="archive detach disable unbind",
        ),
    ),
    rule("the name says '{found}', which loses data, access or running work", _find_loss_in_name),
)

BY_PARAMETER: Final = table(
    unless(
        # The actions that a new rule or workflow will take later.
        when(
            traits="confirmed",
            verb="add create",
            words="adjustment automation creative policy quota rule rules trigger workflow",
            no_offers="add create get list update",
        ),
        rule("a parameter offers these operations: {found}", when(_list_losing_choices, traits="choices")),
        rule(
            "one of its modes replaces what was there",
            when(when(offers="add append merge prepend"), params="mode", offers="overwrite replace rewrite"),
        ),
    ),
)

BY_DESCRIPTION: Final = table(
    rule("the description says '{found}', which loses data, access or running work", _find_loss_in_text),
    rule(
        "the description offers to delete, remove or stop something",
        when(kind="manage none noun", no_words="@trivial", says="deletes"),
    ),
    rule(
        "the description warns that the effect cannot be undone",
        when(no_kind="add make send share spend", says="cannot_be_undone"),
    ),
)

LOSSES: Final = table(BY_NAME, BY_PARAMETER, BY_DESCRIPTION, LOSSES_BY_CONTEXT)

OVERWRITES: Final = table(
    rule("'{verb}' changes what was there", when(kind="change manage drive session destroy", no_verb="@starting_anew")),
    rule("it may overwrite what was there", when(flags="overwrite file"), when(says="overwrites")),
    rule(
        "the description says '{said}', which changes what was there",
        when(kind="none noun look run", said_kinds="change session"),
    ),
    rule(
        "a parameter offers to change what was there",
        lambda tool: any(choice.kind == "change" for choice in tool.parameters.choices),
    ),
)


class Damage(NamedTuple):
    """What a call may destroy, execute or replace, each with its reason."""

    destroys: str | None = None
    executes: str | None = None
    replaces: str | None = None

    @property
    def destructive(self) -> bool:
        return bool(self.destroys or self.executes)


NO_DAMAGE: Final = Damage()


def find_damage(tool: ToolFeatures) -> Damage:
    """Find the damage of a tool that acts; do not call it for read-only tools."""
    return Damage(LOSSES.reason(tool), EXECUTION.reason(tool), OVERWRITES.reason(tool))
