"""Conditions on the features of a tool.

    when(verb="stop @writing", no_words="recording", all_flags="http url", says="cannot_be_undone")

- `verb="a b"`: the feature has one of these words. `@writing` stands for a word group of the lexicon.
- `no_verb="a b"`: it has none of them. `all_words="a b"`: it has all of them.
- `params="*_id save*"`: a parameter name ends with `_id` or starts with `save`.
- `says` and `opens` name statements of `statements.toml`, in the whole description or in its first lines.

`ToolFeatures` lists the features.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from assent.contract.infer.features.phrases import STATEMENT_NAMES
from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.lexicon import NOUNS, VERB_CLASSES, VERB_GROUPS

# A condition; a text that it returns instead of True replaces `{found}` in the reason of its rule.
Test = Callable[[ToolFeatures], object]
Words = str | Iterable[str]
# The same for a feature that is read by its place, which is faster than by its name.
_Check = Callable[[Any], object]

_ONE_WORD: Final = frozenset(
    ("verb", "kind", "place", "first", "last", "last_kind", "said", "said_only", "said_kind", "deed", "maker")
)
# Features that put two others together.
_UNIONS: Final = {"about": ("words", "object"), "around": ("words", "opening")}
_STATEMENTS: Final = frozenset({"says", "opens"})
_GROUPS: Final = {**NOUNS, **VERB_GROUPS, **VERB_CLASSES}


def when(*tests: Test, **features: Words) -> Test:
    """The condition that all features and all tests hold. Single words are checked first, statements last."""
    checks = {name: _check(name, features[name]) for name in sorted(features, key=_is_set)}
    searches = [check for name, check in checks.items() if _is_statement(name)]
    return all_of(*(check for check in checks.values() if check not in searches), *tests, *searches)


def any_of(*tests: Test) -> Test:
    """The condition that one of the tests holds."""
    if len(tests) == 1:
        return tests[0]

    def check(tool: ToolFeatures) -> object:
        for test in tests:
            found = test(tool)
            if found:
                return found
        return False

    return _remember(check, lambda verb, kind: any(is_possible(test, verb, kind) for test in tests))


def no(test: Test) -> Test:
    """The condition that a test does not hold."""
    return lambda tool: not test(tool)


def starts(pattern: str) -> Test:
    """The condition that the description starts with a pattern, in lower case."""
    match = _compiled_later(r"\s*" + pattern)
    return lambda tool: match().match(tool.lower) is not None


def mentions(pattern: str, within: int | None = None) -> Test:
    """The condition that the description, or its first characters, contain a pattern, in lower case."""
    search = _compiled_later(pattern)
    return lambda tool: search().search(tool.lower[:within]) is not None


def _compiled_later(pattern: str) -> Callable[[], re.Pattern[str]]:
    """The pattern, compiled at first use: a start pays only for what its tools need."""
    return lru_cache(1)(lambda: re.compile(pattern))


def name_ends(words: str) -> Test:
    """The condition that the name ends with these words."""
    ending = tuple(words.split())
    return lambda tool: tool.name.words[-len(ending) :] == ending


def all_of(*tests: Test) -> Test:
    """The condition that all tests hold; what the last one finds counts."""
    first, *others = tests

    def check(tool: ToolFeatures) -> object:
        found = first(tool)
        if found:
            for test in others:
                found = test(tool)
                if not found:
                    break
        return found

    if not others:
        return first
    second = others[0]
    combined: Test = check if others[1:] else lambda tool: first(tool) and second(tool)
    return _remember(combined, lambda verb, kind: all(is_possible(test, verb, kind) for test in tests))


def except_if(test: Test, exception: Test) -> Test:
    """The condition that a test holds and an exception does not, which is looked at only then."""

    def check(tool: ToolFeatures) -> object:
        found = test(tool)
        return found if found and not exception(tool) else False

    return _remember(check, lambda verb, kind: is_possible(test, verb, kind))


# Most conditions ask for certain verbs, so that a table can keep, per verb, the cases that can hold at all.
_NAME_CHECKS: Final[dict[Test, Callable[[str, str], bool]]] = {}


def is_possible(test: Test, verb: str, kind: str) -> bool:
    """Whether a condition can hold for a name with this verb and verb class."""
    check = _NAME_CHECKS.get(test)
    return check is None or check(verb, kind)


def _remember(test: Test, possible: Callable[[str, str], bool]) -> Test:
    """Remember whether a test can hold for a name with a certain verb and verb class."""
    _NAME_CHECKS[test] = possible
    return test


def _expand(words: Words) -> frozenset[str]:
    """Return the words of a condition, with the words of the groups that `@name` stands for."""
    if not isinstance(words, str):
        return frozenset(words)
    found = (_GROUPS[word[1:]] if word.startswith("@") else {word} for word in words.split())
    return frozenset().union(*found)


def _is_set(name: str) -> bool:
    return name.removeprefix("no_") not in _ONE_WORD


def _is_statement(name: str) -> bool:
    return name.removeprefix("no_") in _STATEMENTS


def _check(name: str, words: Words) -> Test:
    """Return the check of one feature. Features are read by their place, which is faster than by their name."""
    prefix, _, feature = name.partition("_")
    if prefix not in {"no", "all"}:
        prefix, feature = "", name
    wanted = _expand(words)
    if prefix == "all":
        return lambda tool: wanted <= getattr(tool, feature)
    if feature in _STATEMENTS:
        if not wanted <= STATEMENT_NAMES:
            raise KeyError(*(wanted - STATEMENT_NAMES))
        found = _check_statements(_place(feature), sorted(wanted))
    elif feature in _ONE_WORD:
        return _check_word(feature, wanted, absent=prefix == "no")
    elif any("*" in word for word in wanted):
        found = _check_parts(_place(feature), wanted)
    elif feature in _UNIONS:
        one, other = map(_place, _UNIONS[feature])
        found = _check_union(one, other, wanted)
    else:
        return _check_words(_place(feature), wanted, absent=prefix == "no")
    return no(found) if prefix == "no" else found


def _place(feature: str) -> int:
    return ToolFeatures._fields.index(feature)


def _check_word(feature: str, wanted: frozenset[str], *, absent: bool) -> Test:
    place = _place(feature)
    found: _Check = (lambda tool: tool[place] not in wanted) if absent else (lambda tool: tool[place] in wanted)
    if feature == "verb":
        return _remember(found, lambda verb, kind: (verb in wanted) is not absent)
    if feature == "kind":
        return _remember(found, lambda verb, kind: (kind in wanted) is not absent)
    return found


def _check_words(place: int, wanted: frozenset[str], *, absent: bool) -> _Check:
    if absent:
        return lambda tool: wanted.isdisjoint(tool[place])
    return lambda tool: not wanted.isdisjoint(tool[place])


def _check_union(one: int, other: int, wanted: frozenset[str]) -> _Check:
    return lambda tool: not (wanted.isdisjoint(tool[one]) and wanted.isdisjoint(tool[other]))


def _check_parts(place: int, wanted: frozenset[str]) -> _Check:
    starts = tuple(word[:-1] for word in wanted if word.endswith("*"))
    ends = tuple(word[1:] for word in wanted if word.startswith("*"))
    return lambda tool: any(word.startswith(starts) or word.endswith(ends) for word in tool[place])


def _check_statements(place: int, names: list[str]) -> _Check:
    if len(names) == 1:
        return lambda tool: names[0] in tool[place]
    return lambda tool: any(name in tool[place] for name in names)
