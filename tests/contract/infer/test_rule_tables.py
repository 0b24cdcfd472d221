"""The rule tables: the language of conditions, the order of rules, and the reasons."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from assent.contract import infer
from assent.contract.infer.classifier import RULES
from assent.contract.infer.features.phrases import STATEMENT_NAMES
from assent.contract.infer.features.tool import ToolFeatures, gather
from assent.contract.infer.lexicon import INPUTS, NOUNS, VERB_GROUPS
from assent.contract.infer.rules.tables import (
    RuleBook,
    Table,
    TableRule,
    Test,
    any_of,
    given,
    mentions,
    name_ends,
    no,
    starts,
    table,
    unless,
    when,
)

BY_CLASS = [RULES.table(name) for name in ("read", "look", "run", "output", "no_verb", "act")]
OTHERS = ("losses", "execution", "overwrites", "all_tools", "shares", "spends", "corrections")
TABLES = [*map(RULES.table, OTHERS), *BY_CLASS]


def rule(reason: str, *cases: Test) -> TableRule:
    return TableRule(reason, cases)


def features(name: str, description: str = "", *parameters: str) -> ToolFeatures:
    properties: dict[str, object] = {key: {} for key in parameters}
    return gather({"name": name, "description": description, "inputSchema": {"properties": properties}})


BOAT = features("delete_old_boats", "Deletes boats. This cannot be undone.", "boat_id", "save_copy")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (when(verb="delete remove"), True),
        (when(verb="@certain_losses"), True),
        (when(verb="remove"), False),
        (when(no_verb="remove", words="old"), True),
        (when(all_words="old boats"), True),
        (when(all_words="old ships"), False),
        (when(about="boats"), True),
        (when(no_around="boats"), False),
        (when(params="*_id"), True),
        (when(params="save*"), True),
        (when(no_params="*_id save*"), False),
        (when(says="cannot_be_undone"), True),
        (when(no_says="cannot_be_undone"), False),
        (when(verb="delete", params="name"), False),
        (any_of(when(verb="get"), when(verb="delete")), True),
        (no(when(verb="delete")), False),
        (when(starts("deletes boats")), True),
        (when(mentions("undone")), True),
        (when(mentions("undone", within=10)), False),
        (when(name_ends("old boats")), True),
    ],
)
def test_a_condition_holds_for_the_features_that_it_names(condition: object, holds: bool) -> None:
    assert callable(condition)
    assert bool(condition(BOAT)) is holds


@pytest.mark.parametrize("mistake", [{"verbs": "delete"}, {"verb": "@unknown_group"}, {"says": "unknown"}])
def test_a_misspelt_feature_word_group_or_statement_is_an_error(mistake: dict[str, str]) -> None:
    with pytest.raises((ValueError, KeyError)):
        when(**mistake)


def test_the_first_rule_that_applies_gives_the_reason() -> None:
    rules = table(
        rule("another verb", when(verb="get")),
        rule("the name says '{verb}'", when(verb="delete"), when(verb="remove")),
        rule("never reached", when(kind="destroy")),
    )
    assert rules.reason(BOAT) == "the name says 'delete'"
    assert rules.reason(features("fetch_boat")) is None


def test_a_text_that_a_test_returns_completes_the_reason() -> None:
    assert table(rule("it has {found}", lambda tool: min(tool.params))).reason(BOAT) == "it has boat_id"


def test_a_group_can_have_a_condition_and_an_exception() -> None:
    losing = rule("loses", when(kind="destroy"))
    assert table(given(when(words="old"), losing)).reason(BOAT) == "loses"
    assert table(given(when(words="new"), losing)).reason(BOAT) is None
    assert table(unless(when(words="old"), losing)).reason(BOAT) is None
    assert table(unless(when(words="new"), losing)).reason(BOAT) == "loses"


def test_a_table_gives_the_same_answer_for_a_verb_that_it_has_seen() -> None:
    rules = table(rule("old", when(verb="delete", words="old")), rule("any", when(verb="delete")))
    answers = [
        rules.reason(features(name)) for name in ("delete_old_boat", "delete_boat", "get_boat", "delete_old_boat")
    ]
    assert answers == ["old", "any", None, "old"]


def test_every_rule_has_a_reason_in_plain_words() -> None:
    reasons = [one.reason for rules in TABLES for one in rules]
    reasons += [one.reason for one in RULES.table("risks") if one.reason]
    for reason in reasons:
        assert re.fullmatch(r"[a-z'`{][^.;]{8,120}", reason), reason
        assert reason.isascii(), reason


def test_every_table_about_reading_ends_with_a_rule_for_all_other_tools() -> None:
    for rules in BY_CLASS:
        assert Table([rules[-1]]).judge(BOAT) is not None


def test_the_data_files_name_only_what_there_is() -> None:
    assert all(map(RULES.condition, RULES.conditions))
    assert all(map(RULES.table, RULES.tables))


def test_all_that_the_data_files_hold_is_read() -> None:
    folder = Path(infer.__file__).parent
    code = "".join(file.read_text(encoding="utf-8") for file in folder.rglob("*.py"))
    files = [tomllib.loads(file.read_text(encoding="utf-8")) for file in folder.glob("rules/*.toml")]
    own = {name: words for one in files for name, words in one.get("words", {}).items()}
    asked = list(asked_in(files))
    named = {word.lstrip("-")[1:] for _, words in asked for word in words.split() if "@" in word}
    groups = named | set(re.findall(r'(?:NOUNS|VERB_GROUPS)\["(\w+)"\]', code))
    assert {*NOUNS, *VERB_GROUPS, *own} - groups == set()
    flags = {
        flag for key, words in asked if key.endswith("flags")
        for word in words.split() for flag in own.get(word[1:], word).split()
    }  # fmt: skip
    assert INPUTS.keys() - flags - set(re.findall(r'INPUTS\["(\w+)"\]', code)) == set()
    said = {word for key, words in asked if key.endswith(("says", "opens")) for word in words.split()}
    assert STATEMENT_NAMES - said - set(re.findall(r'"(\w+)"(?: not)? in tool\.says', code)) == set()


def asked_in(written: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a data file, with its key."""
    if isinstance(written, str):
        yield key, written
    elif isinstance(written, dict):
        for name, one in written.items():
            yield from asked_in(one, name)
    elif isinstance(written, list):
        for one in written:
            yield from asked_in(one, key)


WRITTEN = {
    "words": {"going": "@certain_losses keep -remove"},
    "conditions": {
        "goes": {"verb": "@going"},
        "stays": {"not": "goes"},
        "reads": {"any": [{"starts": "returns"}, {"mentions": "undone", "within": 10}, {"name_ends": "boat"}]},
        "loses": {"some": "losing"},
    },
    "tables": {
        "losing": [{"reason": "the name says '{verb}'", "cases": [{"all": ["goes"], "words": "boats"}]}],
        "kept": [{"given": "stays", "rules": [{"reason": "it stays", "verdict": "reads", "overrule": "weak"}]}],
        "contradicted": [{"but": ["losing"]}, {"unless": "loses", "rules": ["kept"]}],
    },
}


def test_a_data_file_says_the_same_as_the_functions() -> None:
    book = RuleBook([WRITTEN], {})
    assert [book.holds(name, BOAT) for name in ("goes", "stays", "reads", "loses")] == [True, False, False, True]
    removing = features("remove_boats")
    assert [book.holds(name, removing) for name in ("goes", "stays", "reads", "loses")] == [False, True, False, False]
    assert book.table("losing").reason(BOAT) == "the name says 'delete'"
    assert book.table("contradicted").reason(BOAT) == "the name says 'delete', but the name says 'delete'"
    assert book.table("contradicted").judge(removing) == ("reads", "it stays", 0.5)


@pytest.mark.parametrize("case", ["no_such_condition", {"some": "no_such_table"}, {"verb": "@no_such_group"}])
def test_a_data_file_with_an_unknown_name_is_an_error(case: object) -> None:
    with pytest.raises(KeyError):
        RuleBook([{"tables": {"one": [{"reason": "because", "cases": [case]}]}}], {}).table("one")
