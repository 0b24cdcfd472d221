"""Conditions of rules that are more than comparisons of features; the data files name them.

A condition that returns a text completes the reason of its rule with it.
"""

import re
from itertools import pairwise
from typing import Final

from assent.contract.infer.features.name import read_name
from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import (
    ACTING,
    CONJUNCTION,
    INPUTS,
    LOSING,
    MIXED,
    NOUN_TOO,
    NOUNS,
    OTHER_CLASS,
    READING,
    SPENDING,
    VAGUE,
    VERB_GROUPS,
    VERBS,
)
from assent.contract.infer.rules.tables import (
    starts,
    when,
)

_CLAIMS: Final = (
    *("read-only", "readonly", "select quer", "select statement", "select only", "only select", "select operation"),
    *("select sql", "read query", "read queries", "read cypher", "read sql", "dql", "query that can only read data"),
)
_WRITING: Final = ("write", "insert", "update", "delete", "modif", "mutat", "any ")
_LINES: Final = 400
_HEAD: Final = 160
_SENTENCE = re.compile(r"(?<=[.;])\s+|\n+")
# The text refuses all writes, without a condition.
_REFUSES_WRITES = re.compile(
    r"(?:any|all) (?:other |write |writing |data-modifying )+(?:operations?|quer(?:y|ies)|statements?)(?: \([^)]*\))?"
    r" (?:are|is|will be) (?:always )?(?:blocked|forbidden|prohibited|refused|rejected|not (?:allowed|permitted))\.?"
)


def claims_reading(tool: ToolFeatures) -> bool:
    """The title or first lines claim read-only, without a writing verb or a setting that changes it."""
    if not any(claim in tool.headline for claim in _CLAIMS):
        return False
    if any(word in _without_refusals(tool) for word in _WRITING):
        return False
    titled = any(claim in tool.title.lower() for claim in _CLAIMS)
    return titled or "read_only_optional" not in tool.says


def _without_refusals(tool: ToolFeatures) -> str:
    """Return the title and the first lines without the sentences that say what is refused."""
    sentences = _SENTENCE.split(tool.description[:_LINES].lower())
    told = " ".join(one for one in sentences if _REFUSES_WRITES.fullmatch(one) is None)
    return f"{tool.title}. {told[:_HEAD]}".lower()


_RUNNING: Final = VERB_GROUPS["running"]
_MANNER: Final = word_set("async batch paged raw safely stream streaming sync")


def has_short_name(tool: ToolFeatures) -> bool:
    return len(tool.name.words) <= 2


def ends_with_query(tool: ToolFeatures) -> bool:
    """The name ends with `query`, or with how it runs: `run_query_async`."""
    words = tool.name.words[:-1] if tool.last in _MANNER else tool.name.words
    return words[-1:] in {("query",), ("queries",)}


def then_runs(tool: ToolFeatures) -> bool:
    """The second verb of the description runs something."""
    return tool.text.verbs[1:2] in {("execute",), ("run",)}


def find_named_action(tool: ToolFeatures) -> str | None:
    """Return what the caller names, if a parameter has its name: `call_service`, `run_action`."""
    around = tool.about if tool.said_kind == "run" else tool.words
    if around & NOUNS["known_job"]:
        return None
    for noun in sorted(around & NOUNS["callable"]):
        ids = {noun, f"{noun}_name", f"{noun}_id", f"{noun}_path", f"{noun}_type", "approval_id", "name"}
        if tool.params & ids:
            return noun
    return None


def find_stored_program(tool: ToolFeatures) -> str | None:
    """Return the playbook, notebook or script whose content is not known; a file of rows is data."""
    held = tool.about & NOUNS["stored_program"]
    rows = tool.opening & {"csv", "spreadsheet", "tsv", "xls", "xlsx"} and (
        tool.verb == "import" or tool.said == "upload"
    )
    if not held and not rows and tool.params & NOUNS["script_path"]:
        held = tool.about & NOUNS["script_file"]
    return min(held, default=None)


def has_free_choice(tool: ToolFeatures) -> bool:
    """No parameter lists the operations."""
    return not any(choice.certain for choice in tool.parameters.choices)


def find_offered_run(tool: ToolFeatures) -> str | None:
    return min(tool.offers & _RUNNING, default=None)


def drives_by_words(tool: ToolFeatures) -> bool:
    """Words next to the verb show a press: `simulate_tap`."""
    kind, words = OTHER_CLASS.get(tool.verb, ("", tool.words))
    return kind == "drive" and not tool.words.isdisjoint(words)


def offers_change(tool: ToolFeatures) -> bool:
    return any(choice.kind == "change" for choice in tool.parameters.choices)


def is_tame(tool: ToolFeatures) -> bool:
    """Words next to the verb show that nothing is pressed: `fill_rectangle`."""
    kind, words = OTHER_CLASS.get(tool.verb, ("drive", tool.words))
    return kind != "drive" and not tool.about.isdisjoint(words)


_EMPTYING_PARAMS: Final = (INPUTS["emptying"] - {"clear"}) | {"remove"}
_CONTAINERS: Final = word_set("all data database existing history index log queue storage table")


def find_interruption(tool: ToolFeatures) -> str | None:
    said = tool.text.verbs if tool.kind in VAGUE else ()
    verbs = (verb for verb in (tool.verb, *tool.name.beside, *said) if verb in VERB_GROUPS["interrupting"])
    return next(verbs, None) if tool.about.isdisjoint(NOUNS["harmless_restart"]) else None


def find_lost_object(tool: ToolFeatures) -> str | None:
    """Return the object that this verb loses, in the name or, if the name says little, in the description."""
    done_to = tool.about if tool.verb == "transfer" else tool.words
    if tool.words.isdisjoint(NOUNS["started_by_caller"]):
        lost = done_to & LOSING.get(tool.verb, frozenset())
        if lost:
            return f"'{tool.verb}' on '{min(lost)}'"
    lost = tool.about & LOSING.get(tool.said, frozenset()) if tool.kind in VAGUE else frozenset()
    return f"'{tool.said}' on '{min(lost)}'" if lost else None


def clears_one_field(tool: ToolFeatures) -> bool:
    """Only single fields are cleared: `clear_due`; `clear_rows` empties a table and does not count."""
    clearing = [name for name in tool.params if name.partition("_")[0] == "clear"]
    others = (
        any(name.partition("_")[0] in _EMPTYING_PARAMS for name in tool.params) or tool.params & INPUTS["resetting"]
    )
    return tool.kind == "change" and bool(clearing) and all(map(_is_field, clearing)) and not others


def _is_field(name: str) -> bool:
    what = name.removeprefix("clear").removeprefix("_")
    return what in {"", "notes"} or ("_" not in what and not what.endswith("s") and what not in _CONTAINERS)


def find_destructive_run(tool: ToolFeatures) -> str | None:
    return min((word for word in tool.words if VERBS.get(word) == "destroy" or word in NOUNS["attack"]), default=None)


def keeps_old_version(tool: ToolFeatures) -> bool:
    """The restored copy becomes an additional version."""
    return "creates a new version" in tool.lower and "drop" not in tool.lower and "replac" not in tool.lower


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


def find_loss_in_name(tool: ToolFeatures) -> str | None:
    for verb in (tool.name.verb, *tool.name.beside):
        halts = verb == "stop" or (verb == "reset" and len(tool.words) == 1)
        if verb and _is_loss(verb, tool.about if halts else tool.words):
            return verb
    return None


def find_loss_in_text(tool: ToolFeatures) -> str | None:
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
    if verb == tool.verb and is_harmless(tool):
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


def list_losing_choices(tool: ToolFeatures) -> str:
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
is_harmless: Final = when(_leaves_collection, verb="remove")
# Only a link is removed: `Remove the link of a feature`.
_REMOVES_LINK: Final = when(lambda tool: "delet" not in tool.description, verb="unlink", object="link links")
# The caller signs out and only its own session data is removed.
_SIGNS_OUT_SELF: Final = when(
    verb="logout signout",
    opening="auth authentication cookie cookies credential credentials session token tokens",
    no_opening="all data every everyone history sessions user users",
)


def would_act(tool: ToolFeatures) -> bool:
    return " would " in tool.description.partition(".")[0]


def ends_with_other_verb(tool: ToolFeatures) -> bool:
    return tool.last != tool.verb


def opens_in_program(tool: ToolFeatures) -> bool:
    """The name says where it is opened: `view_in_browser`."""
    words = tool.name.words
    return len(words) > 2 and words[-2] == "in" and words[-1] in NOUNS["program_window"]


def says_press(tool: ToolFeatures) -> bool:
    return "press" in tool.lower


def frees_agent(tool: ToolFeatures) -> bool:
    """A parameter lets an agent act without asking."""
    freedom = tool.params & NOUNS["agent_freedom"]
    return bool(freedom) and (bool(tool.flags & {"task", "message"}) or freedom != {"permission_mode"})


def spends_by_words(tool: ToolFeatures) -> bool:
    """Two words of the name spend together: `book_flight`."""
    return any(tool.words & beside for spender, beside in SPENDING.items() if spender in tool.words)


_SECRET_PARTS: Final = tuple(frozenset(parts.split("+")) for parts in NOUNS["secret_parts"])
_SECRET_ENDS: Final = frozenset(parts.split("+")[1] for parts in NOUNS["secret_parts"])


def names_secret_by_parts(tool: ToolFeatures) -> bool:
    return not tool.words.isdisjoint(_SECRET_ENDS) and any(parts <= tool.words for parts in _SECRET_PARTS)


def mentions_source(tool: ToolFeatures) -> bool:
    return " source" in tool.description and "not_written" in tool.says


def find_reading_title(tool: ToolFeatures) -> str | None:
    return _title_verb(tool, READING)


def find_acting_title(tool: ToolFeatures) -> str | None:
    return _title_verb(tool, MIXED)


def _title_verb(tool: ToolFeatures, kinds: frozenset[str]) -> str | None:
    title = read_name(tool.title, tool.text.verbs)
    return title.verb if title.place in {"first", "only"} and title.kind in kinds else None


def starts_with_other_word(tool: ToolFeatures) -> bool:
    return tool.first != tool.verb


def follows_conjunction(tool: ToolFeatures) -> bool:
    return not CONJUNCTION.isdisjoint(tool.name.words)


def asks_for_plural(tool: ToolFeatures) -> bool:
    """`new_markets` asks for a list; `new_market` may create one."""
    return tool.last.endswith("s") and not tool.last.endswith("ss")


_SCREENS: Final = word_set("browser camera canvas editor page screen tab viewport window")


def list_acting_choices(tool: ToolFeatures) -> str:
    """Return the operations that act, of those that a parameter offers; for a read an uncertain one does not count."""
    guides = tool.kind == "noun" and bool(tool.words & NOUNS["guide"]) and tool.said_kinds <= READING
    doubtful = tool.kind == "read" or (guides and bool(tool.said_kinds))
    choices = tool.parameters.choices
    acting = {
        choice.verb
        for choice in choices
        if choice.kind in MIXED
        and (choice.certain or not doubtful or (guides and choice.kind == "destroy"))
        and not (choice.deep and "search" in tool.traits)
    }
    return ", ".join(sorted(acting))[:80]


def name_claims_reading(tool: ToolFeatures) -> bool:
    return "readonly" in tool.name.words or ("read", "only") in pairwise(tool.name.words)


def adds_numbers(tool: ToolFeatures) -> bool:
    return tool.name.words == ("add",) and tool.params == {"a", "b"}


def opens_nodes(tool: ToolFeatures) -> bool:
    """`open_nodes` of memory-graph servers."""
    return tool.name.words[-2:] == ("open", "nodes") and tool.params == {"names"}


def find_joined_name_verb(tool: ToolFeatures) -> str | None:
    """Return an acting verb that is joined to the verb of the name: `search_and_replace`."""
    beside = [verb for verb in tool.name.beside if VERBS[verb] in MIXED or VERBS[verb] == "make"]
    if not beside:
        return None
    words = tool.name.words
    told = any(_is_certain_action(verb) or _is_joined(words, verb) for verb in beside)
    told = told and not CONJUNCTION.isdisjoint(words)
    looks = "text_reads" in tool.traits or (tool.verb in VERB_GROUPS["fetching"] and tool.last_kind == "noun")
    return beside[0] if told or not looks else None


def _is_certain_action(verb: str) -> bool:
    return VERBS[verb] in ACTING and verb not in NOUN_TOO


def _is_joined(words: tuple[str, ...], verb: str) -> bool:
    """Whether the verb comes last, or after another verb and a conjunction: `scrape_and_save`."""
    place = words.index(verb)
    if place < 2 or words[place - 1] not in CONJUNCTION:
        return False
    return words[place - 2] in VERBS or (place == len(words) - 1 and VERBS[verb] in MIXED)


def _list_joined_text_verbs(tool: ToolFeatures) -> list[str]:
    """Return the further verbs of the description that act: `Read or replace the clipboard`."""
    checks = tool.said in {"check", "echo", "test", "validate", "verify"}
    return [verb for verb in tool.text.verbs[1:] if _acts(tool, verb) and not (checks and verb == "confirm")]


def _acts(tool: ToolFeatures, verb: str) -> bool:
    """Whether the verb changes something, or what a person sees: `Find and highlight text in a tab`."""
    shown = verb in {"focus", "highlight", "scroll", "zoom"} and not tool.opening.isdisjoint(_SCREENS)
    return VERBS[verb] in ACTING or shown


def find_joined_text_verb(tool: ToolFeatures) -> str | None:
    return next(iter(_list_joined_text_verbs(tool)), None)


def asks(tool: ToolFeatures) -> bool:
    """The name is a question: `is_connected`, `harbour_can_i_deploy`."""
    words, asking = tool.name.words, VERB_GROUPS["question_words"]
    return tool.first in asking or ("i" in words[1:-1] and words[words.index("i") - 1] in asking)
