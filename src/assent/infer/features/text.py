"""What does a description say the tool does?"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from assent.infer.features.phrases import Statements
from assent.infer.features.sentence import BEING, OF, find_joined, find_lead, list_things, verb_at, word_after
from assent.infer.lexicon import DETERMINER, FILLER, NOUNS, PREPOSITION, VERBS, find_verb

_HEAD: Final = 700
_SECTION = re.compile(
    r"\n[ \t]*(?:#+[ \t]*)?\**(?:Args|Arguments|Parameters|Params|Returns?|Inputs?|Examples?|Usage)\**\s*:",
    re.IGNORECASE,
)
# Each begins with a class of characters and looks back at which one it was: a search then skips all others at once.
_NOISE = re.compile(
    r"[*_`\"'“”>#\[<(](?:(?<=[*_`\"'“”>#])|(?<=\[)[^\]]{0,40}\]-?|(?<=<)[^>]{0,40}>|(?<=\()[^)]{0,160}\))"
)
# `See create_chart`, `exclude_mine=true`: what is only named is no deed.
_REFERENCE = re.compile(r"[UuSs](?<!\w.)(?:(?<=[Uu])se|(?<=[Ss])e[et]) [a-z]+(?:_[a-z]+)+")
_SETTING = re.compile(r"\b[a-z]+_[a-z_]+(?= ?=)")
# A cry between two of the same signs.
_BANNER = re.compile(r"\A\s*([^\w\s*#`'\"<>()\[\]/-])\ufe0f?[^.\n]{1,60}?\1\ufe0f?\s*")
_BREAK = re.compile(
    r"[.!?:;\n–—-](?:(?<=[\w)][.!?])(?:\s+|$)|(?<=[:;])\s+|(?<=\n)(?:\s*\n|\s*[-•]\s+|(?=[A-Z]))"
    r"|(?<=\s[-–—])[-–—]*\s|(?<=-)(?=[A-Z][a-z]+ ))"
)
_WORD = re.compile(r"[a-z][a-z-]*|,|/")
_HTTP = re.compile(r"\b(?:[Mm]ake|[Pp]erform|[Ss]end|[Ii]ssue)s? an? (?:HTTPS? )?(GET|POST|PUT|PATCH|DELETE) request")
# `POST /api/search — Searches …` says how it is asked for, not what is done.
_ROUTE = re.compile(r"\A\s*(GET )?(?:POST )?(PUT |PATCH )?/(?:\S*[/-])?([a-z]*)\S*(?:\s+[-–—:])?\s*")
# `Uses a model to summarize orders`: what it is done with comes first.
_MEANS = re.compile(r"\A\s*Uses? (?:(?!this\b|it\b|when|want|need|you\b)[\w.-]+ ){1,6}?to (?=[a-z])")
_ORDER = re.compile(r"\W*([A-Z][a-z]+(?:-[a-z]+)?) (?:a|an|the|all|one|your|each|multiple|existing|every|this)\b")
_PURPOSE = re.compile(
    r"(?<!so )\b(?:used|use|tool|function|endpoint|wrapper|you|users?|ability|allows?|enables?|command|builder)"
    r" (?:can |be used |that |which |will )?(?:to |for |can )?([a-z]+(?:ing|s)?)\b",
    re.IGNORECASE,
)
_OCCASION = frozenset({"when", "whenever", "if"})
# What a sentence that says what `the command runs` is about, not what is run.
_SUBJECT = frozenset({"command", "function", "script"})
_PARTICLES = frozenset({"up", "out", "off", "down", "back", "to", "all", "away"})


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
    head = _BANNER.sub("", _SECTION.split(text[: 2 * _HEAD], maxsplit=1)[0][:_HEAD])
    head = _NOISE.sub(" ", _without_identifiers(head) if "_" in head else head)
    if " request" in head:
        head = _HTTP.sub(r"\1", head)
    route = _ROUTE.match(head)
    head = "" if _is_foreign(head) else _MEANS.sub("", _ROUTE.sub(_routed, head))
    sentences = [words for part in _BREAK.split(head, maxsplit=8)[:9] if (words := _WORD.findall(part.lower()))]
    opening = frozenset(chain.from_iterable(words[:16] for words in sentences[:2]))
    verbs, done_to, late = _deed(sentences)
    if not verbs:
        verbs, done_to = tuple(_purpose(head)), opening - _SUBJECT
    return Prose(
        verbs=verbs,
        kind=VERBS[verbs[0]] if verbs else "none",
        kinds=frozenset(VERBS[verb] for verb in verbs),
        object=done_to or opening,
        opening=opening,
        statements=Statements(text),
        topic=None if verbs or (route and not route.group(1)) else _topic(sentences),
        nominal=not verbs and not route and bool(sentences) and sentences[0][0] in DETERMINER,
        late=bool(verbs) and late,
        unknown=_unknown_order(head) or (_put(route) if route and not verbs else None),
    )


def _without_identifiers(head: str) -> str:
    head = _REFERENCE.sub(lambda found: f"{found.group()[:3]} it", head)
    return _SETTING.sub(" it", head) if "=" in head else head


def _put(route: re.Match[str]) -> str | None:
    """A route that puts something somewhere, of which no more is said."""
    return route.group(2) and route.group(2).strip().lower()


def _routed(route: re.Match[str]) -> str:
    """What is left of a route: that something is got, or that the last part of it loses something."""
    last = route.group(3)
    return f"{last} " if VERBS.get(last) == "destroy" else route.group(1) or ""


def _is_foreign(head: str) -> bool:
    """Whether it is written in another script, whose letters take more bytes: the words of ours in it are names."""
    return not head.isascii() and 2 * (len(head.encode(errors="ignore")) - len(head)) > len(head)


def _deed(sentences: list[list[str]]) -> tuple[tuple[str, ...], frozenset[str], bool]:
    """What the tool does, to what, and whether the first sentence has no verb; when to use it says so at need only."""
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
    """`Use queues instead` names another tool."""
    return words[0] in {"use", "prefer", "call", "see"} and "instead" in words


def _topic(sentences: list[list[str]]) -> str | None:
    """What a description tells about that is a noun phrase: `Usage of the past month`, not `Top up the balance`."""
    words = sentences[0][:7] if sentences else []
    if len(words) > 2 and words[0] in NOUNS["shown"] and not any(map(_may_be_done, words[1:])):
        return words[0]
    for position, word in enumerate(words):
        if word in PREPOSITION or word in OF or word in _PARTICLES or (position and word in DETERMINER):
            return None
        if word in NOUNS["told"]:
            following = word_after(words, position)
            return word if following == "" or following in OF or following in PREPOSITION or following == "," else None
    return None


def _may_be_done(word: str) -> bool:
    """`Latest backup is put back`, `Recent history wiped`, `Top up the balance` are no titles."""
    return word in BEING or word in _PARTICLES or word.endswith("ed")


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
