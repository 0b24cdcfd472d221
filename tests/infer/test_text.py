"""What is a description understood to say?"""

import pytest

from assent.infer.features.phrases import Statements
from assent.infer.features.text import read_prose


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
    assert read_prose(text).verbs[0] == verb


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
def test_verbs_joined_to_it_are_heard_too(text: str, verbs: set[str]) -> None:
    assert set(read_prose(text).verbs) == verbs


@pytest.mark.parametrize("text", ["The messages of a harbour.", "Replies for a letter.", "Message management.", ""])
def test_things_are_not_taken_for_deeds(text: str) -> None:
    assert read_prose(text).verbs == ()


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
    assert read_prose(text).topic == topic


def test_when_to_use_a_tool_is_not_what_it_does() -> None:
    assert read_prose("Use this when you want to inspect a crate. Opens the crate.").verbs == ("open",)
    assert read_prose("Use this when you want to inspect a crate.").verbs == ("inspect",)


def test_an_order_with_an_unknown_verb_is_noticed() -> None:
    assert read_prose("Sequester the crate.").unknown == "sequester"
    assert read_prose("Delete the crate.").unknown is None


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("reads_only", "Runs a report. This is a read-only operation."),
        ("reads_only", "Checks the plan without applying it."),
        ("lasting", "This cannot be undone."),
        ("overwrites", "Overwrites the crate if it is there."),
        ("discards", "Replaces all existing labels."),
        ("saves", "Stores the tide table in a local file."),
        ("runs_anything", "Executes arbitrary SQL."),
        ("spends", "Charges the saved card."),
        ("hides_values", "Lists keys, names only."),
    ],
)
def test_what_a_text_says_outright_is_found(statement: str, text: str) -> None:
    assert statement in Statements(text)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("reads_only", "Not available in read-only mode."),
        ("reads_only", "For read-only queries call the other tool."),
        ("lasting", "A non-destructive edit."),
        ("overwrites", "An existing crate is never overwritten."),
    ],
)
def test_its_opposite_is_not_taken_for_it(statement: str, text: str) -> None:
    assert statement not in Statements(text)
