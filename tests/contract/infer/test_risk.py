"""Risk of page views under blanket hints, of texts that others read, and of environment variables."""

from __future__ import annotations

from typing import Any

from assent.contract.infer import classify
from assent.contract.profiles import profile
from assent.upstreams.compiled_tools import UpstreamPolicy, compile_tools

TEXT = {"type": "string"}


def tool(name: str, description: str, hints: dict[str, bool] | None = None, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema, "annotations": hints or {}}


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


OTHERS_READ = [
    tool("post_message", "Posts a message to a channel.", channel=TEXT, text=TEXT),
    tool("slack_reply_to_thread", "Reply to a message thread.", text=TEXT),
    tool("add_issue_comment", "Add a comment to an issue.", body=TEXT),
    tool("update_comment", "Update a comment.", body=TEXT),
    tool("create_pull_request_review", "Create a review on a pull request.", body=TEXT),
    tool("submit_review", "Submit the pending review.", body=TEXT),
    tool("conversations_add_message", "Add a message to a channel or a direct message.", text=TEXT),
]
NOT_PUBLISHED = [
    tool("list_comments", "List the comments of an issue."),
    tool("get_review", "Get a review."),
    tool("add_reaction", "Add a reaction to a message."),
    tool("create_reply_draft", "Create the draft of a reply."),
    tool("create_message_template", "Create a template of messages."),
]
ENVIRONMENT_DUMPS = [
    tool("get-env", "Returns all environment variables, helpful for debugging."),
    tool("printEnv", "Prints all environment variables."),
    tool("dump_environment", "Dump the process environment."),
    tool("get_environment_variables", "Get the variables of the server."),
    tool("env", "Show environment variables."),
]
DEPLOYMENT_ENVIRONMENTS = [
    tool("get_environment", "Get a deployment environment."),
    tool("list_environments", "List the environments of a project."),
    tool("get_environment_status", "Get the status of the environment variables."),
]


def test_a_person_confirms_what_others_will_read() -> None:
    for definition in OTHERS_READ:
        assert classify(definition).risk == "high", definition["name"]
        [taken] = compile_tools([definition], {}, UpstreamPolicy("talk", profile("spec"))).tools
        assert taken.contract.autonomous is False and taken.contract.confirmation.by == "user"


def test_drafts_and_reactions_do_not_raise_the_risk() -> None:
    assert all(classify(definition).risk in ("low", "medium") for definition in NOT_PUBLISHED)


def test_a_dump_of_environment_variables_is_forbidden() -> None:
    for definition in ENVIRONMENT_DUMPS:
        inference = classify(definition)
        assert inference.risk == "forbidden", definition["name"]
        assert "it reads environment variables, which contain credentials" in inference.reasons


def test_a_list_of_environment_variables_may_contain_credentials() -> None:
    assert classify(tool("list_env_vars", "Lists the environment variables of a project.")).risk == "high"


def test_a_deployment_environment_is_a_plain_read() -> None:
    assert all(classify(definition).risk == "low" for definition in DEPLOYMENT_ENVIRONMENTS)
