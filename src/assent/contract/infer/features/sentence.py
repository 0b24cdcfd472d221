"""Finds the leading verb of a sentence, the verbs joined to it, and their objects."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

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
