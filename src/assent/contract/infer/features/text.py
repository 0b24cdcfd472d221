"""Reads from a description what the tool does."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain, pairwise
from typing import Final, NamedTuple

from assent.contract.infer.features.phrases import Statements
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import (
    ACTING,
    COMPOUNDS,
    CONJUNCTION,
    DETERMINER,
    FILLER,
    NOUN_FIRST,
    NOUN_TOO,
    NOUNS,
    PREPOSITION,
    READING,
    VERBS,
    find_verb,
)

_HEAD: Final = 700
_SECTION = re.compile(
    r"\n[ \t]*(?:#+[ \t]*)?\**(?:Args|Arguments|Parameters|Params|Returns?|Inputs?|Examples?|Usage)\**\s*:",
    re.IGNORECASE,
)
# Each pattern starts with a character class and checks it by lookbehind, so that the search skips other text quickly.
_NOISE = re.compile(
    r"[*_`\"'“”>#\[<(](?:(?<=[*_`\"'“”>#])|(?<=\[)[^\]]{0,40}\]-?|(?<=<)[^>]{0,40}>|(?<=\()[^)]{0,160}\))"
)
# References to other tools and settings are not actions: `See create_chart`, `exclude_mine=true`.
_REFERENCE = re.compile(r"[UuSs](?<!\w.)(?:(?<=[Uu])se|(?<=[Ss])e[et]) [a-z]+(?:_[a-z]+)+")
_SETTING = re.compile(r"\b[a-z]+_[a-z_]+(?= ?=)")
# A short exclamation between two identical symbols.
_BANNER = re.compile(r"\A\s*([^\w\s*#`'\"<>()\[\]/-])\ufe0f?[^.\n]{1,60}?\1\ufe0f?\s*")
_BREAK = re.compile(
    r"[.!?:;\n–—-](?:(?<=[\w)][.!?])(?:\s+|$)|(?<=[:;])\s+|(?<=\n)(?:\s*\n|\s*[-•]\s+|(?=[A-Z]))"
    r"|(?<=\s[-–—])[-–—]*\s|(?<=-)(?=[A-Z][a-z]+ ))"
)
_WORD = re.compile(r"[a-z][a-z-]*|,|/")
_HTTP = re.compile(r"\b(?:[Mm]ake|[Pp]erform|[Ss]end|[Ii]ssue)s? an? (?:HTTPS? )?(GET|POST|PUT|PATCH|DELETE) request")
# `POST /api/search — Searches …`: the method says how to call it, not what it does.
_ROUTE = re.compile(r"\A\s*(GET )?(?:POST )?(PUT |PATCH )?/(?:\S*[/-])?([a-z]*)\S*(?:\s+[-–—:])?\s*")
# `Uses a model to summarize orders`: skip the means, which comes first.
_MEANS = re.compile(r"\A\s*Uses? (?:(?!this\b|it\b|when|want|need|you\b)[\w.-]+ ){1,6}?to (?=[a-z])")
_ORDER = re.compile(r"\W*([A-Z][a-z]+(?:-[a-z]+)?) (?:a|an|the|all|one|your|each|multiple|existing|every|this)\b")
_PURPOSE = re.compile(
    r"(?<!so )\b(?:used|use|tool|function|endpoint|wrapper|you|users?|ability|allows?|enables?|command|builder)"
    r" (?:can |be used |that |which |will )?(?:to |for |can )?([a-z]+(?:ing|s)?)\b",
    re.IGNORECASE,
)
_OCCASION = frozenset({"when", "whenever", "if"})
# Subjects of a sentence such as `the command runs`.
_SUBJECT = frozenset({"command", "function", "script"})
_PARTICLES = word_set("up out off down back to all away")


class TextFeatures(NamedTuple):
    """What a description says: first verbs with their object, opening words and explicit statements.

    `late`: the first sentence has no known verb, so the verb found later may not be the action of the tool.
    """

    verbs: tuple[str, ...]
    kind: str
    kinds: frozenset[str]
    object: frozenset[str]
    opening: frozenset[str]
    statements: Statements
    topic: str | None
    late: bool
    unknown: str | None


def read_text(text: str) -> TextFeatures:
    """Read a description: its opening names the action, and all of it is searched for statements."""
    head = _BANNER.sub("", _SECTION.split(text[: 2 * _HEAD], maxsplit=1)[0][:_HEAD])
    head = _NOISE.sub(" ", _without_identifiers(head) if "_" in head else head)
    if " request" in head:
        head = _HTTP.sub(r"\1", head)
    route = _ROUTE.match(head)
    head = "" if _is_foreign(head) else _MEANS.sub("", _ROUTE.sub(_verb_of_route, head))
    sentences = [words for part in _BREAK.split(head, maxsplit=8)[:9] if (words := _WORD.findall(part.lower()))]
    opening = frozenset(chain.from_iterable(words[:16] for words in sentences[:2]))
    verbs, done_to, late = _find_action(sentences)
    if not verbs:
        verbs, done_to = tuple(_find_purpose(head)), opening - _SUBJECT
    return TextFeatures(
        verbs=verbs,
        kind=VERBS[verbs[0]] if verbs else "none",
        kinds=frozenset(VERBS[verb] for verb in verbs),
        object=done_to or opening,
        opening=opening,
        statements=Statements(text),
        topic=None if verbs or (route and not route.group(1)) else _find_topic(sentences),
        late=bool(verbs) and late,
        unknown=_unknown_order(head) or (_write_method(route) if route and not verbs else None),
    )


def _without_identifiers(head: str) -> str:
    head = _REFERENCE.sub(lambda found: f"{found.group()[:3]} it", head)
    return _SETTING.sub(" it", head) if "=" in head else head


def _write_method(route: re.Match[str]) -> str | None:
    """Return the method of a route that writes, if nothing else describes it."""
    return route.group(2) and route.group(2).strip().lower()


def _verb_of_route(route: re.Match[str]) -> str:
    """Return the verb that a route stands for: GET, or a destructive last part."""
    last = route.group(3)
    return f"{last} " if VERBS.get(last) == "destroy" else route.group(1) or ""


def _is_foreign(head: str) -> bool:
    """Whether the text is mostly in another script, so that its English words are names."""
    return not head.isascii() and 2 * (len(head.encode(errors="ignore")) - len(head)) > len(head)


def _find_action(sentences: list[list[str]]) -> tuple[tuple[str, ...], frozenset[str], bool]:
    """Return the tool's verbs, their object, and whether the first sentence has no verb; `when to use` comes last."""
    occasion: tuple[str, ...] = ()
    late = False
    for number, words in enumerate(sentences[:4]):
        position = find_lead(words)
        late = late or (number == 0 and position is None)
        if position is None or _points_elsewhere(words):
            continue
        verbs = (verb_at(words, position), *find_joined(words, position))
        if _OCCASION.isdisjoint(words[:position]):
            return verbs, frozenset(list_things(words, position)), late
        occasion = occasion or verbs
    return occasion, frozenset(), late


def _points_elsewhere(words: list[str]) -> bool:
    """Whether the sentence names another tool: `Use queues instead`."""
    return words[0] in {"use", "prefer", "call", "see"} and "instead" in words


def _find_topic(sentences: list[list[str]]) -> str | None:
    """Return the topic of a noun phrase: `Usage of the past month`, but not `Top up the balance`."""
    words = sentences[0][:7] if sentences else []
    if len(words) > 2 and words[0] in NOUNS["listing_adjective"] and not any(map(_is_verbal, words[1:])):
        return words[0]
    for position, word in enumerate(words):
        if word in PREPOSITION or word in OF or word in _PARTICLES or (position and word in DETERMINER):
            return None
        if word in NOUNS["information"]:
            following = word_after(words, position)
            return word if following == "" or following in OF or following in PREPOSITION or following == "," else None
    return None


def _is_verbal(word: str) -> bool:
    """Whether the word makes it more than a title: `Latest backup is put back`, `Recent history wiped`."""
    return word in BEING or word in _PARTICLES or word.endswith("ed")


def _unknown_order(head: str) -> str | None:
    """Return a first word that looks like a command but is not in the lexicon: `Sequester the host`."""
    match = _ORDER.match(head)
    word = match.group(1).lower() if match else ""
    known = not word or word in FILLER or word in VERBS or find_verb(word) is not None
    return None if known else word


def _find_purpose(head: str) -> Iterator[str]:
    """Yield the verb after `used to`, `tool for` or `you can` if no sentence starts with a verb."""
    for match in _PURPOSE.finditer(head):
        verb = find_verb(match.group(1).lower())
        if verb is not None and verb != "take":
            yield verb
            return


# Examples of what was named follow.
_INSTANCES = frozenset({"excluding", "including"})
# The following words qualify what is read.
_ASIDE = frozenset({"needed", "such"})
_NOT_ADVERBS = frozenset({"apply", "reply", "supply", "multiply", "fly"})
_BETWEEN = frozenset({"then", "also", "or", "and"})
_LINKS = CONJUNCTION | {",", "/"}
_SIGHT = frozenset({"screenshot", "snapshot", "screenshots", "image", "picture"})
_OBJECT = DETERMINER | {"all", "any", "it", "them", "this", "that", "these", "those", "new", "one", "existing", "every"}
# After a conjunction these are usually adjectives.
_ADJECTIVES = frozenset({"complete", "correct", "secure", "separate"})
_AFTER_NOUN = frozenset({"", ",", "/", "and", "of", "or", "per", "since"})
# After a conjunction these are listed quantities: `CPU usage and restart count`.
_MEASURES = word_set(
    """
    availability count counter counts date dates history options policies policy rate rates settings state
    status time times
    """
)
# Before a noun these are usually verbs.
_OUTRIGHT = frozenset({"save", "store", "update"})
_KEEPING = frozenset({"save", "store"})
_COUNTED = word_set("conversions ctr impressions opens position views")
_PROMPT = frozenset({"prompt", "prompts", "query", "question", "questions"})
_CLAUSE = word_set("are as for found is that to when where which with")
BEING = word_set("are becomes gets goes is was were")
_BEFORE_GERUND = word_set("for by allows enables supports with tool allow allowing")
_WEAK = word_set("format sort group page use handle process")
_COMPOUND = word_set("management tracking details status list information records history tool path id")
# Before one of these the word is not a verb: `Type: one of`, `Leave empty for all`.
_NO_DEED = {
    "input": frozenset({"", "schema"}),
    "step": frozenset({""}),
    "leave": frozenset({"blank", "empty", "out", "unset"}),
    "type": frozenset({"", "definitions", "errors", "information", "of"}),
}
OF = word_set("for of in from about on")
_AFTER_CALL = word_set("this it when to before after the only first")
_AFTER_ENABLE = frozenset({"you", "users", "agents", "to"})
_CAPTURED = frozenset({"content", "contents", "output", "text"})
# Verbs that mean something else before certain words: the words, how far they may be, and the meaning.
_MEANS_BEFORE: Mapping[str, tuple[tuple[frozenset[str], int, str], ...]] = {
    # `Report what is there` reads; `Report a bug` does not.
    "report": (
        (word_set("of what whether how which on current if"), 1, "tell"),
        (word_set("health metrics progress state statistics status usage version"), 3, "tell"),
    ),
    "request": ((word_set("data information"), 1, "fetch"),),
    "map": ((NOUNS["site"], 5, "explore"),),
    "page": ((word_set("through over"), 1, "browse"),),
    # Formatting given text returns it in another form.
    "format": ((word_set("json queries query sql"), 4, "tell"),),
    "roll": ((word_set("dice die"), 3, "compute"),),
    "pick": ((word_set("random"), 2, "get"),),
    "simulate": (
        (word_set("click drag drag-and-drop keyevent keypress swipe tap touch"), 7, "press"),
        (word_set("location movement"), 3, "set"),
    ),
    "block": ((word_set("for until"), 1, "wait"),),
}


def find_lead(words: list[str]) -> int | None:
    """Return the position of a sentence's leading verb after filler words, or None."""
    position, end = 0, min(len(words), 12)
    while position < end and _is_filler(words, position):
        position += 1
    if position >= len(words):
        return None
    word, before = words[position], words[position - 1] if position else ""
    verb = find_verb(word)
    if verb is None or before in DETERMINER or _is_thing(words, position, verb):
        return None
    if verb == "take" and verb_at(words, position) == "take":
        return None
    if position == 1 and before in {"what", "which"} and verb in NOUN_TOO:  # `Which page the browser is on`
        return None
    if verb == "act" and word_after(words, position) == "as":
        return None
    if word == "clicks" and _is_counted(words, position):
        return None
    if word == "call" and before in {"one", "single"}:
        return None
    if verb in _NO_DEED and word_after(words, position) in _NO_DEED[verb]:
        return None
    gerund = word != verb and word.endswith("ing")
    return None if gerund and before not in _BEFORE_GERUND else position


def _is_filler(words: list[str], position: int) -> bool:
    word = words[position]
    if word in FILLER or word == ",":
        return True
    if word in {"enable", "help"}:
        return word_after(words, position) in _AFTER_ENABLE
    if word == "start" or word == "here":
        return "here" in words[position : position + 2]
    if word in {"call", "calls", "invoke"}:
        return word_after(words, position) in _AFTER_CALL
    return word.endswith("ly") and word not in _NOT_ADVERBS


def _is_thing(words: list[str], position: int, verb: str) -> bool:
    """Whether the word is a noun, as in `Replies for a message`, `Orders placed`, `Message management`."""
    following = word_after(words, position)
    if words[position] in COMPOUNDS and following in COMPOUNDS[words[position]]:
        return True
    if verb not in NOUN_TOO or VERBS[verb] in READING:
        return False
    plural = words[position] != verb and (following in OF or following in {"that", "which"} or following.endswith("ed"))
    return plural or following in _COMPOUND or following in BEING or (verb in NOUN_FIRST and following == "of")


def _is_counted(words: list[str], position: int) -> bool:
    """Whether the words are counted quantities: `Clicks/impressions per day`, not `Clicks, drags or scrolls`."""
    return words[position + 1 : position + 2] in ([","], ["/"]) and word_after(words, position + 1) in _COUNTED


def word_after(words: list[str], position: int) -> str:
    return words[position + 1] if position + 1 < len(words) else ""


def verb_at(words: list[str], position: int) -> str:
    """Return the verb at a position, changed by the words that follow it."""
    verb = find_verb(words[position]) or ""
    if verb == "capture" and word_after(words, position) in _CAPTURED:
        return "see"
    if verb in {"take", "capture"} and not _SIGHT.isdisjoint(words[position + 1 : position + 8]):
        return "save" if _keeps_copy(words[position + 1 : position + 12]) else "see"
    if verb == "stream" and _goes_out(words[position + 1 : position + 8]):
        return "send"
    if verb == "format" and not {"file", "files", "place", "workspace"}.isdisjoint(words):
        return verb
    for following, reach, meaning in _MEANS_BEFORE.get(verb, ()):
        if not following.isdisjoint(words[position + 1 : position + 1 + reach]):
            return meaning
    return verb


def _goes_out(words: list[str]) -> bool:
    """Whether the words name a target: `to a table`, but not `up to 500`."""
    return any(word in {"to", "into", "onto"} and before != "up" for before, word in pairwise(["", *words]))


def _keeps_copy(words: list[str]) -> bool:
    """Whether a copy is kept: a snapshot of anything except a screen."""
    if NOUNS["snapshot_kept"].intersection(words):
        return True
    whole = "snapshot" in words and "of" in words[words.index("snapshot") :]
    return whole and NOUNS["snapshot_viewed"].isdisjoint(words)


def find_joined(words: list[str], start: int) -> Iterator[str]:
    """Yield the verbs in the same form after a comma, slash or conjunction: `List, create, or close`."""
    ending = _ending(words[start])
    listing = True
    reads = VERBS[verb_at(words, start)] in READING
    if reads and _verbs_qualify_noun(words, start):
        return
    for i in range(start + 1, min(len(words) - 1, start + 24)):
        link = words[i]
        if link in _INSTANCES or (reads and link in _ASIDE):
            return
        if link not in _LINKS:
            if listing:
                linked = words[i - 1] in _LINKS or _is_adverb_between(words[i - 1])
                listing = linked and (find_verb(link) is not None or _is_adverb_between(link))
            continue
        at = i + 2 if _is_adverb_between(words[i + 1]) and i + 2 < len(words) else i + 1
        verb = verb_at(words, at) or None
        if verb == "click" and word_after(words, at) == "tracking":
            continue
        if verb is None or verb in _WEAK or _ending(words[at]) != ending or _is_answer(words, at, verb):
            continue
        certain = verb not in NOUN_TOO or link in CONJUNCTION
        sure = verb not in NOUN_TOO and link in CONJUNCTION and word_after(words, at) in PREPOSITION
        acts = verb not in _ADJECTIVES and VERBS[verb] in ACTING
        outright = verb in _OUTRIGHT and words[i - 1] != "," and word_after(words, at) not in _AFTER_NOUN
        bare = verb not in NOUN_TOO or outright
        tells = (ending == "" and bare and word_after(words, at) not in _MEASURES) or (
            ending == "s" and _continues_with_action(words, at, verb)
        )
        sure = sure or ((link == "and" or verb in _KEEPING) and acts and tells)
        if listing or sure or (certain and word_after(words, at) in _OBJECT):
            yield verb


def _is_answer(words: list[str], at: int, verb: str) -> bool:
    """Whether it answers the caller: `analyze files and respond to a prompt`."""
    return verb in {"answer", "respond"} and not _PROMPT.isdisjoint(words[at + 1 : at + 4])


def _continues_with_action(words: list[str], at: int, verb: str) -> bool:
    """Whether the joined word is an action, `and deletes merged ones`, not a quantity, `opens and unsubscribes`."""
    following = word_after(words, at)
    if following in _AFTER_NOUN or following in PREPOSITION:
        return False
    return verb not in NOUN_TOO or not (following.endswith(("ed", "ing")) or following in _CLAUSE)


def _verbs_qualify_noun(words: list[str], start: int) -> bool:
    """Whether the verbs qualify a noun: `List sync, reset and clear jobs`."""
    return find_verb(word_after(words, start)) is not None and words[start + 2 : start + 3] == [","]


def _is_adverb_between(word: str) -> bool:
    return word in _BETWEEN or (word.endswith("ly") and word not in _NOT_ADVERBS)


def list_things(words: list[str], position: int) -> Iterator[str]:
    """Yield the objects of the verb: the words up to the next preposition."""
    for word in words[position + 1 : position + 14]:
        if word in PREPOSITION:
            return
        yield word


def _ending(word: str) -> str:
    if word.endswith("ing"):
        return "ing"
    return "s" if word.endswith("s") and not word.endswith("ss") else ""
