"""Finds the word of a tool's name that says what the tool does."""

import re
from collections.abc import Collection
from typing import NamedTuple

from assent.contract.infer.features.words import split_name, word_set
from assent.contract.infer.lexicon import (
    ACTING,
    AGENTS,
    COMPOUNDS,
    CONJUNCTION,
    NOUN_FIRST,
    NOUN_TOO,
    PREPOSITION,
    READING,
    VERB_GROUPS,
    VERBS,
)

_SEGMENT = re.compile(r"--|__|[./:]+")
_CAMEL_TAIL = re.compile(r"^(?:[A-Za-z]+[_-])+([a-z]+[A-Z]\w*)$")
_GOVERNING = PREPOSITION | {"to", "of", "as", "without", "before", "after"}

# After one of these, a reading verb is part of the object: `mark_message_read`, `stop_fetch_job`.
_STATE_VERBS = word_set(
    """
    change drop flag insert mark pause put reset save set start stop submit suspend switch update wipe write
    """
)
# The word after one of these is always the object: `get_resume`.
_FETCH_VERBS = frozenset({"fetch", "get", "retrieve"})
_CREATED = (("database",), ("function",), ("procedure",), ("table",), ("trigger",), ("view",))
_ARTICLES = frozenset({"a", "an", "the"})
_DONE_TO = frozenset({"balance", "input", "page", "phone", "text"})


class NameFeatures(NamedTuple):
    """Main verb of a name with its class and place, joined verbs, and all words."""

    verb: str | None
    kind: str
    place: str
    beside: tuple[str, ...]
    words: tuple[str, ...]


def read_name(name: str, text_verbs: Collection[str] = ()) -> NameFeatures:
    """Parse a name; `text_verbs` are the verbs of the description, which settle ambiguous names."""
    words = split_name(name)
    operation = _operation(name, words)
    index = _find_main_verb(operation, text_verbs)
    agent = AGENTS.get(operation[-1]) if len(operation) > 1 else None
    doubtful = index is None or operation[index] in NOUN_TOO or agent in text_verbs
    if agent and doubtful and not _follows_preposition(operation, len(operation) - 1):
        return NameFeatures(agent, VERBS[agent], "last", (), words)
    if index is None and operation != words:
        operation, index = words, _find_certain_verb(words, text_verbs)
    several = words[-1:] == ("operations",) and index is not None and operation[index] in NOUN_TOO
    if index is None or several:  # such as `measure_operations`
        return NameFeatures(None, "none", "none", (), words)
    verb = operation[index]
    return NameFeatures(verb, VERBS[verb], _place(index, operation), _find_joined_verbs(operation, index), words)


def _operation(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of the part that names the operation: after dots and slashes, or a camel-case tail."""
    if name.islower() and "__" not in name and name.isidentifier():
        return words
    tail = _SEGMENT.split(name)[-1] or name
    camel = _CAMEL_TAIL.match(tail)
    if camel:
        return split_name(camel.group(1))
    return words if tail == name else split_name(tail)


def _find_certain_verb(words: tuple[str, ...], text_verbs: Collection[str]) -> int | None:
    """Find an unambiguous verb before the dot, where a word normally names a group of tools."""
    index = _find_main_verb(words, text_verbs)
    doubtful = index is not None and words[index] in NOUN_TOO and VERBS[words[index]] != "noun"
    return None if doubtful else index


def _find_main_verb(words: tuple[str, ...], text_verbs: Collection[str]) -> int | None:
    verbs = [i for i, word in enumerate(words) if word in VERBS and not _is_object(words, i, text_verbs)]
    if not verbs:
        return None
    acting = [i for i in verbs if VERBS[words[i]] != "noun" and not _follows_preposition(words, i)]
    for i in acting:
        got = words[i] in NOUN_FIRST and not _FETCH_VERBS.isdisjoint(words[max(0, i - 1) : i])  # `get_log_collectors`
        if words[i] in text_verbs and not got and _text_verb_may_win(words, i, verbs[0]):
            return i
    pure = [i for i in acting if words[i] not in NOUN_TOO]
    if verbs[0] == 0 and VERBS[words[0]] != "noun":
        return _choose_from_first(words, pure, acting)
    for candidates in (pure, acting):
        if candidates and words[candidates[0]] in _FETCH_VERBS:
            return candidates[0]
        if candidates:
            return _choose_last(words, candidates) if candidates[-1] == len(words) - 1 else candidates[0]
    return verbs[-1]


def _choose_last(words: tuple[str, ...], candidates: list[int]) -> int:
    """Choose the last word, unless it is the object of the word before: `artifact_stop_scan`, `chart_set_type`."""
    last = candidates[-1]
    if words[last] == "type" and candidates[:-1]:
        return candidates[-2]
    if words[last] in NOUN_TOO and last - 1 in candidates and VERBS[words[last - 1]] == "destroy":
        return last - 1  # `shop_refund_order`
    is_noun_last = (
        last - 1 in candidates and VERBS[words[last]] in READING and words[last - 1] in {"cancel", "start", "stop"}
    )
    return last - 1 if is_noun_last else last


def _text_verb_may_win(words: tuple[str, ...], index: int, first: int) -> bool:
    """Whether the description's verb may win over a verb at the start of the name."""
    if first > 0 or index == 0:
        return True
    fetches = words[index] in VERB_GROUPS["fetching"] and index == 1
    plain = words[index] not in NOUN_TOO or VERBS[words[0]] == "look" or fetches or words[index] == "list"
    return words[0] in NOUN_TOO and plain


def _choose_from_first(words: tuple[str, ...], pure: list[int], acting: list[int]) -> int:
    """Choose between the first word and a later unambiguous verb, because the first word can be a noun."""
    last = len(words) - 1
    final = VERBS.get(words[last], "none")
    if words[0] == "post" and pure[:1] == [1] and VERBS[words[1]] == "destroy":  # `post_delete_reply`
        return 1
    if words[0] in NOUN_FIRST and (final == "noun" or (final in ACTING | {"read"} and acting[-1] == last)):
        return last
    if words[0] in VERB_GROUPS["program_names"] and acting[1:]:
        return acting[-1] if acting[-1] == last else acting[1]
    if not pure or (pure[0] == 0 and VERBS[words[0]] != "look"):
        return 0
    if VERBS[words[0]] == "look" and pure[-1] == last:
        return last
    if words[0] in NOUN_TOO and (pure[0] == 1 or pure[-1] == last):
        return 1 if pure[0] == 1 else last
    return 0


def _follows_preposition(words: tuple[str, ...], index: int) -> bool:
    """Whether a preposition before the word makes it part of the object."""
    return index > 0 and words[index - 1] in _GOVERNING


def _is_object(words: tuple[str, ...], index: int, text_verbs: Collection[str]) -> bool:
    """Whether the word is the object: `hash_text`, `profile_page`, `text_to_speech`, `pull_request`."""
    if _is_sql_statement(words, index) or _precedes_article(words, index):
        return True
    if words[index] in COMPOUNDS and not COMPOUNDS[words[index]].isdisjoint(words[index + 1 : index + 2]):
        return True
    if VERBS[words[index]] in READING and not _STATE_VERBS.isdisjoint(words[:index]):
        return words[index] == "read" or index < len(words) - 1
    placed = index > 0 or words[1:2] == ("to",)
    return placed and words[index] in _DONE_TO and words[index] not in text_verbs


def _precedes_article(words: tuple[str, ...], index: int) -> bool:
    """Whether an article follows, so that the word is a verb: `update_a_block`, but not `motor_a_stop`."""
    return index > 1 and words[index - 1] in _ARTICLES and words[index - 2] in VERBS


def _is_sql_statement(words: tuple[str, ...], index: int) -> bool:
    """Whether the words are one SQL statement: `show_create_table`."""
    return words[max(0, index - 1) : index + 1] == ("show", "create") and words[index + 1 : index + 2] in _CREATED


def _find_joined_verbs(words: tuple[str, ...], main: int) -> tuple[str, ...]:
    """Return the verbs joined to the main verb: `search_and_replace`, `pause_resume`, `list_update`."""
    found = []
    for i, word in enumerate(words):
        if (
            i == main
            or VERBS.get(word, "noun") == "noun"
            or _follows_preposition(words, i)
            or _is_sql_statement(words, i)
        ):
            continue
        joined = i > 0 and words[i - 1] in CONJUNCTION
        certain = word not in NOUN_TOO and not (words[main] in _FETCH_VERBS and i == main + 1 == len(words) - 1)
        if joined or (certain and abs(i - main) == 1) or (main == 0 and certain and i == len(words) - 1):
            found.append(word)
    return tuple(found)


def _place(index: int, words: tuple[str, ...]) -> str:
    if index == 0:
        return "only" if len(words) == 1 else "first"
    return "last" if index == len(words) - 1 else "middle"
