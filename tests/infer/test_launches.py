"""Is it seen that a tool sets something going that does whatever it holds?"""

from typing import Any

import pytest

from assent.infer import classify

SWITCH = {"type": "boolean"}
TEXT = {"type": "string"}
LIST = {"type": "array", "items": TEXT}


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


CALLING = [
    tool("mail_command", "Executes primitives of the protocol when no other tool covers it", commands=LIST),
    tool("crane_cli", "Run the crane with arguments", args=LIST),
    tool("buoy_raw", "Send raw bytes to the buoy", payload=TEXT),
    tool("launch_program", "Start a program with optional arguments", path=TEXT, args=LIST),
    tool("open_application", "Launches an executable", program=TEXT),
    tool("Deck", "Open or start applications", executable=TEXT),
    tool("debug_launch", "Launch a program under the debugger", program=TEXT),
    tool("spawn_session", "Spawn an interactive session", command=TEXT),
    tool("create_cron_entry", "Add an entry to the crontab", schedule=TEXT, command=TEXT),
    tool("playbook_run", "Run a playbook against the fleet", playbook_path=TEXT, check=SWITCH),
    tool("start_runbook", "Start a runbook", runbook=TEXT),
    tool("fleet_adhoc", "Run an ad-hoc module against hosts", module=TEXT, hosts=TEXT),
    tool("call_procedure", "Execute a stored procedure", procedure=TEXT),
    tool("pods_run", "Run a pod with the image", image=TEXT),
    tool("cypher", "Cypher", query=TEXT),
    tool("run_notebook", "Run a notebook", path=TEXT),
    tool("run_crane_action", "Runs an action on a crane", crane=TEXT, action=TEXT),
    tool("call_service", "Call a service of the harbour", domain=TEXT, service=TEXT),
    tool(
        "run_method",
        "Call a method of the harbour's server.",
        method={"type": "string", "description": "Its path, e.g. harbour.make_order"},
    ),
    tool("execute_menu_item", "Executes an item of the menu", menu_path=TEXT),
    tool("run_shortcut", "Run a shortcut", shortcut=TEXT),
    tool("scrape_tides", "Scrape a page of tides", url=TEXT, js_code=TEXT),
    tool("run_remediation", "Runs the remediation of a finding", finding=TEXT),
]

KNOWN = [
    tool("trigger_workflow", "Trigger a workflow", workflow=TEXT, inputs={}),
    tool("run_pipeline", "Run a pipeline", pipeline_id=TEXT),
    tool("launch_app", "Launch an app on the phone", package=TEXT),
    tool("launch_editor", "Launch the editor", executable_path=TEXT),
    tool("crane_action", "Perform an action on a crane", action={"enum": ["lift", "toggle", "lower"]}),
    tool("create_request", "Creates a request in a folder", program=TEXT),
    tool("create_playbook", "Create a playbook", title=TEXT),
    tool("register_command", "Register a command of the bot", title=TEXT),
]


@pytest.mark.parametrize("definition", CALLING, ids=lambda definition: definition["name"])
def test_what_does_whatever_it_holds_is_destructive(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive) == (False, True), inference.reasons


@pytest.mark.parametrize("definition", KNOWN, ids=lambda definition: definition["name"])
def test_what_starts_something_known_is_not(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive) == (False, False), inference.reasons


def test_a_read_of_a_playbook_stays_a_read() -> None:
    assert classify(tool("get_playbook", "Get a playbook", playbook=TEXT)).read_only
