"""What does a description say the tool does?"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from assent.infer.lexicon import (
    ACTING,
    CONJUNCTION,
    DETERMINER,
    FILLER,
    NOUN_TOO,
    NOUNS,
    PREPOSITION,
    READING,
    VERBS,
    find_verb,
)
from assent.infer.statements import Statements

_HEAD: Final = 700
_SECTION = re.compile(
    r"\n\s*(?:#+\s*)?\**(?:Args|Arguments|Parameters|Params|Returns?|Inputs?|Examples?|Usage)\**\s*:",
    re.IGNORECASE,
)
# Each begins with a class of characters and looks back at which one it was: a search then skips all others at once.
_NOISE = re.compile(
    r"[*_`\"'“”>#\[<(](?:(?<=[*_`\"'“”>#])|(?<=\[)[^\]]{0,40}\]-?|(?<=<)[^>]{0,40}>|(?<=\()[^)]{0,160}\))"
)
_BREAK = re.compile(
    r"[.!?:;\n–—-](?:(?<=[\w)][.!?])(?:\s+|$)|(?<=[:;])\s+|(?<=\n)(?:\s*\n|\s*[-•]\s+|(?=[A-Z]))"
    r"|(?<=\s[-–—])[-–—]*\s|(?<=-)(?=[A-Z][a-z]+ ))"
)
_WORD = re.compile(r"[a-z][a-z-]*|,|/")
_HTTP = re.compile(r"\b(?:[Mm]ake|[Pp]erform|[Ss]end|[Ii]ssue)s? an? (?:HTTPS? )?(GET|POST|PUT|PATCH|DELETE) request")
# `POST /api/search — Searches …` says how it is asked for, not what is done.
_ROUTE = re.compile(r"\A\s*(GET )?(?:POST |PUT |PATCH )?/\S*(?:\s+[-–—:])?\s*")
_ORDER = re.compile(r"\W*([A-Z][a-z]+(?:-[a-z]+)?) (?:a|an|the|all|one|your|each|multiple|existing|every|this)\b")
_PURPOSE = re.compile(
    r"\b(?:used|use|tool|function|endpoint|wrapper|you|users?|ability|allows?|enables?|command|builder)"
    r" (?:can |be used |that |which |will )?(?:to |for |can )?([a-z]+(?:ing|s)?)\b",
    re.IGNORECASE,
)
# What follows are cases of what was said before.
_INSTANCES = frozenset({"excluding", "including"})
_NOT_ADVERBS = frozenset({"apply", "reply", "supply", "multiply", "fly"})
_BETWEEN = frozenset({"then", "also", "or", "and"})
_SIGHT = frozenset({"screenshot", "snapshot", "screenshots", "image", "picture"})
_OBJECT = DETERMINER | {
    "all",
    "any",
    "it",
    "them",
    "this",
    "that",
    "these",
    "those",
    "new",
    "one",
    "existing",
    "every",
}
# `Report what is there` tells; `Report a bug` does not.
_TOLD = frozenset({"of", "what", "whether", "how", "which", "on", "current", "if"})
_REPORTED = frozenset({"health", "metrics", "progress", "state", "statistics", "status", "usage", "version"})
# After a conjunction they rather say how something is.
_ADJECTIVES = frozenset({"complete", "correct", "secure", "separate"})
_BEFORE_GERUND = frozenset({"for", "by", "allows", "enables", "supports", "with", "tool", "allow", "allowing"})
_WEAK = frozenset({"format", "sort", "group", "page", "use", "handle", "process"})
_OCCASION = frozenset({"when", "whenever", "if"})
_COMPOUND = frozenset(
    {"management", "tracking", "details", "status", "list", "information", "records", "history", "tool", "path", "id"}
)
_OF = frozenset({"for", "of", "in", "from", "about", "on"})
# What a sentence that says what `the command runs` is about, not what is run.
_SUBJECT = frozenset({"command", "function", "script"})
_PARTICLES = frozenset({"up", "out", "off", "down", "back", "to", "all", "away"})
_AFTER_CALL = frozenset({"this", "it", "when", "to", "before", "after", "the", "only", "first"})
_AFTER_ENABLE = frozenset({"you", "users", "agents", "to"})


class Prose(NamedTuple):
    """What the first sentence with a verb does and to what, how the text opens, and what it says outright.

    `late`: the first sentence has no verb that is known, so that what a later one says may not be the deed.
    """

    verbs: tuple[str, ...]
    kind: str
    kinds: frozenset[str]
    object: frozenset[str]
    opening: frozenset[str]
    statements: Statements
    topic: str | None
    nominal: bool
    late: bool
    unknown: str | None


def read_prose(text: str) -> Prose:
    """Read a description: its opening names the deed, all of it may warn."""
    head = _NOISE.sub(" ", _SECTION.split(text[: 2 * _HEAD], maxsplit=1)[0][:_HEAD])
    if " request" in head:
        head = _HTTP.sub(r"\1", head)
    head = "" if _is_foreign(head) else _ROUTE.sub(r"\1", head)
    sentences = [words for part in _BREAK.split(head, maxsplit=8)[:9] if (words := _WORD.findall(part.lower()))]
    opening = frozenset().union(*[words[:16] for words in sentences[:2]])
    verbs, things = _deed(sentences)
    if not verbs:
        verbs, things = tuple(_purpose(head)), opening - _SUBJECT
    return Prose(
        verbs=verbs,
        kind=VERBS[verbs[0]] if verbs else "none",
        kinds=frozenset(VERBS[verb] for verb in verbs),
        object=things or opening,
        opening=opening,
        statements=Statements(text),
        topic=None if verbs else _topic(sentences),
        nominal=not verbs and bool(sentences) and sentences[0][0] in DETERMINER,
        late=bool(verbs and sentences) and _lead(sentences[0]) is None,
        unknown=_unknown_order(head),
    )


def _is_foreign(head: str) -> bool:
    """Whether it is written in another script, whose letters take more bytes: the words of ours in it are names."""
    return not head.isascii() and 2 * (len(head.encode(errors="ignore")) - len(head)) > len(head)


def _deed(sentences: list[list[str]]) -> tuple[tuple[str, ...], frozenset[str]]:
    """What the tool does and to what; when to use it says so only if nothing else does."""
    occasion: tuple[str, ...] = ()
    for words in sentences[:4]:
        position = _lead(words)
        if position is None or _points_elsewhere(words):
            continue
        verbs = (_verb_at(words, position), *_joined(words, position))
        if _OCCASION.isdisjoint(words[:position]):
            return verbs, frozenset(_things(words, position))
        occasion = occasion or verbs
    return occasion, frozenset()


def _points_elsewhere(words: list[str]) -> bool:
    """`Use queues instead` names another tool."""
    return words[0] in {"use", "prefer", "call", "see"} and "instead" in words


def _lead(words: list[str]) -> int | None:
    """Where the verb of a sentence stands that begins with one after its filler."""
    position, end = 0, min(len(words), 12)
    while position < end and _is_filler(words, position):
        position += 1
    if position >= len(words):
        return None
    word, before = words[position], words[position - 1] if position else ""
    verb = find_verb(word)
    if verb is None or before in DETERMINER or _is_thing(words, position, verb):
        return None
    if verb == "take" and _verb_at(words, position) == "take":
        return None
    if verb == "act" and _after(words, position) == "as":
        return None
    gerund = word != verb and word.endswith("ing")
    return None if gerund and before not in _BEFORE_GERUND else position


def _is_filler(words: list[str], position: int) -> bool:
    word = words[position]
    if word in FILLER or word == ",":
        return True
    if word in {"enable", "help"}:
        return _after(words, position) in _AFTER_ENABLE
    if word == "start" or word == "here":
        return "here" in words[position : position + 2]
    if word in {"call", "calls", "invoke"}:
        return _after(words, position) in _AFTER_CALL
    return word.endswith("ly") and word not in _NOT_ADVERBS


def _is_thing(words: list[str], position: int, verb: str) -> bool:
    """`Replies for a message`, `Orders placed` and `Message management` are things, `Searches for one` is not."""
    if verb not in NOUN_TOO or VERBS[verb] in READING:
        return False
    following = _after(words, position)
    plural = words[position] != verb and (following in _OF or following.endswith("ed"))
    return plural or following in _COMPOUND


def _after(words: list[str], position: int) -> str:
    return words[position + 1] if position + 1 < len(words) else ""


def _verb_at(words: list[str], position: int) -> str:
    verb = find_verb(words[position]) or ""
    if verb in {"take", "capture"} and not _SIGHT.isdisjoint(words[position + 1 : position + 8]):
        return "save" if _keeps(words[position + 1 : position + 12]) else "see"
    if verb == "report" and (
        _after(words, position) in _TOLD or _REPORTED.intersection(words[position + 1 : position + 4])
    ):
        return "tell"
    if verb == "request" and _after(words, position) in {"data", "information"}:
        return "fetch"
    if verb == "stream" and not {"to", "into", "onto"}.isdisjoint(words[position + 1 : position + 8]):
        return "send"
    if verb == "map" and not NOUNS["site"].isdisjoint(words[position + 1 : position + 6]):
        return "explore"
    if verb == "page" and _after(words, position) in {"through", "over"}:
        return "browse"
    return verb


def _keeps(words: list[str]) -> bool:
    """Whether what is taken is a copy that stays: a snapshot of anything but what is seen on a screen."""
    if NOUNS["stored"].intersection(words):
        return True
    whole = "snapshot" in words and "of" in words[words.index("snapshot") :]
    return whole and NOUNS["seen"].isdisjoint(words)


def _joined(words: list[str], start: int) -> Iterator[str]:
    """Verbs in the same form after a comma, a slash or a conjunction: `List, create, or close`."""
    ending = _ending(words[start])
    listing = True
    if VERBS[_verb_at(words, start)] in READING and _is_qualified(words, start):
        return
    for i in range(start + 1, min(len(words) - 1, start + 24)):
        link = words[i]
        if link in _INSTANCES:
            return
        if link not in CONJUNCTION and link not in ",/":
            linked = words[i - 1] in CONJUNCTION or words[i - 1] in ",/" or _is_between(words[i - 1])
            listing = listing and linked and (find_verb(link) is not None or _is_between(link))
            continue
        place = i + 2 if _is_between(words[i + 1]) and i + 2 < len(words) else i + 1
        verb = find_verb(words[place])
        if verb is None or verb in _WEAK or _ending(words[place]) != ending:
            continue
        certain = verb not in NOUN_TOO or link in CONJUNCTION
        sure = verb not in NOUN_TOO and link in CONJUNCTION and _after(words, place) in PREPOSITION
        acts = verb not in NOUN_TOO and verb not in _ADJECTIVES and VERBS[verb] in ACTING
        sure = sure or (link == "and" and acts and ending == "")
        if listing or sure or (certain and _after(words, place) in _OBJECT):
            yield verb


def _is_qualified(words: list[str], start: int) -> bool:
    """`List sync, reset and clear jobs`: the deeds say which jobs."""
    return find_verb(_after(words, start)) is not None and words[start + 2 : start + 3] == [","]


def _is_between(word: str) -> bool:
    return word in _BETWEEN or (word.endswith("ly") and word not in _NOT_ADVERBS)


def _things(words: list[str], position: int) -> Iterator[str]:
    """What the verb is done to: the words up to the next preposition."""
    for word in words[position + 1 : position + 14]:
        if word in PREPOSITION:
            return
        yield word


def _ending(word: str) -> str:
    if word.endswith("ing"):
        return "ing"
    return "s" if word.endswith("s") and not word.endswith("ss") else ""


def _topic(sentences: list[list[str]]) -> str | None:
    """What a description tells about that is a noun phrase: `Usage of the past month`, not `Top up the balance`."""
    words = sentences[0][:7] if sentences else []
    if len(words) > 2 and words[0] in NOUNS["shown"] and words[1] not in _PARTICLES and find_verb(words[1]) is None:
        return words[0]
    for position, word in enumerate(words):
        if word in PREPOSITION or word in _OF or word in _PARTICLES or (position and word in DETERMINER):
            return None
        if word in NOUNS["told"]:
            following = _after(words, position)
            return word if following == "" or following in _OF or following in PREPOSITION or following == "," else None
    return None


def _unknown_order(head: str) -> str | None:
    """A first word that looks like an order, `Sequester the host`, and is not in the lexicon."""
    match = _ORDER.match(head)
    word = match.group(1).lower() if match else ""
    known = not word or word in FILLER or word in VERBS or find_verb(word) is not None
    return None if known else word


def _purpose(head: str) -> Iterator[str]:
    """The verb after `used to`, `tool for`, `you can` when no sentence begins with one."""
    for match in _PURPOSE.finditer(head):
        verb = find_verb(match.group(1).lower())
        if verb is not None and verb != "take":
            yield verb
            return
