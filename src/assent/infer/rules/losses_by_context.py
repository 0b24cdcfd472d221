"""Rules for losses that depend on nearby words, parameters or warnings."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.features.words import word_set
from assent.infer.lexicon import INPUTS, LOSING, NOUNS, VAGUE, VERB_GROUPS, VERBS
from assent.infer.rules.condition import any_of, mentions, no, starts, when
from assent.infer.rules.screen_input import PRESSES
from assent.infer.rules.table import rule, table, unless

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


_SIGNS_OUT: Final = any_of(when(when(words="off out"), words="log sign"), when(verb="logout signout"))

INTERRUPTS: Final = table(
    rule(
        "it shuts down or writes off something",
        when(all_words="down", words="bring burn shut spin take tear wind"),
        when(all_words="power", words="off cycle down"),
        when(all_words="write off"),
    ),
    rule("'{found}' interrupts what runs", _find_interruption),
    rule("others are signed out", when(_SIGNS_OUT, words="@everyone")),
    rule("nothing runs any more when it is scaled to zero", when(no(_SIGNS_OUT), verb="scale", words="zero")),
    rule("it can choose a state in which nothing runs", when(no(_SIGNS_OUT), words="state", about="power running")),
)

RESTORES: Final = table(
    rule(
        "a restored copy replaces what is there now",
        when(
            any_of(when(verb="restore"), when(verb="deploy", said_verbs="restore")),
            any_of(
                when(words="backup checkpoint cluster collection database db revision snapshot table version volume"),
                when(starts(r"restores? [^.]*\b(?:backup|snapshot)\b"), traits="confirmed"),
            ),
            no(_keeps_old_version),
        ),
    ),
    rule("a change of version is hard to take back", when(verb="upgrade downgrade", words="version")),
    rule("the last change is lost", when(verb="undo")),
)


APPLIES_PLAN: Final = table(
    rule(
        "what is missing on one side is deleted on the other", when(verb="sync synchronize synchronise", says="deletes")
    ),
    rule(
        "a plan that is applied may destroy what it no longer names",
        when(verb="apply", about="terraform pulumi"),
        when(words="up", about="terraform pulumi"),
    ),
    rule(
        "a change of the schema may lose data",
        when(
            verb="@applying",
            about="ddl migration migrations",
            around="database db ddl postgres schema sql supabase table tables",
        ),
    ),
)

_TRADE: Final = (
    "asset futures market order orders qty quantity sell sells size symbol ticket trade trades trading volume"
)
_CLOSES_FOR_GOOD: Final = any_of(
    when(words="all", around="browser browsers documents orders sessions tabs terminals trades windows"),
    when(all_words="all positions"),
    when(words="position positions", around=_TRADE),
    when(words="position positions", params=_TRADE),
)

LOSES_OBJECT: Final = table(
    rule("{found} loses it or what it contains", _find_lost_object),
    rule("what is closed cannot be opened again as it was", when(_CLOSES_FOR_GOOD, deed="close")),
    rule("a signal may end the process", when(all_about="process signal", said_kind="send")),
    rule("what is moved there is thrown away", when(deed="@moving", words="bin trash recycle junk")),
)

REPLACES: Final = table(
    rule("it removes the old one before it makes a new one", when(verb="recreate", says="deletes")),
    rule(
        "everything that was there is replaced",
        when(verb="replace", words="all", no_words="text"),
        when(verb="update", words="full"),
    ),
    rule(
        "the description says that what was there is replaced",
        when(verb=VERB_GROUPS["writing"] - {"replace"}, says="replaces"),
        when(verb="save", all_opening="back file"),
    ),
    rule(
        "the old key, link or token stops working", when(verb="generate", words="@access_token secret", says="replaces")
    ),
    rule("what it replaces is lost unless a backup is requested", when(verb="@writing", flags="backup")),
    rule(
        "the description says that what was there is discarded",
        when(verb="@writing", says="discards"),
        when(verb="@editing", no_words="@trivial", opens="discards"),
        when(kind="none noun manage", no_words="@trivial", opens="discards"),
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
    rule("a forced '{verb}' replaces what is there without asking", when(verb="@forceable", words="force")),
    rule("'{verb}' can be forced over what is there", when(verb="@forcing", flags="force")),
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
    rule("a parameter can cancel it", when(kind=_CHANGING, flags="may_cancel", words="@booking")),
)

WARNINGS: Final = table(
    # Closing a page or tab loses nothing.
    rule("what runs in it is ended", when(verb="@closing", no_about="browser page tab tabs", says="ends_running_work")),
    rule("the description says that something is lost", when(kind=f"{_CHANGING} add look read", opens="loses")),
    rule("the description warns that running work is interrupted", when(kind=_CHANGING, says="interrupts")),
)

_STARTS: Final = any_of(when(kind="run"), when(kind="none noun", said_kind="run"))

RUNS_LOSS: Final = table(
    rule("it starts an attack", when(no(_STARTS), verb="@starting_anew", words="@attack")),
    rule("it runs '{found}'", when(_STARTS, _find_destructive_run)),
    rule("a remedy changes what it finds", when(_STARTS, about="remediation remediations remedial")),
    rule("it runs something that the description warns of", when(_STARTS, says="warns")),
)

LOSSES_BY_CONTEXT: Final = unless(
    # It is about protection against deletion.
    when(mentions(r"\bdelet(?:e|ion)[- ](?:and \w+ )?protection\b", within=120), words="protection"),
    INTERRUPTS,
    RESTORES,
    APPLIES_PLAN,
    LOSES_OBJECT,
    REPLACES,
    SWITCHES,
    WARNINGS,
    PRESSES,
    RUNS_LOSS,
)
