"""What is concluded about the shapes that tools of other servers have, each told with an invented harbour?"""

from typing import Any

import pytest

from assent.infer import classify
from assent.infer.lexicon import OTHERWISE


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


SWITCH = {"type": "boolean"}
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "definition",
    [
        tool("get_access_to_pier", "Creates a temporary shareable link that grants access to the pier.", pier=TEXT),
        tool("snapshot-barge", "Take a snapshot of a barge", ID=TEXT, Name=TEXT),
        tool("lint_manifest", "Lint a manifest and report problems", manifest=TEXT, fix=SWITCH),
        tool("port_scan", "Run a scan against a target", target=TEXT),
        tool("get_or_refresh_pass", "Returns a valid pass, refreshing it when it has expired"),
        tool("url_scan", "Scan a URL with our scanner and return the report", url=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_sounds_like_a_look_and_acts_is_not_read_only(definition: dict[str, Any]) -> None:
    assert not classify(definition).read_only


@pytest.mark.parametrize(
    "name",
    [
        *(
            "notices.mark_read",
            "notices.mark_all_read",
            "mark_thread_read",
            "markRead",
            "mail_mark_read",
            "set_mail_read",
        ),
        *(
            "update_last_read",
            "update_read_status",
            "set_read_state",
            "flag_message_read",
            "update_discover_feed",
            "stop_fetch_job",
            "wipe_read_cache",
        ),
    ],
)
def test_read_as_a_state_that_is_set_is_no_reading(name: str) -> None:
    assert not classify({"name": name}).read_only
    assert not classify({"name": name, "description": "Sets the state of one of the caller's messages."}).read_only


@pytest.mark.parametrize("name", ["message_read", "file_read", "software_update_get"])
def test_reading_stays_reading_after_a_word_that_is_a_thing(name: str) -> None:
    assert classify({"name": name, "description": "Gets what is there."}).read_only


@pytest.mark.parametrize(
    "definition",
    [
        tool("kubekran_rollout", "Manage the rollout of a crane", subCommand={"enum": ["status", "pause", "undo"]}),
        tool("modify_hold_values", "Modifies values of a hold.", hold=TEXT, clear_values=SWITCH),
        tool("handle_dialog", "If a dialog was opened, use this to handle it", action={"enum": ["accept", "dismiss"]}),
        tool(
            "all_harbour_api", "Execute any harbour.example API operation by writing queries and mutations", query=TEXT
        ),
        tool(
            "trigger_webhook_voyage",
            "Trigger a voyage via webhook.",
            webhookUrl=TEXT,
            httpMethod={"enum": ["GET", "POST", "DELETE"]},
        ),
        tool("ferry-power-cycle", "Power cycle a ferry (power off and on)", ID=TEXT),
        tool("rebuild-barge", "Rebuild a barge from a plan, erasing its hold", ID=TEXT),
        tool("merge_berths", "Merge two berths into one; the second berth is removed", first=TEXT, second=TEXT),
        tool("compact_logbook", "Compact a logbook, discarding old pages", logbook=TEXT),
        tool("import_tides", "Import tides into a table, replacing the table if it exists", table=TEXT),
        tool("interact_with_process", "Send input to a running process and receive its answer.", pid={}, input=TEXT),
        tool("send_crane_command", "Send a command to an active crane", session=TEXT, command=TEXT),
        tool("benchmark_query", "Runs a query several times and reports the timing", sql=TEXT),
        tool("restart_container", "Restart a container", id=TEXT),
        tool("pause_cluster", "Pauses a cluster.", id=TEXT),
        tool("remove_shared_link", "Remove a shared link from a chart.", chart=TEXT),
        tool("harbour-up", "Run pulumi up for a harbour", stack=TEXT),
        tool("quit_app", "Quit an application", app=TEXT, force=SWITCH),
        tool("run_exploit", "Run an exploit against a hull", hull=TEXT),
        tool("force_push", "Force push the local chart to the remote", chart=TEXT),
        tool("checkout_chart", "Restore a chart from the archive, losing local modifications", path=TEXT),
        tool("deactivate_user", "Deactivate a user account", user=TEXT),
        tool("sign_out_everywhere", "Sign the user out of all devices", user=TEXT),
        tool("sync_hold", "Synchronise a hold with the shore; crates missing there are deleted here", path=TEXT),
        tool("gc_registry", "Garbage collect the registry"),
        tool("interrupt_kernel", "Interrupt the kernel"),
        tool("shrink_disk", "Shrink a disk", disk=TEXT, size={}),
        tool("send_keys_to_vm", "Send key strokes to the console", vm=TEXT, keys=TEXT),
        tool("upload_and_execute", "Upload a script and execute it on the host", script=TEXT),
        tool("compile_and_run", "Compile and run a program", source=TEXT, language=TEXT),
        tool("hang_up_call", "Hang up an active call", call=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_may_lose_something_by_its_shape_is_destructive(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive) == (False, True)


@pytest.mark.parametrize(
    "definition",
    [
        tool("query_render_mooring", "Run a read-only SQL query against a hosted Postgres database.", sql=TEXT),
        tool("post-database-query", "Query a database", database_id=TEXT, filter={"type": "object"}),
        tool("take_snapshot", "Take a text snapshot of the currently selected page.", verbose=SWITCH),
        tool("take_view_snapshot", "Take a snapshot of the accessibility tree."),
        tool("decompile_function", "Decompile a specific function and return its code", address=TEXT),
        tool("scan_text_nodes", "Scan all text nodes in the selected drawing", node=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_sounds_like_a_deed_and_looks_is_read_only(definition: dict[str, Any]) -> None:
    assert classify(definition).read_only


@pytest.mark.parametrize(
    "definition",
    [
        tool("remove_reaction", "Remove a reaction from a message in a public channel.", message=TEXT),
        tool("update_member", "Update a member", permissions={"type": "object", "properties": {"deleteAny": SWITCH}}),
        tool("tide_test", "The tide test command runs the tests defined on a model.", selection=TEXT),
        tool("restart_timer", "Restart a timer", timer=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_loses_nothing_that_matters_is_not_destructive(definition: dict[str, Any]) -> None:
    assert not classify(definition).destructive


@pytest.mark.parametrize("verb", OTHERWISE)
def test_a_verb_that_means_something_else_beside_certain_words_needs_no_description(verb: str) -> None:
    for word in sorted(OTHERWISE[verb][1]):
        assert classify({"name": f"{verb}_{word}"}).reasons


@pytest.mark.parametrize(
    "definition",
    [
        tool("berth_sql", "Run a read-only SELECT on the berths.", sql=TEXT),
        tool("harbourGetAction", "`input_schema`, `output_schema` and effects of an action.", actionId=TEXT),
        tool("plan_delete", "Preview what a delete tool would target. Read-only; does not modify berths.", id=TEXT),
        tool("solve_linear_tides", "Works out a system of linear equations.", coefficients={"type": "array"}),
        tool("slope", "Compute symbolic and numerical derivatives.", expression=TEXT, variable=TEXT),
        tool("pier_info", "Get detailed information about a pier.", code=TEXT),
        tool("check_syntax", "Validates the syntax of a block of harbour code.", code=TEXT),
        tool("ping", "Responds with 'pong' to test connectivity"),
        tool("tagmanager_list_berths", 'Tag Manager berths (path like "berths/1").'),
        tool("show_create_table", "The statement of a table.", table=TEXT),
        tool("ledger_insight_transfers", "Insight into transfers, grouped by account.", params={"type": "object"}),
        tool("executeSafeQuery", "Execute a query that can only read data", query=TEXT),
        tool("pier_show", "Run an operational-mode 'show' command.", path={"type": "array"}),
        tool("think", "REQUIRED FIRST STEP: Perform structured thinking before a search.", thought=TEXT),
        tool("add", "Works out a sum.", a={"type": "number"}, b={"type": "number"}),
        tool("redact_names", "Redact all names in a text and return the cleaned version.", text=TEXT),
        tool("pier_avaliacoes", "Consulta as avaliações de clientes pendentes.", idEmpresa=TEXT),
        tool("pier_dimensions", "查询泊位的维度定义。", category=TEXT),
        tool("pier_profile", "获取指定泊位的资料，返回基本信息", id=TEXT),
        tool("pier_distance", "距离测量 API 可以测量两个泊位之间的距离", origin=TEXT),
        tool("pier_voyage", "航线规划服务：根据起终点规划航线，并且返回方案", origin=TEXT),
        tool("pier_weather", "根据泊位名称查询天气", name_of=TEXT),
        tool(
            "run_query",
            "Execute a read-only SQL query. Any write operations (INSERT, UPDATE, etc.) will be rejected.",
            query=TEXT,
        ),
        tool(
            "validate_rows",
            "Validate rows without making any changes.",
            operation={"enum": ["create", "update"]},
            rows=TEXT,
        ),
        tool(
            "compute_tides",
            "Compute with two tides.",
            operation={"enum": ["add", "multiply", "norm"]},
            a={"type": "array"},
        ),
        tool(
            "db_execute_query",
            "Execute SELECT queries and nothing else.",
            operation={"enum": ["select", "count", "exists"]},
            query=TEXT,
        ),
        tool(
            "export_manifest",
            "Export a manifest.\n\n    Turns a manifest that is kept into\n    a plain string.",
            key=TEXT,
        ),
        tool("check_cargo_in_hold", "Check whether cargo is present in the hold.", cargo=TEXT),
        tool("list_repos", "List repositories. Side effects: never writes."),
        tool("get_leaflet", "Get the leaflet of a drug. Side effects: nausea, headache.", drug=TEXT),
        tool("list_models", "List all downloaded models with their local path and size."),
        tool("list_approval_rules", "List rules for automatically approving expenses."),
        tool("search_bookmarks", "Search bookmarks.", folder_id={"description": "Only those saved to this folder"}),
        tool("check_slo_burn_rate", "Get the burn rate of a budget.", slo_id=TEXT),
        tool("describe_winch", "Get documentation and help text for winch commands.", command=TEXT),
        tool("check_terms", "Check terms. Side effects: None. Pure reading.", text=TEXT),
        tool("open_nodes", "Open nodes of the knowledge graph by their names", names={"type": "array"}),
        tool("health_check", "Report this server's safety posture"),
        tool("getPageInfo", "Which page the browser is currently on."),
        tool("list_opt_outs", "List addresses left out of open and click tracking.", email=TEXT),
        tool("get_sql_explain", "Get the plan of a statement.", sql=TEXT),
        tool("search_charts", "Search charts and highlight the matching lines.", text=TEXT),
        tool("query", "Executes a LogsQL query expression to search the log.", query=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_sounds_like_a_deed_and_only_looks_is_read_only(definition: dict[str, Any]) -> None:
    assert classify(definition).read_only, classify(definition).reasons


@pytest.mark.parametrize(
    "definition",
    [
        tool("memo_insight", "Insight for the memo.", insight=TEXT),
        tool("insight_tile", "Insight on a dashboard, added as a tile.", dashboard=TEXT),
        tool("execute_query", "Execute a query as owner, not in the role that can only read data.", query=TEXT),
        tool("plan_delete", "Preview and delete what is named.", id=TEXT),
        tool("preview_delete", "Find a preview berth and tear it down. Does not modify the pier.", id=TEXT),
        tool("preview_delete", "Show what would go without making changes.", id=TEXT, confirm=SWITCH),
        tool("plan_create", "Analyze a plan into steps. Does not modify berths."),
        tool("query_pier", "Validates the SQL statement, executes it and returns the rows.", sql=TEXT),
        tool("check_order", "Validates the command against a list, then runs it on the host.", command=TEXT),
        tool("get_pier_result", "Validate a statement, run it and return the result.", sql=TEXT),
        tool("pier_sql", "Execute SQL: select statements, create table, drop table.", sql=TEXT),
        tool("pier_desk", "Run a read-only SQL query or a CREATE statement.", sql=TEXT),
        tool("check_orders", "Validates orders.", command=TEXT),
        tool("pier_slope", "Compute derivatives by running code around it.", expression=TEXT),
        tool("promotion", "Execute the promotion of a read-only replica to primary.", replica=TEXT),
        tool("execute_query", "Execute a query. If the pier is read-only, INSERT is rejected.", query=TEXT),
        tool("read_notes", "Read notes.", action={"enum": ["get", "post", "delete"]}),
        tool("check_cache", "Check the cache; status is read-only.", action={"enum": ["status", "clear", "purge"]}),
        tool("tide_points", "Points of a crew.", operation={"enum": ["add", "subtract", "multiply"]}, crew=TEXT),
        tool("pier_tabs", "Tabs by query.", action={"enum": ["find", "select"]}, query=TEXT),
        tool("pier_console", "Get the result of code in the pier's console.", code=TEXT),
        tool("pier_sage", "Compute symbolic maths with code in a container.", code=TEXT),
        tool("add_buoy", "Add a buoy to the map.", x={"type": "number"}, y={"type": "number"}),
        tool("redact_message", "Redact the last message and return its event.", text=TEXT),
        tool("ping", "Reply to the last page so that the alarm stops."),
        tool("tv_show_create", "Create a show.", title=TEXT),
        tool("harbour_show", "Run a show, clear or configuration command.", path=TEXT),
        tool("inspect_hold", "Run the inspector script inside the hold.", hold=TEXT),
        tool("pier_pedidos", "查询订单并取消。", id=TEXT),
        tool("pier_profile", "获取泊位资料并删除", id=TEXT),
        tool("pier_profile", "获取泊位资料后通知船长", id=TEXT),
        tool("pier_voyage", "航线规划服务：规划航线并且下单", origin=TEXT),
        tool("pier_saldo", "Consulta el saldo y paga la cuenta.", id=TEXT),
        tool("pier_dinero", "Devuelve el dinero al cliente.", id=TEXT),
        tool("solve_captcha", "Solves the captcha of a page.", url=TEXT),
        tool("monitor_run", "Fetch fresh reports for due watches, save snapshots and return changes.", limit=TEXT),
        tool("parse_manifests", "Parse manifests into text. The parsed files are cached locally.", files=TEXT),
        tool("parse_papers", "Parse papers into text. Returns paths to the parsed markdown files.", files=TEXT),
        tool("grid_get_value", "Get the value of a cell. Clicks the cell and reads from its field.", row=TEXT),
        tool("validate_rows", "Validate rows and then apply them.", operation={"enum": ["create", "update"]}),
        tool("run_checker", "Run the checker that is given.", code=TEXT),
        tool("find_in_chart", "Find and highlight a buoy in the window of the bridge.", buoy=TEXT),
        tool("preview_link", "Generate preview URLs for applications. Creates a tunnel that exposes ports.", port=TEXT),
        tool("get_sql_explain_analyze", "Get the plan of a statement.", sql=TEXT),
        tool("get_sql_explain", "Get the EXPLAIN ANALYZE output of a statement.", sql=TEXT),
        tool("pier_fees", "计算泊位费用并返回结果，自动支付。", id=TEXT),
        tool("pier_tokens", "获取新的令牌，旧令牌将失效。", id=TEXT),
        tool("execute_jql", "Execute a JQL search and transition all matching issues.", jql=TEXT),
        tool("extract_lessons", "从任务中提取经验并保存到记忆库。", task=TEXT),
        tool("pier_avaliacoes", "Consulta as avaliações e elimina as pendentes.", idEmpresa=TEXT),
        tool("get_canvas", "Get the canvas. Returns its address and saves it for others."),
        tool("list_voyages", "List voyages.", mode={"type": "string", "description": "'full' writes all to a file"}),
        tool("download_release", "Download a specific release for a voyage", release_guid=TEXT, voyage_id=TEXT),
        tool("get_unread", "Return unread letters. Side effect: what is returned counts as seen."),
        tool("get_letters", "Read the letters of a crew. Incoming messages returned are marked read.", crew=TEXT),
        tool("get_chart", "Look up one chart and make sure it is saved locally.", chart=TEXT),
        tool("check_guest_in", "Check a guest in.", guest=TEXT),
        tool("analyze_rivals", "WRITE tool - generates a fresh insight about rivals.", app_id=TEXT),
        tool("run_gaql_bulk", "Run GAQL queries and pause what costs too much.", query=TEXT),
        tool("run_lucene_retention", "Run a Lucene query. Matching charts are deleted.", query=TEXT),
        tool("execute_kusto", "Execute any Kusto query or management command.", query=TEXT),
        tool("execute_promql_export", "Run a PromQL query and export the rows to the store.", query=TEXT),
        tool("lost_card_report", "Report a card as lost. The card is blocked for good.", card_id=TEXT),
        tool("get_device", "Operation which wipes a device. Returns the device.", device_id=TEXT),
        tool("open_node_shell", "Open a debug shell on a node.", node=TEXT),
        tool("check_guest_in_today", "Check a guest in.", booking_id=TEXT),
        tool("query_database", "Runs SQL on the warehouse. Does not change the session settings.", sql=TEXT),
        tool("mysql_query", "执行任意 SQL 语句（增删改查）。只读查询请使用 mysql_select。", sql=TEXT),
        tool("export_report", "Export the report to the shared drive. Does not change the report.", report_id=TEXT),
        tool("slot_a_erase", "Firmware slot A erasure. Returns the status of the controller."),
        tool("fetch_media", "Download media of a letter and get the local file path.", letter_id=TEXT),
        tool("get_replay", "Get a replay.", delivery={"enum": ["resource", "file"]}),
        tool("produce_message", "Produces a single message to a topic. Use it to send events.", topic=TEXT, value=TEXT),
        tool("screen_on", "Rallume l'ecran apres un screen_off"),
        tool("invoke_promql_job", "Runs a scheduled PromQL job.", job_id=TEXT),
        tool("open_nodes", "Open the given nodes in the user's graph view window.", names={"type": "array"}),
        tool(
            "query_berths",
            "Query berths with SQL; the call does not change the settings. "
            + "It is meant for those who know them. " * 4
            + "The copy beside it is read-only.",
            sql=TEXT,
        ),
        tool("berth_scrape", "Extracts a berth's page. Auto-indexes into the archive.", url=TEXT),
        tool("scrape_berth", "Fetch a berth by its address.", url=TEXT, download_media=SWITCH),
        tool("get_manifest", "Download and return the local path to a manifest", voyage=TEXT),
        tool("read_bridge", "Monitor the bridge, auto-waiting and auto-approving.", target=TEXT),
        tool("run_crew_check", "Run the daily check for all waiting crews."),
        tool("redact_names", "Redact all names in a document and return what is left.", text=TEXT, document_id=TEXT),
        tool("run_query", "Execute a read-only SQL query, unless writes like INSERT are allowed.", query=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_is_done_beside_a_look_makes_it_none(definition: dict[str, Any]) -> None:
    assert not classify(definition).read_only, classify(definition).reasons


@pytest.mark.parametrize(
    "definition",
    [
        tool("update_fleet", "Update a fleet. Destructive mutation; asks first.", fleet=TEXT),
        tool("update_policy", "Update a policy by providing the entire policy entity in the body.", policy=TEXT),
        tool("update_layout", "Replace a screen's layout. Whole-document replace.", layout={}),
        tool("update_rota", "Updates a rota. The entire rota must be provided, not just what changes.", rota=TEXT),
        tool(
            "update_barge_notes", "Set notes of a barge. The endpoint replaces the notes field wholesale.", notes=TEXT
        ),
        tool("update_marks", "Merges marks.", upsert={"type": "array"}, delete={"type": "array"}),
        tool("remove_all_from_wishlist", "Removes all items from the wishlist."),
        tool("execute_batch_file", "Execute a batch file of deletions given as csv.", file=TEXT),
        tool("manage_notes", "Manage notes.", action={"enum": ["get", "post", "delete"]}),
        tool("issue_order", "Issue a command to the crane's process.", command={"type": "integer"}),
        tool("move_crate", "Move a crate to another place.", to=TEXT, overwrite=SWITCH),
        tool("crane_send", "Send text to a process's stdin.", process_id=TEXT, text=TEXT),
        tool("crane_send_input", "Send input to a running command and return what is new.", id=TEXT, input_text=TEXT),
        tool("feed_crane", "Send input to the active shell of a crane.", crane=TEXT, input_text=TEXT),
        tool("harbour_execute", "Executes a harbour REST request", action=TEXT, method=TEXT, data={}),
        tool(
            "update_berth_status",
            "Update the status of a berth.",
            status={"type": "string", "description": "New status: ENABLED, PAUSED, or REMOVED"},
        ),
        tool("clear_selected_cells", "Clear selected cells of the sheet."),
        tool("block_account", "Block an account.", account=TEXT),
        tool("collection_remove", "Remove a collection from the harbour.", collection=TEXT),
        tool("copy_berths", "Copy berths between two harbours.", truncateTarget=SWITCH),
        tool("gc-garbage-collection-start", "Start a garbage collection to free storage"),
        tool("restore-barge", "Restore a barge from a backup", id=TEXT),
        tool("harbour_put", "Replace resources.", path=TEXT, body={}),
        tool("start_web_task", "Start a web browsing task in the background.", task=TEXT, url=TEXT),
        tool("update_crew", "Change a crew; only what is passed changes.", remove_members={"type": "array"}),
        tool("harbour_query", "Execute one SQL statement under the readonly, write, or admin policy.", sql=TEXT),
        tool("execute_action", "Execute an action through any Harbour connector.", connector=TEXT, params={}),
        tool("post_delete_post_reply", "删除一条评论。", reply_id=TEXT),
        tool("cancel_voyage", "Cancel a voyage; the draft of the crew goes with it.", id=TEXT),
        tool("clear_materialized_view", "Clear all rows of a materialized view.", view_name=TEXT),
        tool("reset_panel", "Factory-reset an alarm panel.", panel_id=TEXT),
        tool("block_contact", "Block a contact; pending messages are deleted.", contact_id=TEXT),
        tool("suspend_sim_card", "Suspend a SIM card.", iccid=TEXT),
        tool("remove_disk_from_pool", "Remove a disk from a pool.", disk=TEXT),
        tool("remove_watchlist", "Remove a watchlist from your account, with all in it.", list_id=TEXT),
        tool("remove_task_from_project", "Remove a task from a project. It is deleted.", task=TEXT),
        tool("cancel_invoice", "Cancel an invoice. It cannot be moved back to draft afterwards.", id=TEXT),
        tool("send_batch_requests", "Send requests in one batch.", requests={"type": "array"}),
        tool("stop_data_capture", "Stop data capture for the line.", line_id=TEXT),
        tool("motor_a_stop", "Emergency stop for motor A."),
        tool("write_file", "Write or append.", path=TEXT, content=TEXT, mode={"enum": ["rewrite", "append"]}),
        tool("execute_query", "Execute a SQL query. Read-only connections allow only reading.", query=TEXT),
        tool("shop_refund_order", "Issue a refund for an order.", orderId=TEXT),
        tool("look_up_berths", "Execute a query against the harbour. Does not change the settings.", query=TEXT),
        tool("send_keys", "Send special keys to a session.", host=TEXT, keys=TEXT),
        tool("split_window", "Split a window to create a new pane.", target=TEXT, command=TEXT),
        tool("write_file", "Write content to a remote file.", remote_path=TEXT, content=TEXT),
        tool("create_job", "Create a container job", image=TEXT, command={"type": "array"}),
        tool("load_script", "Loads and executes Lua scripts in the process.", paths=TEXT),
        tool("launch_app", "Launch an application.", app=TEXT, appArguments=TEXT),
        tool("close_all_windows", "Close all windows of the bridge."),
        tool("close_position", "Close a position in freight futures.", symbol=TEXT),
        tool("close_conference", "Close a conference of pilots.", id=TEXT),
        tool("withdraw_contract", "Withdraws a charter that was sent.", id=TEXT),
        tool("dismiss_alert", "Dismiss the alert on the device.", uuid=TEXT),
        tool("handle_dialog", "Accept or dismiss a dialog of the page.", id=TEXT),
        tool("stop_sonar", "Stop recording echoes and discard those of today", id=TEXT),
        tool("stop_listener", "Stop listening on a quay, dropping all ships.", id=TEXT),
        tool("close_all_trades", "Close all trades of a ship.", ship=TEXT),
        tool("delete_watch", "Stop watching a quay.", quay=TEXT),
        tool("sync_berths", "Synchronize a folder of berths. Files missing from disk are pruned.", path=TEXT),
        tool("skipper", "Invokes the skipper's CLI to do a task.", PROMPT=TEXT, sandbox=SWITCH),
        tool(
            "harbour_write_raw",
            "Create or update data at any path.",
            method={"enum": ["POST", "PUT"]},
            path=TEXT,
            body={},
        ),
    ],
    ids=lambda definition: definition["name"],
)
def test_losses_that_a_word_or_a_parameter_gives_away(definition: dict[str, Any]) -> None:
    assert classify(definition).destructive, classify(definition).reasons


@pytest.mark.parametrize(
    "definition",
    [
        tool("update_fleet", "Update a fleet. This is no destructive operation.", fleet=TEXT),
        tool("save_log", "Save the log.", path=TEXT, overwrite=SWITCH),
        tool("send_program_change", "Send a program change.", program={"type": "integer"}, channel=TEXT),
        tool("execute_import", "Uploads a CSV file and starts an import.", filePath=TEXT, mappingId=TEXT),
        tool("berth_trend", "Clicks/impressions/position per day, from the harbour's own records.", start_date=TEXT),
        tool("batch_send_emails", "Send a batch of emails in one call.", base={}, requests={"type": "array"}),
        tool("cancel_campaign", "Cancel a scheduled campaign, returning it to draft.", id=TEXT),
        tool("playlist_remove_from", "Remove songs from a playlist.", songs=TEXT),
        tool("watchlist_remove", "Remove a ship from the account's watchlist.", ship=TEXT),
        tool("control_playback", "Control playback.", action={"enum": ["play", "pause", "stop"]}),
        tool("update_note", "Update a note.", status={"type": "string", "description": "DELETED notes are rejected"}),
        tool("remove_issue_from_project", "Remove an issue from a project.", issue=TEXT),
        tool("remove_berth_from_initiative", "Remove a berth from an initiative.", berth=TEXT),
        tool("API-update-a-block", "Harbour | Update a block", block_id=TEXT),
        tool("remove_from_watchlist", "Remove a ship from the watchlist.", ship=TEXT),
        tool("remove_from_cart", "Remove a rope from the cart.", rope=TEXT),
        tool("dismiss_alert", "Dismiss an alert of the harbour by its number.", uuid=TEXT),
        tool("close_all_hatches", "Close all hatches of a hold.", hold=TEXT),
        tool("close_crane_position", "Close a vacant position of a crane's crew.", id=TEXT),
        tool("stop_sonar", "Stop capturing echoes", id=TEXT),
        tool("unwatch_quay", "Stop watching a quay.", quay=TEXT),
        tool("add_charts_to_index", "Performs a scan of a folder to add its code to the index.", folder=TEXT),
        tool("quay_html", "", url=TEXT, js=SWITCH),
    ],
    ids=lambda definition: definition["name"],
)
def test_what_only_sounds_like_a_loss_is_none(definition: dict[str, Any]) -> None:
    assert not classify(definition).destructive, classify(definition).reasons
