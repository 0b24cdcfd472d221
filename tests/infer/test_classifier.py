"""What is concluded about a tool, above all where names mislead?"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.infer import classify
from assent.infer.lexicon import DEEDS, NOUN_TOO, VERBS


def tool(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


@pytest.mark.parametrize(
    "definition",
    [
        tool("get_boat", "Get a boat by its number."),
        tool("boats_list", "List all boats."),
        tool("harbour_weather_history", "The weather of the past days."),
        tool("tides", "Returns the tide table of a harbour."),
        tool("check_berth", "Check whether a berth is free and return its state."),
        tool("run_occupancy_report", "Runs an occupancy report."),
        tool("estimate_fee", "Estimate the fee of a stay."),
        tool("take_screenshot", "Take a screenshot of the harbour camera."),
        tool("is_berth_free", "Whether the berth is free."),
        tool("manage_views", "Manage views.", operation={"enum": ["get_view", "list_views"]}),
        tool("release_notes", "List what changed in a release."),
        tool("run_query", "Execute a read-only SQL query.", sql={"type": "string"}),
        tool("export_ledger", "Export the ledger. Returns it as text."),
        tool("convert_timezone", "Convert a time between zones."),
        tool("launch_help", "Provides instructions on how to launch a boat."),
        tool("push_crate", "Call this when you need to understand how to push crates."),
        tool("deploy_log_search", "Search the logs of a deployment."),
        tool("resolve_hostname", "Resolve a host name to addresses."),
        tool("get_boats", "Page through boats by filters."),
        tool("read_harbour_cypher", "Execute a read Cypher query.", query={}),
        tool("lint_ballast_code", "Lint code and report what is wrong.", code={}),
        tool("calculate_draught", "Evaluate a formula.", expression={}),
        tool("hash_text", "Hash a text."),
        tool("browser_snapshot", "Take a snapshot of the current page."),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_only_looks_is_read_only(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive, inference.tier) == (True, False, "read")


@pytest.mark.parametrize(
    "definition",
    [
        tool("create_berth", "Create a berth."),
        tool("shopping_list_check_item", "Tick an item off the list."),
        tool("download_chart", "Download a chart and save it to a local file.", outputPath={}),
        tool("generate_invoice", "Generate an invoice."),
        tool("get_chart", "Get a chart.", saveTo={"type": "string"}),
        tool("query", "Run a SQL query.", sql={"type": "string"}),
        tool("resolve_incident", "Resolve an incident."),
        tool("review_pull_request", "Review a pull request.", body={}, event={}),
        tool("test_webhook", "Test a webhook."),
        tool("list_boats", "Sends the list of boats to the harbour master."),
        tool("track_event", "Track an analytics event."),
        tool("gizmo", "Sequester the gizmo."),
        tool("gizmo", ""),
        tool("harbour_log", "Read or replace the harbour log."),
        tool("report_abuse", "Report abusive content."),
        tool("show_notification", "Show a notification."),
        tool("return_order", "Return an order."),
        tool("encrypt_file", "Encrypt a file."),
        tool("verify_email", "Verify an email address."),
        tool("top_up_balance", "Top up the balance."),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_acts_or_may_act_is_not_read_only(definition: dict[str, Any]) -> None:
    assert not classify(definition).read_only


@pytest.mark.parametrize(
    "definition",
    [
        tool("delete_boat", "Delete a boat."),
        tool("shopping_list_delete", "Deletes a list."),
        tool("boat", "One tool for boats.", action={"enum": ["list", "get", "delete"]}),
        tool("get_boat", "Boats.", action={"enum": ["get", "delete"]}),
        tool("manage_boats", "Manage boats: create, update, delete."),
        tool("cancel_booking", "Cancel a booking."),
        tool("stop_engine", "Stop a running engine."),
        tool("revoke_pass", "Revoke a harbour pass."),
        tool("rotate_api_key", "Rotate an API key."),
        tool("reset_password", "Reset the password of a sailor."),
        tool("run_command", "Run a command on the host.", command={"type": "string"}),
        tool("execute_sql", "Execute SQL.", statement={"type": "string"}),
        tool("api_request", "Call any endpoint.", method={"enum": ["GET", "DELETE"]}, path={}),
        tool("evaluate_script", "Evaluate JavaScript in the page."),
        tool("click", "Click an element."),
        tool("run_rollback_pipeline", "Run a rollback."),
        tool("restore_backup", "Restore a backup."),
        tool("write_file", "Write a file, overwriting existing contents."),
        tool("replace_all_rules", "Replace all rules."),
        tool("browser_errand", "An autonomous agent does a task in the browser.", task={"type": "string"}),
        tool("update_boat", "Update a boat. This cannot be undone."),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_may_lose_something_is_destructive(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.destructive, inference.tier, inference.risk) == (True, "destructive", "critical")


@pytest.mark.parametrize(
    "definition",
    [
        tool("update_boat", "Update a boat."),
        tool("rename_boat", "Rename a boat."),
        tool("remove_reaction", "Remove a reaction."),
        tool("stop_recording", "Stop the recording."),
        tool("reset_unread_count", "Reset the unread count."),
        tool("unassign_sailor", "Unassign a sailor."),
        tool("replace_text", "Replace all occurrences of a text."),
        tool("manage_theme", "Manage the theme.", action={"enum": ["list", "set"]}),
    ],
    ids=lambda definition: definition["name"],
)
def test_a_change_that_loses_little_is_not_destructive_but_overwrites(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive, inference.overwrites) == (False, False, True)


def test_what_only_adds_does_not_overwrite() -> None:
    inference = classify(tool("add_comment", "Add a comment."))
    assert (inference.tier, inference.overwrites, inference.destructive) == ("write", False, False)


def test_what_is_unclear_says_so_by_its_confidence() -> None:
    assert classify(tool("gizmo")).confidence < 0.5 < classify(tool("get_gizmo", "Get a gizmo.")).confidence


def test_the_same_definition_gives_the_same_answer() -> None:
    definition = tool("sync_boats", "Sync boats, deleting those that are gone.", action={"enum": ["b", "delete", "a"]})
    assert classify(definition) == classify(definition)


LOSING = sorted(
    verb
    for verb, kind in VERBS.items()
    if kind == "destroy" and verb not in NOUN_TOO and verb not in DEEDS["mild"] | DEEDS["sparing"]
)
SOOTHING = [
    "",
    "Get a list of boats.",
    "This is a read-only tool without side effects.",
    "Provides documentation and guidance.",
    "Search and return boats. Never modifies anything.",
    "Call this when you need to understand how to do it.",
]


@settings(derandomize=True, max_examples=300)
@given(st.sampled_from(LOSING), st.sampled_from(SOOTHING), st.sampled_from(SOOTHING))
def test_no_soothing_words_make_a_destroyer_read_only(verb: str, title: str, description: str) -> None:
    definition = tool(f"{verb}_boats", description) | {"title": title}
    assert not classify(definition).read_only


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=12,
)
WORDS = st.lists(st.sampled_from([*sorted(VERBS)[::7], "boat", "and", "to", "V2", "--", "."]), max_size=5).map("_".join)


@settings(derandomize=True, max_examples=400)
@given(WORDS | st.text(), WORDS | st.text(), WORDS | st.text() | json_values, json_values, st.booleans())
def test_any_definition_is_answered_and_never_both_read_only_and_destructive(
    name: Any, title: Any, description: Any, schema: Any, trust: bool
) -> None:
    definition = {"name": name, "title": title, "description": description, "inputSchema": schema}
    inference = classify(definition, trust_annotations=trust)
    assert not (inference.read_only and inference.destructive)
    assert inference.read_only == (inference.tier == "read")
    assert inference.destructive == (inference.tier == "destructive")
    assert 0 <= inference.confidence <= 1
    assert inference.reasons


@pytest.mark.parametrize(
    "definition",
    [
        tool("execute_query", "Execute a SQL query on the harbour's database and return the rows.", query={}),
        tool("run_query", "Run a query against the database.", query={}),
        tool("snapshot_volume", "Take a snapshot of a volume."),
        tool("take_heap_snapshot", "Take a snapshot of the heap of the server."),
        tool("crew_threads_investigate", "Run an investigation prompt.", message={}),
        tool("query_pilot_agents", "Query the pilot agents and compare what they say."),
        tool("boat_infer", "Generate an image of a boat with our model.", prompt={}),
        tool("sample_llm", "Samples from a model."),
        tool("fleet_commit_cherry_pick", "Cherry-pick a commit to another branch. Returns the new commit."),
        tool("fleet_sunset", "Sunsets boats older than a year. Returns how many."),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_sounds_like_a_look_but_may_act_is_not_read_only(definition: dict[str, Any]) -> None:
    assert not classify(definition).read_only


@pytest.mark.parametrize(
    "definition",
    [
        tool("update_crew_list", "Update a crew list. This replaces the entire list.", names={}),
        tool("update_logbook", "Updates a logbook (replaces all content).", text={}),
        tool("berths_users_update", "Updates who uses a berth: all users not named are removed.", users={}),
        tool("replace_chart", "Replace the contents of a chart with those of another."),
        tool("apply_migration", "Applies a migration to the database.", steps={}),
        tool("crane_run_trigger", "Trigger runs of a crane: starting, cancelling and deleting them.", method={}),
        tool("make_api_request", "One tool for all operations of the harbour's API.", service={}, method={}),
        tool("release_phone_number", "Release a number back to the pool.", number={}),
        tool("expire_sessions", "Expire all sessions of a captain."),
        tool("isolate_host", "Isolate a host from the network."),
        tool("format_disk", "Format a disk."),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_loses_without_a_verb_of_losing_is_destructive(definition: dict[str, Any]) -> None:
    assert classify(definition).destructive


@pytest.mark.parametrize(
    "definition",
    [
        tool("git_reset", "Unstages what was staged."),
        tool("format_sql", "Format a SQL statement.", sql={}),
        tool("explain_query", "Explain the plan of a query.", sql={}),
        tool("update_boat", "Updates a boat's name."),
        tool("update_tags", "Updates tags. This replaces all existing tags.", tags={}),
        tool("patch_chart", "Apply precise changes, adding or removing items.", operation={}),
        tool("isolate_voice", "Isolate a voice in a recording."),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_only_sounds_like_a_loss_is_not_destructive(definition: dict[str, Any]) -> None:
    assert not classify(definition).destructive


@pytest.mark.parametrize("name", ["book_flight", "swap_tokens", "checkout_cart", "broadcast_transaction", "tip_driver"])
def test_what_costs_money_without_a_verb_of_paying_spends(name: str) -> None:
    assert classify(tool(name)).tier == "external_spend"
