"""Which deeds lose something only because of what stands around them?"""

from typing import Any

import pytest

from assent.infer import classify

SWITCH = {"type": "boolean"}
TEXT = {"type": "string"}


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


LOSING = [
    tool("remove_members_from_group", "Remove members from a group", group=TEXT),
    tool("transact", "Execute a transaction of creations and deletions", steps=TEXT),
    tool("harbour_logout", "Clear the stored session and cookies"),
    tool(
        "toggle_moorings", "Enable or disable moorings. WARNING: disabling removes ALL existing lines.", enabled=SWITCH
    ),
    tool("git_restore", "Restore the chart to a commit. DESTRUCTIVE — all nodes are replaced.", commit=TEXT),
    tool("save_chart", "Save the bytes of a chart back to a local file", data=TEXT),
    tool("generate_hook_secret", "Generate a new secret of a hook. It replaces the existing secret.", hook=TEXT),
    tool(
        "scene",
        "Operate on the scene.\n\naction | params\nget_active | none\ndelete_node | id",
        action=TEXT,
        params=TEXT,
    ),
    tool("pilot", "Execute the pilot without asking", prompt=TEXT, fullAuto=SWITCH),
    tool("winch_signal", "Send a signal to the running process", sig=TEXT),
    tool("play_file", "Run a local file in the runtime", path=TEXT),
    tool("run_automation_plan", "Execute a plan from a file on disk", plan_path=TEXT),
    tool("submit_job", "Submit a job to the cluster", entrypoint=TEXT),
    tool("hub_cycle", "Switch a port off and on, the usual hard-reset of a hub", port=TEXT),
    tool("mutate_graph", "Batch edit of a graph", operations=TEXT),
    tool("deploy_snapshot", "Deploy or restore a configuration from a snapshot", data=TEXT),
    tool("write", "Write text to a file", path=TEXT, content=TEXT),
    tool("send_gcode", "Send a script to the winch", script=TEXT),
    tool("create_run", "Create a run of a workspace", is_destroy=SWITCH),
    tool("crane_action", "Execute an action on a crane", action={"type": "string", "enum": ["RESTART"]}),
    tool("consume_message", "Consume a message from a queue", queue=TEXT),
    tool("import_plan", "Import a plan", mode={"type": "string", "enum": ["replace", "add", "new-page"]}),
    tool("modify_voyage", "Modify a voyage", delete_leg_ids=TEXT),
    tool("close_chart", "Close a chart", discard_changes=SWITCH),
    tool("execute_approved_action", "Execute the pending action behind an approval", approval_id=TEXT),
    tool("recall_message", "Recall a message that was sent", id=TEXT),
    tool("withdraw_offer", "Withdraw an offer", id=TEXT),
    tool("anonymize_user", "Anonymize a user", id=TEXT),
    tool("redact_message", "Redact a message", id=TEXT),
    tool("reinitialize_database", "Reinitialize the database"),
    tool("unauthorize_device", "", id=TEXT),
    tool("restart_crane", "Restart a crane"),
    tool("reload_database", "Reloads a database"),
    tool("close_position", "Close an open position"),
    tool("crane_power_state", "Change the power state of a crane", state=TEXT),
    tool("set_crane_state", "Sets the running state of a crane", state=TEXT),
    tool("stop_loading_session", "Stop a loading session", id=TEXT),
    tool("update_crane", "Updates the crane's firmware. This will cause a brief downtime.", id=TEXT),
    tool("restore_database", "Restore a database", id=TEXT),
    tool("undo_last_move", "Undoes the last move"),
    tool("merge_contacts", "Merge two contacts", first=TEXT, second=TEXT),
    tool("move_crate_to_trash", "Moves a crate to the trash", id=TEXT),
    tool("end_call", "End a call", id=TEXT),
    tool("lock_user", "Lock a user", id=TEXT),
    tool("transfer_ownership", "Transfer the ownership of a berth", to=TEXT),
    tool("roll_key", "Roll a key", id=TEXT),
    tool("alter_table", "Alter a table", table=TEXT),
    tool("write_file", "Write a file", path=TEXT, content=TEXT),
    tool("set_manifest_text", "Replace entire manifest text", manifest=TEXT, text=TEXT),
    tool("rename_hold", "Rename a hold", hold=TEXT, dropTarget=SWITCH),
    tool("set_members", "Set the members of a crew", members={}, remove_absent=SWITCH),
    tool("sync_manifest", "Synchronise a manifest", prune=SWITCH),
    tool("chart_push", "Push charts to the shore", force=SWITCH),
    tool("send_keys", "Send keys to the focused window", keys=TEXT),
    tool("submit_form", "Submit a form on the page", form=TEXT),
    tool("console", "Work at the console", action={"enum": ["click", "look"]}),
    tool("dismiss_alert_dialog", "Dismiss an alert"),
    tool("retire_barge", "Retire a barge", id=TEXT),
    tool("offboard_sailor", "Offboard a sailor", id=TEXT),
    tool("remove_berth_link", "Remove the link between two berths", link=TEXT),
    tool("rebuild_server", "Rebuild a server", id=TEXT),
    tool("disconnect_account", "Disconnect an account", id=TEXT),
    tool("merge_charts", "Merges charts", strategy={"enum": ["deleteSource", "keepBoth"]}),
    tool("batch_update", "Applies what is listed", requests={"type": "array"}),
    tool("run_agent", "Runs an agent", prompt=TEXT),
    tool("simulate_keyboard", "Simulates presses of keys", keys=TEXT),
    tool("use_computer", "Control a computer", action=TEXT),
    tool("launch_exploit", "Launch an exploit", target=TEXT),
    tool("put_note", "Write a note. Completely replaces existing content.", path=TEXT, content=TEXT),
    tool("manage_hold", "Manage a hold", operation={"enum": ["get_info", "alter_table"]}),
    tool("patch_page", "Update a page", page=TEXT, in_trash=SWITCH),
    tool("update_record", "Update a record", deleted={"anyOf": [SWITCH, {"type": "null"}]}),
    tool("update_sailor", "Update a sailor", status={"enum": ["active", "deleted"]}),
    tool("modify_engine", "Modify an engine", state={"enum": ["running", "stopped"]}),
    tool("update_order", "Update an order", status={"enum": ["open", "cancelled"]}),
    tool("close_terminal", "Close a terminal", id=TEXT),
    tool("close_link", "Close a link. Its command is signalled, then killed.", id=TEXT),
    tool("close_hatch", "Closes a hatch; unsaved changes are lost", id=TEXT),
    tool("upload_chart", "Upload a chart. Replaces an existing file at that path unconditionally.", path=TEXT),
    tool("push_chart", "Push a chart ashore, overwriting if it exists", path=TEXT),
    tool("deploy_charts", "Deploys charts to the ships", charts=TEXT, backup=SWITCH),
    tool("update_full_route", "Update a route", stops=TEXT),
    tool("scale_to_zero", "Scale a fleet to zero", fleet=TEXT),
    tool("set_policy", "Sets the policy, replacing the existing one", policy=TEXT),
    tool("extract_crate", "Extract a crate into the hold, overwriting files there", hold=TEXT),
    tool("new_chart", "Start a new chart, discarding the current one"),
    tool("receive_crates", "Receive crates from the quay, deleting them afterwards", quay=TEXT),
    tool("close_chart", "Close the chart without saving", chart=TEXT),
    tool("update_engine", "Update the engine; the ship restarts", ship=TEXT),
    tool("transfer_barge", "Transfer a barge to another owner", barge=TEXT),
    tool("restore_version", "Restore an earlier version", version=TEXT),
    tool("patch_plate", "Overwrite a plate with another", plate=TEXT),
    tool("collect_garbage", "Collect garbage in the hold"),
    tool("view_note", "Show a note once; it is destroyed afterwards", id=TEXT),
    tool("get_signals", "Get the signals, clearing them afterwards", clear=SWITCH),
    tool("list_tides", "List tides", prune=SWITCH),
    tool("merge_incidents", "Merge incidents into one", ids=TEXT),
    tool("chaos_drill", "Run a chaos drill", id=TEXT),
    tool("log_off_user", "Log a user off", user=TEXT),
    tool("quit_app", "Quit an app", app=TEXT),
    tool("load_charts", "Load charts, replacing current ones", path=TEXT),
    tool("discontinue_ferry", "Discontinue a ferry", ferry=TEXT),
    tool("compose_down", "Stop and remove the fleet", fleet=TEXT),
    tool("tear_down_quay", "Tear a quay down", quay=TEXT),
    tool("write_off_invoice", "Writes an invoice off", invoice=TEXT),
    tool("import_settings", "Import settings, optionally deleting missing ones", source=TEXT),
    tool("flash_firmware", "Flash the firmware", image=TEXT),
    tool("manage_tags", "Add, delete or list tags", operation={"enum": ["add", "delete", "list"]}),
    tool("run_in_bulk", "Runs steps in bulk", steps={"type": "array"}),
    tool("message_trash", "Move a message to the trash", message=TEXT),
    tool("import_crates", "Import crates into a hold", truncate=SWITCH),
    tool("slow_cranes", "Find slow cranes", reset=SWITCH),
    tool("harbour_browser", "Browser automation by words. Describe what to do.", prompt=TEXT),
    tool("run_crane_module", "Run a module of the crane", module=TEXT),
    tool("crane_rpc_write", "Call any **mutating** RPC method", method=TEXT),
    tool("run_crane", "Run any crane subcommand that has no tool of its own", args={"type": "array"}),
    tool("script_put_code", "Upload code into a script. Arbitrary code on the crane.", code=TEXT),
    tool("fuzz_quay", "Fuzz a quay with payloads", quay=TEXT),
    tool("check_moorings", "Checks moorings and deletes old ones", quay=TEXT),
    tool("list_sessions", "List idle sessions", terminate=SWITCH),
    tool("find_ghosts", "Find ghosts of a ship", auto_delete=SWITCH),
    tool("read_counter", "Read a counter", reset_after_read=SWITCH),
    tool("list_members", "List members of a crew or change who is in it", action={"enum": ["list", "add", "remove"]}),
    tool("explain_analyze", "Execute the statement and explain how it ran", sql=TEXT),
    tool("calculate", "Evaluates a Python expression", expression=TEXT),
    tool("process_stop", "Process is sent a signal", pid=TEXT),
    tool("harbour_orders", "POST /orders/{id}/cancel — of a harbour", order=TEXT),
    tool("query", "Execute a raw HarbourQL query against the log", query=TEXT),
    tool("send_http_request", "Issues a request and returns the response", content=TEXT, target_hostname=TEXT),
    tool("launch_app", "Launch an app. Provide the full command line.", command=TEXT),
    tool("send_input", "Send keystrokes to a session", input=TEXT),
    tool(
        "execute_query",
        "Execute SQL on the log. By default, only read-only queries are allowed. With ALLOW_WRITES all are.",
        query=TEXT,
    ),
    tool("process_crate", "Process a crate.\n\nArgs:\n    action: What to do (move, mark, delete)", action=TEXT),
    tool("update_route", "Replace stops. The list you provide REPLACES the current one.", stops=TEXT),
    tool("update_cron_job", "Update a job of the clock", command=TEXT),
    tool("query_hold", "Run an OpenHold query. Supports both read-write and read-only queries.", query=TEXT),
    tool("flatten_layers", "Flatten all layers of a chart", path=TEXT),
    tool("hold_execute", "Execute operations on the log", sql_stmts={}),
    tool("update_page", "Update a page of the log", mode={"enum": ["append", "replace"]}, content=TEXT),
    tool(
        "log_query",
        "Query data of a harbour via SQL. Best practices: limit the rows so that the answer stays small, and name the "
        "columns that are wanted by those who asked. Using it, run EXPLAIN and other read-only statements.",
        sql_stmt=TEXT,
    ),
    tool("unsplit_cargo", "Unsplit a cargo by deleting its parts and restoring the whole", cargo=TEXT),
]

KEEPING = [
    tool("remove_devices_from_group", "Remove devices from a group", group=TEXT),
    tool("remove_dependency", "Remove a dependency from a task", task=TEXT),
    tool("remove_subtitle", "Remove subtitles from a film", film=TEXT, output_dir=TEXT),
    tool("create_query", "Save a new query", name_of=TEXT, sql=TEXT),
    tool("clear_task_snooze", "Clear a snooze on a task", task=TEXT),
    tool("berth_radio", "Enable or disable a radio of a berth", enabled=SWITCH),
    tool("delete_block", "Unblock a pilot", pilot=TEXT),
    tool("stop_time_tracking", "Stop time tracking for a task", task=TEXT),
    tool("chore_execute_tool", "Mark a chore as done", chore=TEXT),
    tool("recall_scene", "Recall a scene", id=TEXT),
    tool("withdraw_funds", "Withdraw funds", amount=TEXT),
    tool("restart_timer", "Restart a timer"),
    tool("stop_playback", "Stop playing"),
    tool("stop_tunnel", "Stop the tunnel that was opened"),
    tool("rename_hold", "Rename a hold", hold=TEXT),
    tool("merge_cells", "Merge cells of a sheet", range=TEXT),
    tool("lock_sheet", "Lock a sheet", id=TEXT),
    tool("write_file", "Write a new file; fails if the file exists", path=TEXT, content=TEXT),
    tool("move_cell", "Move a cell. The cell is removed from its place and placed at another.", cell=TEXT),
    tool("set_berth", "Set the berth of a barge", berth=TEXT),
    tool("merge_charts", "Merges charts", strategy={"enum": ["ours", "theirs"]}),
    tool("push_charts", "Push charts to the shore"),
    tool("replace_order", "Replaces an existing order with another", order=TEXT),
    tool("unroute_signals", "Remove routes of signals", pattern=TEXT),
    tool("remove_background", "Remove the background of a picture", path=TEXT),
    tool("update_task", "Update a task", status={"enum": ["open", "cancelled"]}),
    tool("update_crate", "Update a crate", archived=SWITCH),
    tool("close_visit", "Close the browser session. Terminates its process."),
    tool("upload_file", "Upload a file", path=TEXT, overwrite=SWITCH),
    tool("set_crate_tags", "Add or remove tags", operation={"enum": ["add", "remove"]}, tags=TEXT),
    tool("remove_member_from_card", "Remove a member from a card", member=TEXT, card=TEXT),
    tool("create_watch", "Create a watch. Any time portion is discarded.", day=TEXT),
    tool("add_teardown_crew", "Add a teardown crew under the plan", plan=TEXT),
    tool("fill_tiles", "Fill a layer of the deck with tiles", layer=TEXT),
    tool("type_check_builder", "Build a hull with checks of its type", hull=TEXT),
    tool("drag_drop_builder", "Build a deck with drag and drop", deck=TEXT),
    tool("solve_ballast", "Fill a tank with ballast and update the plan", tank=TEXT),
    tool("cleanup_audio", "Takes the noise out", track=TEXT),
    tool("horn_stop", "Stop playback of the horn"),
    tool("edit_log", "Edit a page without reading or replacing the full content", page=TEXT),
    tool("fill_hold", "Fills a region of the hold with ballast", region=TEXT),
    tool("leave_request", "Creates a leave request", days=TEXT),
    tool("list_crate_versions", "List versions of crates", delete_markers=SWITCH),
    tool("service_start", "Start a service of the ship", service_name=TEXT),
    tool("replace_color", "Replace all pixels of one color with another", path=TEXT),
    tool("unpublish_chart", "Unpublish a chart", chart=TEXT),
    tool("voyage_run", "Start a run of voyages", code={"type": "string", "maxLength": 10}),
    tool("crate_bulk_create", "Create up to a hundred crates", crates={"items": {"properties": {"steps": {}}}}),
    tool("set_viewport", "Set zoom and scroll, or center an element. Needs a browser.", element_id=TEXT),
    tool("manage_tags", "Add, remove or list tags of a crate", operation={"enum": ["add", "remove", "list"]}),
    tool("set_berth_kind", "Set the kind of berth for all quays", clear_cache=SWITCH),
    tool("modify_hull", "A function to modify a hull. This function acts as a wrapper of the shipyard's.", hull=TEXT),
    tool("offset_tide_input_mark", "Seek a tide relative to its mark", offset=TEXT),
    tool("create_api_key", "Create a key for an application", note=TEXT),
    tool("unselect_crates", "Unselects every crate, clearing the selection", deck=TEXT),
    tool("verify_pilot", "Complete the verification by submitting the code that was sent", code=TEXT),
]


@pytest.mark.parametrize("definition", LOSING, ids=lambda definition: definition["name"])
def test_what_is_lost_by_the_circumstances_makes_a_tool_destructive(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive) == (False, True), inference.reasons


@pytest.mark.parametrize("definition", KEEPING, ids=lambda definition: definition["name"])
def test_the_same_deed_without_those_circumstances_is_not(definition: dict[str, Any]) -> None:
    assert not classify(definition).destructive, classify(definition).reasons


@pytest.mark.parametrize(
    "definition",
    [
        tool("run_query", "Run a query on the warehouse and return rows", query=TEXT),
        tool("execute_query", "Execute a query against the database", query=TEXT),
        tool("query_database", "Query the database", query=TEXT),
        tool("graphql_query", "Execute a GraphQL query or mutation", query=TEXT),
        tool("execute_cell", "Execute a cell of the logbook", cell=TEXT),
        tool("harbour_request", "Make a request to the harbour's API", path=TEXT, method=TEXT, data={}),
        tool("harbour_post", "Create harbour resources", path=TEXT, body={}),
        tool("http_post", "Send what is given", url=TEXT, body=TEXT),
        tool("fetch_url", "Fetches an address", url=TEXT, method={"enum": ["GET", "DELETE"]}),
        tool("explain_and_run", "Explain and run a query", query=TEXT),
        tool("inspect", "Evaluates code in the page", code=TEXT),
        tool("query_crane", "Send a raw command to the crane and return its answer", command=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_whatever_the_caller_writes_is_run(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive) == (False, True), inference.reasons


@pytest.mark.parametrize(
    "definition",
    [
        tool("execute_promql", "Execute a PromQL query", query=TEXT),
        tool("run_kql_query", "Run a KQL query over the logs", query=TEXT),
        tool("run_saved_question", "Run a saved question and return its rows", question_id=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_a_query_that_cannot_write_is_a_read(definition: dict[str, Any]) -> None:
    assert classify(definition).read_only, classify(definition).reasons


def test_a_tool_that_keeps_requests_does_not_send_them() -> None:
    saved = tool("create_saved_request", "Creates a request in a folder", url=TEXT, method=TEXT, body=TEXT)
    assert not classify(saved).destructive
