"""Searches and page views, words that others read, and dumps of the environment."""

from __future__ import annotations

from typing import Any

import pytest

from assent.contract.profiles import profile
from assent.infer import classify
from assent.upstreams.compiled_tools import UpstreamPolicy, compile_tools

TEXT = {"type": "string"}
STEP = {"type": {"enum": ["wait", "click", "write", "press", "scroll", "executeJavascript"]}, "selector": TEXT}
STEPS = {"type": "array", "items": {"type": "object", "properties": STEP}}


def tool(name: str, description: str, hints: dict[str, bool] | None = None, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints or {}}


@pytest.mark.parametrize(
    "definition",
    [
        tool("tide_search", "Search tides and read the pages.", query=TEXT, options={"properties": {"actions": STEPS}}),
        tool("search_events", "Search the events.", filter={"properties": {"action": {"enum": ["create", "delete"]}}}),
        tool("find_changes", "Find changes.", where={"items": {"properties": {"operation": {"enum": ["delete"]}}}}),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_stands_inside_a_parameter_of_a_search_is_no_deed(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.tier, inference.risk) == ("read", "low"), inference.reasons


@pytest.mark.parametrize(
    "definition",
    [
        tool("scrape_tides", "Scrape a page.", url=TEXT, actions=STEPS),
        tool("crawl_harbour", "Crawl a site.", url=TEXT, options={"properties": {"actions": STEPS}}),
    ],
    ids=lambda definition: definition["name"],
)
def test_optional_steps_before_a_page_is_shown_make_it_no_read_and_nothing_critical(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive) == (False, False), inference.reasons
    assert inference.risk == "medium"


@pytest.mark.parametrize(
    "definition",
    [
        tool("search_notes", "Search notes.", action={"enum": ["search", "delete"]}),
        tool("search_and_remove", "Search notes and delete them.", filter={"properties": {"action": TEXT}}),
        tool("manage_notes", "Work with notes.", options={"properties": {"action": {"enum": ["list", "delete"]}}}),
    ],
    ids=lambda definition: definition["name"],
)
def test_a_deed_that_is_offered_outright_still_counts(definition: dict[str, Any]) -> None:
    assert classify(definition).destructive


ALL_DESTRUCTIVE = {"readOnlyHint": False, "destructiveHint": True}
BROWSER = [
    tool("browser_navigate", "Navigate to a URL.", ALL_DESTRUCTIVE, url=TEXT),
    tool("browser_go_back", "Go back to the previous page.", ALL_DESTRUCTIVE),
    tool("browser_click", "Click an element on the page.", ALL_DESTRUCTIVE, ref=TEXT),
    tool("browser_tide_set", "Set the tide.", ALL_DESTRUCTIVE, tide=TEXT),
    tool("browser_snapshot", "Show the page.", {"readOnlyHint": True, "destructiveHint": False}),
]


def risks(definitions: list[dict[str, Any]]) -> dict[str, str]:
    taken = compile_tools(definitions, {}, UpstreamPolicy("browser", profile("spec")))
    return {one.name: one.contract.risk.value for one in taken.tools}


def test_a_hint_that_a_server_puts_on_everything_does_not_make_page_views_critical() -> None:
    assert risks(BROWSER) == {
        "browser_navigate": "medium",
        "browser_go_back": "medium",
        "browser_click": "critical",
        "browser_tide_set": "critical",
        "browser_snapshot": "low",
    }


def test_a_hint_that_tells_tools_apart_counts_for_page_views_too() -> None:
    told = [*BROWSER, tool("browser_resize", "Resize the window.", {"readOnlyHint": False, "destructiveHint": False})]
    assert risks(told)["browser_navigate"] == "critical"


def test_a_search_under_a_blanket_hint_is_a_read() -> None:
    marked = {"destructiveHint": True}
    names = [tool(f"run_{thing}", f"Runs the {thing}.", marked) for thing in ("pump", "crane")]
    assert risks([*names, tool("find_buoys", "Finds buoys.", marked, query=TEXT)])["find_buoys"] == "low"


@pytest.mark.parametrize(
    "definition",
    [
        tool("post_message", "Posts a message to a channel.", channel=TEXT, text=TEXT),
        tool("slack_reply_to_thread", "Reply to a message thread.", text=TEXT),
        tool("add_issue_comment", "Add a comment to an issue.", body=TEXT),
        tool("update_comment", "Update a comment.", body=TEXT),
        tool("create_pull_request_review", "Create a review on a pull request.", body=TEXT),
        tool("submit_review", "Submit the pending review.", body=TEXT),
        tool("conversations_add_message", "Add a message to a channel or a direct message.", text=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_words_that_others_read_are_asked_about(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert inference.risk == "high", inference.reasons
    [taken] = compile_tools([definition], {}, UpstreamPolicy("talk", profile("spec"))).tools
    assert taken.contract.autonomous is False and taken.contract.confirmation.by == "user"


@pytest.mark.parametrize(
    "definition",
    [
        tool("list_comments", "List the comments of an issue."),
        tool("get_review", "Get a review."),
        tool("add_reaction", "Add a reaction to a message."),
        tool("create_reply_draft", "Create the draft of a reply."),
        tool("create_message_template", "Create a template of messages."),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_nobody_else_reads_yet_is_not_raised(definition: dict[str, Any]) -> None:
    assert classify(definition).risk in ("low", "medium")


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get-env", "Returns all environment variables, helpful for debugging."),
        ("printEnv", "Prints all environment variables."),
        ("dump_environment", "Dump the process environment."),
        ("get_environment_variables", "Get the variables of the server."),
        ("env", "Show environment variables."),
    ],
)
def test_a_dump_of_the_environment_reads_credentials(name: str, description: str) -> None:
    inference = classify(tool(name, description))
    assert inference.risk == "forbidden", inference.reasons
    assert "reads the environment, which holds credentials" in inference.reasons


def test_variables_that_are_only_listed_may_be_credentials() -> None:
    assert classify(tool("list_env_vars", "Lists the environment variables of a project.")).risk == "high"


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_environment", "Get a deployment environment."),
        ("list_environments", "List the environments of a project."),
        ("get_environment_status", "Get the status of the environment variables."),
    ],
)
def test_a_place_called_environment_is_a_plain_read(name: str, description: str) -> None:
    assert classify(tool(name, description)).risk == "low"
