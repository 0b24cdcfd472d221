"""Rules for losses: of data, of access, of running work, and of replaced content.

`LOSSES` lists what makes a tool destructive, besides execution. `OVERWRITES` lists what replaces existing content.
"""

from typing import Final, NamedTuple

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import INPUTS, LOSING, NOUNS, OTHER_CLASS, VAGUE, VERB_GROUPS, VERBS
from assent.contract.infer.rules.execution import EXECUTION
from assent.contract.infer.rules.tables import any_of, mentions, no, rule, starts, table, unless, when

_KEYING: Final = "send add change none run noun"
_KEYS: Final = "keys keystrokes keyboard key"


def _drives_by_words(tool: ToolFeatures) -> bool:
    """Words next to the verb show a press: `simulate_tap`."""
    kind, words = OTHER_CLASS.get(tool.verb, ("", tool.words))
    return kind == "drive" and not tool.words.isdisjoint(words)


def _is_tame(tool: ToolFeatures) -> bool:
    """Words next to the verb show that nothing is pressed: `fill_rectangle`."""
    kind, words = OTHER_CLASS.get(tool.verb, ("drive", tool.words))
    return kind != "drive" and not tool.about.isdisjoint(words)


# An alert of a monitor, which is dismissed by its number. An alert on a screen has a button.
_MONITOR_ALERT: Final = when(
    verb="dismiss",
    words="alert alerts",
    no_around="box browser device dialog emulator page phone popup screen simulator tab",
    params="alert_id alert_ids alert_number alert_uuid id ids uuid",
)

PRESSES: Final = table(
    rule(
        "an answer to a dialog may do anything",
        when(no(_MONITOR_ALERT), verb="@answering_dialogs", words="dialog dialogs alert prompt popup"),
    ),
    rule(
        "a press on a live screen may do anything",
        when(no(_is_tame), kind="drive"),
        _drives_by_words,
        when(kind="@vague", beside_kinds="drive"),
        when(no(when(said="fill", no_opening="@field form forms")), kind="@vague", said_kind="drive"),
        when(kind="@vague", opens="presses"),
        when(kind="@vague", flags="url", params="actions", no_traits="reading_choices view"),
    ),
    rule(
        "keys that go to a live screen may do anything",
        when(kind="send", verb="send", words=_KEYS, no_words="@key_kind", params="keys"),
        when(
            when(around="keyboard key keys"),
            kind=_KEYING,
            around="combination combinations combo hotkey hotkeys shortcut shortcuts",
            params="combination combo hotkey key keys modifiers shortcut",
        ),
    ),
    rule(
        "what is entered on a live screen may do anything",
        when(
            when(verb="@entering_input"),
            any_of(when(params="@pointer_input"), when(around="@live_screen")),
            no_words="camera view viewport zoom",
            around="@field coordinates",
        ),
    ),
)


_CHANGING: Final = "change manage none noun run session"
_EMPTYING_PARAMS: Final = (INPUTS["emptying"] - {"clear"}) | {"remove"}
_CONTAINERS: Final = word_set("all data database existing history index log queue storage table")


def _find_interruption(tool: ToolFeatures) -> str | None:
    said = tool.text.verbs if tool.kind in VAGUE else ()
    verbs = (verb for verb in (tool.verb, *tool.name.beside, *said) if verb in VERB_GROUPS["interrupting"])
    return next(verbs, None) if tool.about.isdisjoint(NOUNS["harmless_restart"]) else None


def _find_lost_object(tool: ToolFeatures) -> str | None:
    """Return the object that this verb loses, in the name or, if the name says little, in the description."""
    done_to = tool.about if tool.verb == "transfer" else tool.words
    if tool.words.isdisjoint(NOUNS["started_by_caller"]):
        lost = done_to & LOSING.get(tool.verb, frozenset())
        if lost:
            return f"'{tool.verb}' on '{min(lost)}'"
    lost = tool.about & LOSING.get(tool.said, frozenset()) if tool.kind in VAGUE else frozenset()
    return f"'{tool.said}' on '{min(lost)}'" if lost else None


def _clears_one_field(tool: ToolFeatures) -> bool:
    """Only single fields are cleared: `clear_due`; `clear_rows` empties a table and does not count."""
    clearing = [name for name in tool.params if name.partition("_")[0] == "clear"]
    others = (
        any(name.partition("_")[0] in _EMPTYING_PARAMS for name in tool.params) or tool.params & INPUTS["resetting"]
    )
    return tool.kind == "change" and bool(clearing) and all(map(_is_field, clearing)) and not others


def _is_field(name: str) -> bool:
    what = name.removeprefix("clear").removeprefix("_")
    return what in {"", "notes"} or ("_" not in what and not what.endswith("s") and what not in _CONTAINERS)


def _find_destructive_run(tool: ToolFeatures) -> str | None:
    return min((word for word in tool.words if VERBS.get(word) == "destroy" or word in NOUNS["attack"]), default=None)


def _keeps_old_version(tool: ToolFeatures) -> bool:
    """The restored copy becomes an additional version."""
    return "creates a new version" in tool.lower and "drop" not in tool.lower and "replac" not in tool.lower


_SIGNS_OUT: Final = when(when(words="off out"), words="log sign")

INTERRUPTS: Final = table(
    rule("'{found}' interrupts what runs", _find_interruption),
    rule("others are signed out", when(_SIGNS_OUT, words="@everyone")),
    rule("it can choose a state in which nothing runs", when(no(_SIGNS_OUT), words="state", about="power running")),
)

RESTORES: Final = table(
    rule(
        "a restored copy replaces what is there now",
        when(
            when(verb="restore"),
            when(words="backup checkpoint cluster collection database db revision snapshot table version volume"),
            no(_keeps_old_version),
        ),
    ),
    rule("a change of version is hard to take back", when(verb="upgrade downgrade", words="version")),
)


_TRADE: Final = (
    "asset futures market order orders qty quantity sell sells size symbol ticket trade trades trading volume"
)
_CLOSES_FOR_GOOD: Final = any_of(
    when(words="all", around="browser browsers documents orders sessions tabs terminals trades windows"),
    when(words="position positions", params=_TRADE),
)

LOSES_OBJECT: Final = table(
    rule("{found} loses it or what it contains", _find_lost_object),
    rule("what is closed cannot be opened again as it was", when(_CLOSES_FOR_GOOD, deed="close")),
    rule("what is moved there is thrown away", when(deed="@moving", words="bin trash recycle junk")),
)

REPLACES: Final = table(
    rule(
        "the description says that what was there is replaced",
        when(verb=VERB_GROUPS["writing"] - {"replace"}, says="replaces"),
    ),
    rule(
        "the description says that what was there is discarded",
        when(verb="@writing", says="discards"),
        when(verb="@editing", no_words="@trivial", opens="discards"),
    ),
    rule(
        "the file that it writes replaces the old one",
        when(
            when(params="@content_input"),
            verb="write overwrite",
            about="file files",
            params="@path_input",
            no_said_verbs="append",
            no_says="keeps_existing",
        ),
    ),
)

SWITCHES: Final = table(
    rule("a parameter names what is deleted", when(kind=f"{_CHANGING} add", flags="deleted_items")),
    rule("a switch ends what is found", when(kind="@vague", flags="ends_found")),
    rule(
        "a switch allows it to replace what was there",
        when(kind="add change", flags="allows_overwrite", no_words="download export save upload"),
    ),
    rule(
        "a switch empties what was there",
        when(no_kind="@vague", flags="truncating"),
        when(no(_clears_one_field), kind="add change look manage none noun read run", flags="emptying"),
    ),
    rule("a parameter can delete or end it", when(kind=_CHANGING, flags="may_delete")),
)

WARNINGS: Final = table(
    # Closing a page or tab loses nothing.
    rule("what runs in it is ended", when(verb="@closing", no_about="browser page tab tabs", says="ends_running_work")),
    rule("the description says that something is lost", when(kind=f"{_CHANGING} add look read", opens="loses")),
    rule("the description warns that running work is interrupted", when(kind=_CHANGING, says="interrupts")),
)

_STARTS: Final = when(kind="run")

RUNS_LOSS: Final = table(
    rule("it runs '{found}'", when(_STARTS, _find_destructive_run)),
    rule("a remedy changes what it finds", when(_STARTS, about="remediation remediations remedial")),
)

LOSSES_BY_CONTEXT: Final = unless(
    # It is about protection against deletion.
    when(mentions(r"\bdelet(?:e|ion)[- ](?:and \w+ )?protection\b", within=120), words="protection"),
    INTERRUPTS,
    RESTORES,
    LOSES_OBJECT,
    REPLACES,
    SWITCHES,
    WARNINGS,
    PRESSES,
    RUNS_LOSS,
)


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
_SECRET_KEYS: Final = NOUNS["secret"] | {"token", "tokens", "key", "keys"}
# Verbs that lose something only next to these words.
_NEEDED_WORDS: Final = {"disable": _ACCESS_OR_PROTECTION, "regenerate": _SECRET_KEYS, "rotate": _SECRET_KEYS}


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
