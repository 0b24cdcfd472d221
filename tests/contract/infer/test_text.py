"""What the features of a description contain."""

import pytest

from assent.contract.infer.features.phrases import Statements
from assent.contract.infer.features.text import read_text


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("Deletes a shelf and everything on it.", "delete"),
        ("This tool will cancel a booking.", "cancel"),
        ("Use this tool to list all boats in the harbour.", "list"),
        ("Permanently removes the crate.", "remove"),
        ("**Purpose:** Send a postcard.", "send"),
        ("Acme Cloud - Storage: This is the Acme API. Create a bucket.", "create"),
        ("Make a GET request to /boats/{id}.", "get"),
        ("A helper for deleting stale crates.", "delete"),
        ("Take a screenshot of the harbour camera.", "see"),
        ("Returns the tide table.", "return"),
    ],
)
def test_the_verb_of_the_first_sentence_is_what_the_tool_does(text: str, verb: str) -> None:
    assert read_text(text).verbs[0] == verb


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("List, create, or close a lane.", {"list", "create", "close"}),
        ("Read or replace the harbour log.", {"read", "replace"}),
        ("Fetches a letter and marks it as read.", {"fetch", "mark"}),
        ("Finds stale crates and deletes them.", {"find", "delete"}),
        ("Searches the web and returns the top web and news results.", {"search", "return"}),
    ],
)
def test_joined_verbs_are_found(text: str, verbs: set[str]) -> None:
    assert set(read_text(text).verbs) == verbs


@pytest.mark.parametrize("text", ["The messages of a harbour.", "Replies for a letter.", "Message management.", ""])
def test_nouns_are_not_taken_for_verbs(text: str) -> None:
    assert read_text(text).verbs == ()


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Usage of the past month.", "usage"),
        ("The current balance.", "balance"),
        ("Scene metadata from the archive.", "metadata"),
        ("Top up the balance.", None),
        ("Top up balance.", None),
        ("Metadata editor.", None),
    ],
)
def test_a_description_without_a_verb_may_still_have_a_topic(text: str, topic: str | None) -> None:
    assert read_text(text).topic == topic


def test_when_to_use_a_tool_is_not_what_it_does() -> None:
    assert read_text("Use this when you want to inspect a crate. Opens the crate.").verbs == ("open",)
    assert read_text("Use this when you want to inspect a crate.").verbs == ("inspect",)


def test_an_order_with_an_unknown_verb_is_noticed() -> None:
    assert read_text("Sequester the crate.").unknown == "sequester"
    assert read_text("Delete the crate.").unknown is None


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("changes_nothing", "Runs a report. This is a read-only operation."),
        ("changes_nothing", "Checks the plan without applying it."),
        ("cannot_be_undone", "This cannot be undone."),
        ("overwrites", "Overwrites the crate if it is there."),
        ("discards", "Replaces all existing labels."),
        ("saves", "Stores the tide table in a local file."),
        ("runs_anything", "Executes arbitrary SQL."),
        ("spends", "Charges the saved card."),
        ("hides_values", "Lists keys, names only."),
    ],
)
def test_explicit_statements_are_found(statement: str, text: str) -> None:
    assert statement in Statements(text)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("changes_nothing", "Not available in read-only mode."),
        ("changes_nothing", "For read-only queries call the other tool."),
        ("cannot_be_undone", "A non-destructive edit."),
        ("overwrites", "An existing crate is never overwritten."),
    ],
)
def test_the_opposite_of_a_statement_is_not_found(statement: str, text: str) -> None:
    assert statement not in Statements(text)
