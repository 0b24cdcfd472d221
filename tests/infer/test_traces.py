"""Which reads leave something behind, and which names only sound like a deed?"""

from typing import Any

import pytest

from assent.infer import classify

SWITCH = {"type": "boolean"}
TEXT = {"type": "string"}


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


@pytest.mark.parametrize(
    "definition",
    [
        tool("read_messages", "Reads the messages of an inbox and marks them as read."),
        tool("get_result", "Runs Python code and gives what it printed.", code=TEXT),
        tool("export_to_url", "Export the chart to a shareable harbour.example URL. Returns the link."),
        tool("order_history", "Orders the history of the harbour"),
        tool("transform_file", "Transform an HTML file into markdown", path=TEXT),
        tool("harbour_start_free", "Get a free harbour without an account"),
        tool("review_change_request", "Review a change request: submit an opinion", opinion=TEXT),
        tool("get_templates", "Get, email or copy templates of a harbour"),
        tool("harbour_search", "DELETE /api/search — Search of crates."),
        tool("track_stereo_to_mono", "Convert the selected track to mono"),
        tool("transcribe_to_file", "Transcribe a call"),
        tool("draught", "Calculate the draught", output={"type": "string", "default": "draught.xvg"}),
        tool("find_clipping", "Find clipping in a horn and create labels there"),
        tool("export_moorings", "Export moorings. Returns how many.", output_file_path=TEXT),
        tool("battery_charge_tool", "Track a charge of a battery", battery=TEXT),
        tool("show_lee_surface", "Calculate and display the lee on the surface", spec=TEXT),
        tool("screenshot", "Take a screenshot of the bridge. Returns the absolute file path."),
        tool(
            "answers_execute_workflow", "Execute the workflow that answers a question. Returns its text.", question=TEXT
        ),
        tool("setting_get", "Read a setting; if a value is provided, write it instead", value=TEXT),
        tool("show_cranes", "Show cranes to the user in the editor: opens the quay that holds them", crane=TEXT),
        tool("learn_part", "Learn a part once, before it is placed", part=TEXT),
        tool("outline_layer", "Trace the rendered paint onto another layer", layer=TEXT),
        tool("suggest_links", "Analyzes names. Returns suggestions only by default", dry_run=SWITCH),
        tool("lint_log", "Validates the documentation of a log against guidelines", fix=SWITCH),
        tool(
            "socket",
            "Manage connections",
            action={
                "anyOf": [
                    {"type": "object", "properties": {"type": {"const": "send"}, "message": TEXT}},
                    {"type": "object", "properties": {"type": {"const": "receive"}, "action": {"enum": ["get-all"]}}},
                ]
            },
        ),
        tool("get_file", "Share file with user", user=TEXT),
        tool("room_export", "Serialize a room into portable JSON", target_path=TEXT),
        tool("query_logs", "Execute a query of the harbour. Use this for any API method.", method=TEXT),
        tool("convert_time_to_shift", "Convert a time into a shift. Creates a shift of the crew.", id=TEXT),
        tool("expand_ip_pool", "Expands a pool by appending ranges", pool=TEXT),
        tool("show_sticks", "Show stick representation for a selection", spec=TEXT),
        tool("query_graphql", "Query an endpoint with the given query and variables", query=TEXT),
        tool("benchmark_script", "Benchmark a script with other switches", path=TEXT),
        tool("ask_crew", "Show a dialog with your message and wait for their answer", message=TEXT),
        tool("hull_evaluate", "Evaluate expression in current context", expr=TEXT),
        tool("explain_query", "Get the plan of a query", sql=TEXT, analyze=SWITCH),
        tool("execute_custom_query", "Execute a custom request against the ledger", xml_request=TEXT),
        tool("get_chart", "Get a chart of the tides", output={"type": "string", "enum": ["inline", "file"]}),
        tool("generate_song", "Generate a song. Returns its ids.", mood=TEXT),
        tool("simulate_deposit", "Simulate a deposit in the authenticated sandbox account", amount=TEXT),
        tool("forced_browse", "Discover hidden folders by brute force", target=TEXT),
        tool("aggregate", "Run an aggregation against a collection", pipeline=TEXT),
        tool("view_delete", "View of a harbour by its id", id=TEXT),
        tool("track_delete", "Track", id=TEXT),
        tool(
            "hold_aggregate",
            "Run a pipeline over crates and return them. Supports $out and $merge stages.",
            stages=TEXT,
        ),
        tool("get_updates", "Get pending updates. Updates before the offset are confirmed and dropped.", offset=TEXT),
        tool("get_diagnostics", "Gets diagnostics; the device reboots to collect them."),
        tool("get_audit", "Gets an audit. Takes the harbour offline meanwhile."),
        tool("get_rid", "Gets rid of a buoy.", buoy=TEXT),
        tool("download_chart", "Download a chart of the harbour. Returns its text.", dest_dir=TEXT),
        tool("download_plan", "Download a plan; the file is written beside the log. Returns its text."),
        tool("crane_diagnosis", "Perform a check of a crane", output_path=TEXT),
        tool("list_berths", "List berths and complete the bookings"),
        tool("report_crane", "Reports a crane to the harbour master"),
        tool("generate_map", "Generate a map for a game"),
        tool("request_berth", "Requests a berth"),
        tool("audit_crew", "Audits the crew and disables idle accounts"),
        tool("analyze_logs", "Analyzes logs and sends alerts to the crew"),
        tool("scan_hold", "Scan a hold", repair=SWITCH),
        tool("find_prologues", "Find prologues", create_functions=SWITCH),
        tool("return_to_base", "Return to the base", ship=TEXT),
        tool("recall_preset", "", preset=TEXT),
        tool("display_text", "Display a text on the bridge", text=TEXT),
        tool("show_panel", "Show a panel"),
        tool("look_at", "Look at a point", x=TEXT, y=TEXT),
        tool("locate_device", "", seconds=TEXT),
        tool("learn_pattern", "Learn a pattern", content=TEXT),
        tool("subtract_solid", "Subtracts a solid from another"),
        tool("look_ahead", "Aim the camera forward"),
        tool("get_value", "Get the value of an expression in the paused frame", expression=TEXT),
        tool("generate_chart", "Generate a chart on a dashboard", dashboard_id=TEXT),
        tool("does_backup", "Does a backup of the hold now"),
        tool("hull_status", "PUT /hulls/{id}/status: status of a hull", status=TEXT),
        tool("get_token", "Get a token, revoking earlier tokens of the user"),
        tool("review_costs", "Review costs", decision=TEXT),
        tool("latest_backup", "Latest backup is put back over the hold"),
        tool("simulate_outage", "Simulate an outage by blocking traffic to a quay"),
        tool("explore_data", "Silent read-only execution of code", csharp_code=TEXT),
        tool("query", "Execute any query against the log", query=TEXT),
        tool("list_cranes", "List all cranes and restart the idle ones"),
        tool("take_screenshot", "Take a screenshot of the bridge", filename=TEXT),
        tool("manage_charts", "Manage charts.\n\nArgs:\n    operation: One of (list, rename)", operation=TEXT),
        tool("debug_step_in", "Step into the next instruction"),
        tool("score_checklist_item", "Score checklist item (mark complete)", item=TEXT),
        tool("show", "Show a representation of a selection", representation=TEXT, selection=TEXT),
        tool("snapshot_manager", "Takes, lists and prunes snapshots of a hold"),
        tool("solo_track", "Solo a track by its number", track=TEXT),
        tool("level_tracks", "Analyze and automatically balance the tracks"),
        tool("export_crew", "Exports a crew file. Returns: status of the export"),
        tool("harbour_overview", "[Overview] A harbour briefing", action=TEXT),
        tool("generate_tide_chart", "Generate a chart of the tides", save_chart=SWITCH),
        tool("crew_list", "Manage the crew.", action={"enum": ["add", "remove"]}),
        tool("list_messages", "Lists messages", mark_as_read=SWITCH),
        tool("get_log", "Returns the log", clear=SWITCH),
        tool("get_next_job", "Gets the next job, marking it as taken."),
        tool("get_berth", "Gets the berth of a barge, creating it if there is none."),
        tool("find_pilot", "Finds a pilot. If one does not exist, it will be created."),
        tool("get_or_create_berth", "Get or create a berth"),
        tool("lookup_or_register", "Look up a barge"),
        tool("scrape_and_save", "Scrape a page"),
        tool("get_upload_url", "Get an address for an upload"),
        tool("get_chart", "Downloads the chart to a local file and returns its path"),
        tool("get_page", "Navigates to a page and returns its text", url=TEXT),
        tool("browse", "Open a page in the browser", url=TEXT),
        tool("observe_tide", "Subscribe to a tide"),
        tool("find_berth_and_book", "Find a berth"),
        tool("search", "Searches for and enrolls in a course"),
        tool("read_aloud", "Reads a text on the speakers", text=TEXT),
        tool("view_in_browser", "Opens in the browser"),
        tool("show_in_finder", "Reveals a chart in the Finder"),
        tool("audit_fix", ""),
        tool("git_fetch", "Fetch from a remote"),
        tool("ping_user", "Ping a user in the chat"),
        tool("receive_message", "Receive a message from the queue"),
        tool("monitor_voyage_start", "Analyzes the voyage and returns the first step."),
        tool("run_hull_analysis", "Run the solver on a hull and return a summary"),
    ],
    ids=lambda definition: definition["name"],
)
def test_a_read_that_leaves_a_trace_is_not_read_only(definition: dict[str, Any]) -> None:
    assert not classify(definition).read_only, classify(definition).reasons


@pytest.mark.parametrize(
    "definition",
    [
        tool("get_messages", "Gets messages. Does not mark them as read."),
        tool("get_port", "Gets a port by its code.", code=TEXT),
        tool("capture_pane", "Capture content from a pane", pane=TEXT),
        tool("search_moorings", "Runs several search queries at once", query=TEXT),
        tool("crate_query", "Search for crates in the database", query=TEXT),
        tool("read_chart", "Download a chart to a temporary directory and return its text", path=TEXT),
        tool("query_winches", "Generate a command that exports winches of a quay", output_folder=TEXT),
        tool("crates_aggregate", "Run a pipeline over crates. $out and $merge are blocked.", stages=TEXT),
        tool("describe_berth", "Compact schema of a berth, with its fields"),
        tool("plan_course", "Plan the geometry of a course. Does not draw.", spec=TEXT),
        tool("berth_template", "Render templates of a berth without installing"),
        tool("status", "Version, uptime, cranes. Set HARBOUR_URL for other hosts."),
        tool("list_notices", "Notices of the bell: new berths, changes, cancellations."),
        tool("berth_estimate", "Generate a rough estimate of what a berth costs", berth=TEXT),
        tool("berth_palette", "Generate suggestions of colours for a berth", berth=TEXT),
        tool("generate_drill", "Generate a drill. Returns its steps.", crew=TEXT),
        tool("export_glossary", "Exports a glossary as CSV", id=TEXT),
        tool("harbour_version", "Print the version information of the harbour"),
        tool("show_all", "Show all information of a chart", chart=TEXT),
        tool("download_manifest", "Downloads a manifest as base64-encoded content", manifest=TEXT),
        tool("test_dns", "Tests a name", name_of=TEXT),
        tool(
            "get_statements", "Get statements of an account", statement={"type": "string", "enum": ["income", "cash"]}
        ),
        tool(
            "script_get", "Returns one script", script={"type": "string", "description": "The script id, or its name."}
        ),
        tool("operations_size", "Count remote size — Reports the total size", remote=TEXT),
        tool("config_dump", "Dump the configuration. Returns its contents."),
        tool("scan_hull", "Complete analysis of a hull: plates and rivets", hull=TEXT),
        tool("evaluate_sum", "Evaluate a mathematical expression", expression=TEXT),
        tool("explain_query", "Get the plan of a query", sql=TEXT),
        tool("list_resume_versions", "Return stored versions, newest first", limit=TEXT),
        tool("map_ids", "Map identifiers between two registers", ids=TEXT),
        tool("generate_weekly_report", "Generate a weekly report", date_range_start=TEXT, date_range_end=TEXT),
        tool("generate_color_palette", "Generate a palette from a base colour", base=TEXT),
        tool("list_trash", "List what is in the trash"),
        tool("get_uptime", "Get the uptime, which is zero when the device reboots"),
        tool("miles_to_knots", "Convert amounts of one into the other", amount=TEXT),
        tool("manage_charts", "Manage charts.\n\nArgs:\n    operation: One of (list, get_info)", operation=TEXT),
        tool("harbour_info_crew", "Crew on duty, with their posts."),
        tool("bridge_status", "Report the bridge: who is on it. Call this first."),
        tool("stake_quote", "Retrieve a stake quote", amount=TEXT),
        tool("list_cranes", "List all cranes with their status, usage, and restart count"),
        tool("recommend_berth", "Uses a model to recommend a berth"),
        tool("get_log_text", "Outputs the text of the log"),
        tool("get_latest_entry", "Most recent entry of a log, so you can extend it"),
        tool("export_report", "Export a report. Read-only: it never writes the log."),
        tool("period_summary", "Read-only digest: roll a week into a summary"),
        tool("generate_berth_qr_code", "Generate a QR code of a berth"),
        tool("ask_log", "Use a model to analyze and respond to a prompt", prompt=TEXT),
        tool("list_pulls", "Pull requests of a chart."),
        tool("queue_status", "Queue depth of a quay."),
        tool("berth_balance", "Get the balance of a berth."),
        tool("get_record_status", "Record output status: active or paused."),
        tool("campaign_stats", "Shows opens, clicks and unsubscribes of a campaign"),
        tool("list_berths", "List berths with optional filters and complete pagination"),
        tool("health", "Reports the health of a harbour; call this first."),
        tool("get_last_log", "File path of the last log."),
        tool("harbour_static_map", "Generates a static map image of a harbour"),
        tool("harbour_generate", "Generate a completion from a prompt", prompt=TEXT),
        tool("request_tides", "Requests data from a gauge"),
        tool("list_moves", "List sync, reset and clear moves of a crane"),
        tool("list_all_moves", "List all moves, including refresh and clear"),
        tool("recent_moorings", "Recent moorings of a harbour"),
        tool("draught_analyzer", "Perform an analysis of the draught"),
        tool("resolve_selection", "Resolve a selection into crates without launching anything"),
        tool("crane_locks", "Analyze the locks of a crane", truncate=SWITCH),
        tool("harbour_get_resume", "Download and read a pilot's resume"),
        tool("search_crates", "搜索箱子。page 参数用于分页，最多一百页。"),
        tool("harbour_search", "POST /api/search — Low-level search of crates."),
        tool("get_templates", "Get SMS/Email templates of a harbour"),
        tool("optimize_quay", "Get recommendations for the quay"),
        tool("hull_gc_audit", "Audit scripts for allocations and GC pressure"),
        tool("query_decks", "Asynchronous tool function to query all decks. Handles errors."),
        tool("screen_vessels", "Screen vessels by their draught. Returns those that match."),
        tool("order_history", "The history of one order. Orders imported are left out."),
        tool("password_generate", "Generate a random password"),
        tool("crate_transform", "Transform HTML into markdown", data=TEXT),
        tool("search_crates", "Searches for crates whose marks match an expression", expression=TEXT),
        tool("pull_request__list", "List pull requests of a chart"),
        tool("pull_request_list", "List pull requests of a chart"),
        tool("load_balancers_list_quays", "List the quays of a load balancer"),
        tool("trash_list_charts", "List charts of the trash collectors"),
        tool("get_replay_buffer_status", "Whether the buffer is active."),
        tool("harbour_overview", "[Overview] A harbour briefing, weekly or daily"),
        tool("list_repayments", "Lists repayments.", action={"enum": ["credit", "refund"]}),
        tool("generate_tide_chart", "Generate a chart of the tides", data=TEXT),
        tool("crane_graph", "Render a graph of a crane as an image.", crane=TEXT),
        tool("list_secrets", "Retrieve all secrets stored in the workspace."),
        tool("describe_hold", "Start here: the crates of a hold, their sizes and places."),
        tool("list_berths", "DEPRECATED: use berths instead. List all berths."),
        tool("harbour-berths-reader", "Gives what the harbour knows about its berths."),
        tool("harbour-crew-reader", "Select and run one of these read operations (read-only): get-crew.", pick=TEXT),
        tool("tide_status", "Report what the gauge says about the tide."),
        tool("check_update", "Checks whether there is an update"),
        tool("estimate_order", "Says what an order would cost.", item=TEXT),
        tool("run_read_only_query", "Runs a read-only query; writes are rejected.", query=TEXT),
        tool("harbour_run_readonly_command", "Run a command if it is on the read-only list.", command=TEXT),
        tool("get_type_info", "Get information about a type", method={"description": "Which one: create, list."}),
    ],
    ids=lambda definition: definition["name"],
)
def test_a_read_that_only_sounds_like_a_deed_is_read_only(definition: dict[str, Any]) -> None:
    assert classify(definition).read_only, classify(definition).reasons


def test_a_name_that_claims_to_only_read_is_not_enough() -> None:
    assert classify(tool("run_read_only_query", "Runs any query.", query=TEXT)).destructive


def test_a_budget_that_is_removed_is_lost_and_a_cache_that_is_cleared_is_not() -> None:
    assert classify(tool("remove_budget", "Remove the budget of a period.")).destructive
    assert not classify(tool("clear_cache", "Clears the cache.")).destructive


def test_a_program_in_front_of_the_verb_is_only_where_it_is_done() -> None:
    assert not classify(tool("ssh_upload", "Uploads a chart to a host", path=TEXT)).destructive
    assert classify(tool("ssh_execute", "Executes on a host", command=TEXT)).destructive


def test_a_vendor_called_like_a_look_does_not_hide_what_is_run() -> None:
    assert not classify(tool("reflect_run_voyage", "Run a voyage of Reflect")).read_only
