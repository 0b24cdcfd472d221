"""What does a description say the tool does, and what does it warn of?"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from assent.infer.lexicon import CONJUNCTION, DETERMINER, FILLER, NOUN_TOO, VERBS, find_verb
from assent.infer.statements import find_statements

_HEAD = 700
_SECTION = re.compile(
    r"\n\s*(?:#+\s*)?\**(?:Args|Arguments|Parameters|Params|Returns?|Inputs?|Examples?|Usage)\**\s*:", re.IGNORECASE
)
_NOISE = re.compile(r"[*_`\"'“”>#]+|\[[^\]]{0,40}\]-?|<[^>]{0,40}>|\([^)]{0,160}\)")
_BREAK = re.compile(
    r"(?<=[\w)])[.!?](?:\s+|$)|[:;]\s+|\n\s*\n|\n\s*[-•]\s+|\s[-–—]+\s|\n(?=[A-Z])|-(?=[A-Z][a-z]+ )"
)
_WORD = re.compile(r"[A-Za-z][A-Za-z-]*|,|/")
_HTTP = re.compile(r"\b(?:[Mm]ake|[Pp]erform|[Ss]end|[Ii]ssue)s? an? (?:HTTPS? )?(GET|POST|PUT|PATCH|DELETE) request")
_ORDER = re.compile(r"\W*([A-Z][a-z]+) (?:a|an|the|all|one|your|each|multiple|existing|every|this)\b")
_PURPOSE = re.compile(
    r"\b(?:used|use|tool|function|endpoint|wrapper|you|users?|ability|allows?|enables?|command|builder)"
    r" (?:can |be used |that |which |will )?(?:to |for |can )?([a-z]+(?:ing|s)?)\b",
    re.IGNORECASE,
)
_NOT_ADVERBS = frozenset({"apply", "reply", "supply", "multiply", "fly"})
_BETWEEN = frozenset({"optionally", "then", "also", "permanently", "or", "and"})
_SIGHT = frozenset({"screenshot", "snapshot", "screenshots", "image", "picture"})
_OBJECT_STARTS = frozenset(
    "the a an all any it them its their each this that these those new one your existing every another".split()
)
_BEFORE_GERUND = frozenset({"for", "by", "allows", "enables", "supports", "with", "tool", "allow", "allowing"})
_WEAK = frozenset({"format", "sort", "group", "page", "use", "handle", "process"})
_OCCASION = frozenset({"when", "When", "whenever", "if", "If"})
_COMPOUND = frozenset({"management", "details", "status", "list", "information", "records", "history", "tool"})
_OF = frozenset({"for", "of", "in", "from", "about", "on"})
_AFTER_CALL = frozenset({"this", "it", "when", "to", "before", "after", "the", "only", "first", "immediately"})


@dataclass(frozen=True, slots=True)
class Prose:
    """The verbs of the first sentence that has any, those of later sentences, statements, opening words."""

    verbs: tuple[str, ...]
    later: tuple[str, ...]
    statements: frozenset[str]
    opening: frozenset[str]
    unknown: str | None

    @property
    def kind(self) -> str:
        return VERBS[self.verbs[0]] if self.verbs else "none"

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(VERBS[verb] for verb in self.verbs)


def read_prose(text: str) -> Prose:
    """Read a description: its opening names the deed, all of it may warn."""
    head = _NOISE.sub(" ", _SECTION.split(text[: 2 * _HEAD], maxsplit=1)[0][:_HEAD])
    if " request" in head:
        head = _HTTP.sub(r"\1", head)
    sentences = [words for part in _BREAK.split(head)[:9] if part and (words := _WORD.findall(part))]
    verbs: tuple[str, ...] = ()
    occasion: tuple[str, ...] = ()
    later: list[str] = []
    for number, words in enumerate(sentences[:7]):
        position = _lead(words)
        if position is None:
            continue
        found = (_verb_at(words, position), *_joined(words, position))
        if _OCCASION.intersection(words[:position]):
            occasion = occasion or found
        elif not verbs and number < 4:
            verbs = found
        else:
            later += found
    opening = frozenset(word.lower() for words in sentences[:2] for word in words[:16])
    return Prose(
        verbs or occasion or tuple(_purpose(head)), tuple(later), find_statements(text), opening, _unknown_order(head)
    )


def _lead(words: list[str]) -> int | None:
    """Where the verb of a sentence stands that begins with one after its filler."""
    position = 0
    while position < min(len(words), 12) and _is_filler(words, position):
        position += 1
    if position >= len(words):
        return None
    word, before = words[position].lower(), words[position - 1].lower() if position else ""
    verb = find_verb(word)
    if verb is None or VERBS[verb] == "noun" or before in DETERMINER or _is_thing(words, position):
        return None
    if verb == "take" and _verb_at(words, position) == "take":
        return None
    gerund = word != verb and word.endswith("ing")
    return None if gerund and before not in _BEFORE_GERUND else position


def _verb_at(words: list[str], position: int) -> str:
    verb = find_verb(words[position].lower()) or ""
    if verb in {"take", "capture"} and _SIGHT.intersection(words[position + 1 : position + 8]):
        return "see"
    return verb


def _is_thing(words: list[str], position: int) -> bool:
    """`Replies for a message` and `Message management` name things; `Searches for a message` does something."""
    word = words[position].lower()
    following = words[position + 1].lower() if position + 1 < len(words) else ""
    verb = find_verb(word)
    if verb not in NOUN_TOO or VERBS[verb] in {"read", "look"}:
        return False
    return following in _COMPOUND or (word != verb and following in _OF)


def _is_filler(words: list[str], position: int) -> bool:
    word = words[position].lower()
    if word in FILLER or word == ",":
        return True
    following = words[position + 1].lower() if position + 1 < len(words) else ""
    if word in {"enable", "help"}:
        return following in {"you", "users", "agents", "to"}
    if word in {"call", "calls", "invoke"}:
        return following in _AFTER_CALL
    return word.endswith("ly") and word not in _NOT_ADVERBS


def _joined(words: list[str], start: int) -> Iterator[str]:
    """Verbs in the same form after a comma, a slash or a conjunction: `List, create, or close`."""
    ending = _ending(words[start])
    listing = True
    for i in range(start + 1, min(len(words) - 1, start + 24)):
        link = words[i].lower()
        if link not in CONJUNCTION and link not in ",/":
            listing = listing and (find_verb(link) is not None or link in _BETWEEN)
            continue
        place = i + 2 if words[i + 1].lower() in _BETWEEN and i + 2 < len(words) else i + 1
        word = words[place].lower()
        verb = find_verb(word)
        if verb is None or verb in _WEAK or VERBS[verb] == "noun" or _ending(word) != ending:
            continue
        following = words[place + 1].lower() if place + 1 < len(words) else ""
        certain = verb not in NOUN_TOO or link in CONJUNCTION
        if listing or (certain and following in _OBJECT_STARTS):
            yield verb


def _ending(word: str) -> str:
    for ending in ("ing", "s"):
        if word.endswith(ending) and not word.endswith("ss"):
            return ending
    return ""


def _unknown_order(head: str) -> str | None:
    """A first word that looks like an order, `Quarantine the host`, and is not in the lexicon."""
    match = _ORDER.match(head)
    word = match.group(1).lower() if match else None
    return word if word and find_verb(word) is None and word not in FILLER else None


def _purpose(head: str) -> Iterator[str]:
    """The verb after `used to`, `tool for`, `you can` when no sentence begins with one."""
    for match in _PURPOSE.finditer(head):
        verb = find_verb(match.group(1).lower())
        if verb is not None and VERBS[verb] != "noun":
            yield verb
            return
