"""The open-world hint and the data-flow labels."""

from typing import Any

import pytest

from assent.contract.infer import FlowLabels, classify


def inferred(name: str, description: str, **properties: Any) -> Any:
    return classify({"name": name, "description": description, "inputSchema": {"properties": properties}})


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("send_letter", "Send a letter."),
        ("web_search", "Search the web."),
        ("run_command", "Run a shell command."),
        ("create_webhook", "Create a webhook."),
        ("geocode_quay", "Find the coordinates of a quay."),
        ("get_forecast", "Get the weather forecast of a harbour."),
        ("post_message", "Post a message to the crew's room."),
        ("create_entry", "Create an entry on Mastodon."),
        ("browser_navigate", "Go to an address."),
    ],
)
def test_tools_that_reach_outside_are_open_world(name: str, description: str) -> None:
    assert inferred(name, description).open_world


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_boat", "Get a boat."),
        ("execute_sql", "Execute SQL."),
        ("rename_boat", "Rename."),
        ("read_email", "Read an email."),
        ("delete_webhook", "Delete a webhook."),
        ("run_in_container", "Run a command inside a container."),
        ("publish_mqtt", "Publish a message to a topic."),
        ("get_browser_history", "Get the history of the browser."),
        ("update_stock", "Update the stock of a crate."),
    ],
)
def test_tools_that_stay_inside_are_not_open_world(name: str, description: str) -> None:
    assert not inferred(name, description).open_world


def test_a_web_page_is_untrusted_and_its_url_can_carry_data_out() -> None:
    labels = inferred("fetch_webpage", "Fetch a web page.", url={"type": "string"}).labels
    assert labels == FlowLabels(reads_private=False, sees_untrusted=True, public_sink=True)


def test_a_mailbox_is_private_and_untrusted() -> None:
    labels = inferred("search_messages", "Search messages in the mailbox.").labels
    assert labels == FlowLabels(reads_private=True, sees_untrusted=True, public_sink=False)


def test_a_sent_letter_is_a_public_sink() -> None:
    labels = inferred("send_letter", "Send a letter.").labels
    assert labels == FlowLabels(reads_private=False, sees_untrusted=False, public_sink=True)


def test_a_query_reads_private_data() -> None:
    assert inferred("execute_sql", "Execute SQL.", sql={}).labels.reads_private
