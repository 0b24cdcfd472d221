"""Rules for losses that depend on nearby words, parameters or warnings."""

from typing import Final

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import INPUTS, LOSING, NOUNS, OTHER_CLASS, VAGUE, VERB_GROUPS, VERBS
from assent.contract.infer.rules.condition import any_of, mentions, no, when
from assent.contract.infer.rules.table import rule, table, unless

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
