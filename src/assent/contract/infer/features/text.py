"""Reads from a description what the tool does."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from assent.contract.infer.features.phrases import Statements
from assent.contract.infer.features.sentence import BEING, OF, find_joined, find_lead, list_things, verb_at, word_after
from assent.contract.infer.features.words import word_set
from assent.contract.infer.lexicon import DETERMINER, FILLER, NOUNS, PREPOSITION, VERBS, find_verb

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
