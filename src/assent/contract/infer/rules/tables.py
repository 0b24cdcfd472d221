"""Rule tables and the conditions of their rules, which the data files beside this module hold.

A rule has cases, a verdict about reading, and the reason that users read. A case is a condition on the features of a
tool:

    {verb = "stop @writing", no_words = "recording", all_flags = "http url", says = "cannot_be_undone"}

- `verb = "a b"`: the feature has one of these words. `@writing` stands for a word group of the lexicon or of `[words]`
  in a file; `-c` takes a word out again.
- `no_verb = "a b"`: it has none of them. `all_words = "a b"`: it has all of them.
- `params = "*_id save*"`: a parameter name ends with `_id` or starts with `save`.
- `says` and `opens` name statements of `statements.toml`, in the whole description or in its first lines.
- `all`, `any` and `not` combine conditions. `starts`, `mentions` (also `within` so many characters) and `name_ends`
  read the text and the name. `some` holds if a rule of that table applies.
- A name stands for a condition of a file or of `conditions.py`. A text that such a function returns replaces `{found}`
  in the reason of the rule.

`ToolFeatures` lists the features. A table lists rules and includes other tables; `given` and `unless` put a condition
on some of them, and `but` makes of their reasons what contradicts the name.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from assent.contract.infer.features.phrases import STATEMENT_NAMES
from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.lexicon import (
    DETERMINER,
    GRAVE,
    NOUN_FIRST,
    NOUN_TOO,
    NOUNS,
    OTHER_CLASS,
    READING,
    VERB_CLASSES,
    VERB_GROUPS,
)

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
_GROUPS: Final = {
    **NOUNS,
    **VERB_GROUPS,
    **VERB_CLASSES,
    "noun_too": NOUN_TOO,
    "noun_first": NOUN_FIRST,
    "simulated": OTHER_CLASS["simulate"][1],
}


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
    """Return the words of a condition, with those of the groups that `@name` stands for and without those after `-`."""
    if not isinstance(words, str):
        return frozenset(words)
    found: set[str] = set()
    for word in words.split():
        if word.startswith("-"):
            found.discard(word[1:])
        else:
            found |= _GROUPS[word[1:]] if word.startswith("@") else {word}
    return frozenset(found)


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


READS, LOOKS, UNCLEAR, ACTS = "reads", "looks", "unclear", "acts"
# The model's probability of read-only that overrules a verdict; 2.0 can never be reached.
FINAL, SURE, STRONG, FAIR, WEAK = 2.0, 0.95, 0.9, 0.75, 0.5


class ReadOnlyVerdict(NamedTuple):
    """Whether a tool only reads, and the reason.

    `overrule` is the model's probability of read-only at which an acting verdict is overruled, and below which a
    read-only verdict is doubted. A read-only verdict that rests on one word is `WEAK`.
    """

    level: str
    reason: str
    overrule: float = FINAL

    @property
    def reads(self) -> bool:
        return self.level in {READS, LOOKS}


def by_text(minimum: float) -> Callable[[ToolFeatures], float]:
    """Return how to compute the probability that overrules the description's verb, which can be a noun."""
    return lambda tool: _overrule_text(tool, minimum)


def _overrule_text(tool: ToolFeatures, minimum: float) -> float:
    first, second = [*tool.description[:80].lower().split(maxsplit=2), "", ""][:2]
    leads = first == tool.said
    if leads and second in DETERMINER and tool.said_kind != "run" and tool.kind not in READING:
        minimum = max(minimum, STRONG)  # `Save a snapshot`
    thing = leads and tool.said in NOUN_TOO and second not in DETERMINER  # `Text allowance`
    if (tool.said_kinds & (GRAVE | {"share"}) and not thing) or "starts_job" in tool.says:
        return FINAL
    doubtful = (tool.said in NOUN_TOO and tool.said != "login") or tool.said_kind == "run"
    return minimum if doubtful else max(minimum, SURE)


def by_name(tool: ToolFeatures) -> float:
    """Return the probability that overrules the name's verb; a grave or confirmed verb is final."""
    return FINAL if "confirmed" in tool.traits or tool.kind in GRAVE | {"add", "share"} else SURE


def by_maker(tool: ToolFeatures) -> float:
    """Return the probability that overrules output which is returned; what hands something out is doubtful."""
    return WEAK if tool.maker in {"export", "download", "dump"} else FINAL


Overrule = float | Callable[[ToolFeatures], float]
_OVERRULES: Final[Mapping[str, Overrule]] = {
    **{"final": FINAL, "sure": SURE, "strong": STRONG, "fair": FAIR, "weak": WEAK},
    **{"by_text sure": by_text(SURE), "by_text fair": by_text(FAIR), "by_text weak": by_text(WEAK)},
    **{"by_name": by_name, "by_maker": by_maker},
}


class TableRule(NamedTuple):
    """A reason and the cases in which it applies.

    Rules about reading also have a verdict, and the probability at which the word model may overrule it. Rules about
    risk name the tiers for which they count; none means every tier.
    """

    reason: str
    cases: tuple[Test, ...]
    verdict: str = ""
    overrule: Overrule = FINAL
    tiers: str = ""

    def explain(self, tool: ToolFeatures, found: object) -> str:
        """Return the reason with the words of this tool."""
        if "{" not in self.reason:
            return self.reason
        return self.reason.format(
            verb=tool.verb, said=tool.said, maker=tool.maker, last=tool.last, unknown=tool.text.unknown, found=found
        )


class Table(tuple[TableRule, ...]):
    """Rules in order: the first one that applies counts."""

    def __init__(self, rules: Iterable[TableRule]) -> None:
        self._cases = tuple((case, one) for one in self for case in one.cases)
        self._by_verb: dict[str, tuple[tuple[Test, TableRule], ...]] = {}

    def first(self, tool: ToolFeatures) -> tuple[TableRule, object] | None:
        """Return the first rule that applies and what its condition found, or None."""
        cases = self._by_verb.get(tool.verb)
        if cases is None:
            cases = tuple(pair for pair in self._cases if is_possible(pair[0], tool.verb, tool.kind))
            self._by_verb[tool.verb] = cases
        for case, one in cases:
            found = case(tool)
            if found:
                return one, found
        return None

    def reason(self, tool: ToolFeatures) -> str | None:
        """Return the reason of the first rule that applies, or None."""
        match = self.first(tool)
        return match[0].explain(tool, match[1]) if match else None

    def judge(self, tool: ToolFeatures) -> ReadOnlyVerdict | None:
        """Return the verdict of the first rule that applies, or None."""
        match = self.first(tool)
        if match is None:
            return None
        one, found = match
        overrule = one.overrule if isinstance(one.overrule, float) else one.overrule(tool)
        return ReadOnlyVerdict(one.verdict, one.explain(tool, found), overrule)


def table(*groups: TableRule | Iterable[TableRule]) -> Table:
    """Put rules and groups of rules into one table."""
    return Table(one for group in groups for one in ([group] if isinstance(group, TableRule) else group))


def but(
    *groups: TableRule | Iterable[TableRule], reason: str = "the name says '{{verb}}', but {}", verdict: str = UNCLEAR
) -> Table:
    """The same rules as verdicts about reading, with a reason that also tells what the name says."""
    return Table(one._replace(reason=reason.format(one.reason), verdict=verdict) for one in table(*groups))


def given(condition: Test, *groups: TableRule | Iterable[TableRule]) -> Table:
    """The same rules, which apply only under a condition."""
    return Table(one._replace(cases=tuple(all_of(condition, case) for case in one.cases)) for one in table(*groups))


def unless(exception: Test, *groups: TableRule | Iterable[TableRule]) -> Table:
    """The same rules with an exception, which is looked at only if a rule applies."""
    return Table(one._replace(cases=tuple(except_if(case, exception) for case in one.cases)) for one in table(*groups))


def some(rules: TableRule | Iterable[TableRule]) -> Test:
    """The condition that one of the rules applies."""
    return any_of(*(case for one in table(rules) for case in one.cases))


class RuleBook:
    """The word groups, conditions and tables of the data files, by name; each is built at first use."""

    def __init__(self, files: Iterable[Mapping[str, Any]], functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self.conditions: dict[str, Any] = {}
        self.tables: dict[str, Any] = {}
        for one in files:
            for name, words in one.get("words", {}).items():
                _GROUPS[name] = _expand(words)
            self.conditions |= one.get("conditions", {})
            self.tables |= one.get("tables", {})
        self.condition, self.table = cache(self._condition), cache(self._table)

    def holds(self, name: str, tool: ToolFeatures) -> bool:
        """Whether a condition holds."""
        return bool(self.condition(name)(tool))

    def _condition(self, name: str) -> Test:
        if name in self.conditions:
            return self._build(self.conditions[name])
        found: Test = self._functions[name]
        return found

    def _build(self, written: Any) -> Test:
        if isinstance(written, str):
            return self.condition(written)
        match written:
            case {"any": tests}:
                return any_of(*map(self._build, tests))
            case {"not": test}:
                return no(self._build(test))
            case {"starts": pattern}:
                return starts(pattern)
            case {"mentions": pattern}:
                return mentions(pattern, written.get("within"))
            case {"name_ends": words}:
                return name_ends(words)
            case {"some": name}:
                return some(self.table(name))
        features = {key: words for key, words in written.items() if key != "all"}
        return when(*map(self._build, written.get("all", ())), **features)

    def _table(self, name: str) -> Table:
        return table(*map(self._group, self.tables[name]))

    def _group(self, written: Any) -> Iterable[TableRule]:
        if isinstance(written, str):
            return self.table(written)
        match written:
            case {"include": names}:
                return table(*map(self.table, names))
            case {"but": groups}:
                words = {key: written[key] for key in ("reason", "verdict") if key in written}
                return but(*map(self._group, groups), **words)
            case {"given": condition, "rules": groups}:
                return given(self._build(condition), *map(self._group, groups))
            case {"unless": condition, "rules": groups}:
                return unless(self._build(condition), *map(self._group, groups))
        cases = tuple(map(self._build, written.get("cases", ()))) or (lambda tool: True,)
        overrule = _OVERRULES[written.get("overrule", "final")]
        return [TableRule(written["reason"], cases, written.get("verdict", ""), overrule, written.get("tiers", ""))]
