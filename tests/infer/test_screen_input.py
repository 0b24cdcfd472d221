"""Is it seen that a tool presses, types or chooses on a live screen?"""

from typing import Any

import pytest

from assent.infer import classify

SWITCH = {"type": "boolean"}
TEXT = {"type": "string"}
STEPS = {"type": "array", "items": {"type": "object", "properties": {"type": {"enum": ["wait", "click", "scroll"]}}}}
UNITED = {"items": {"anyOf": [{"properties": {"type": {"const": "wait"}}}, {"properties": {"type": {"const": "tap"}}}]}}
LOOKING = {"type": "array", "items": {"type": "object", "properties": {"type": {"enum": ["wait", "screenshot"]}}}}


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


PRESSING = [
    tool("Shortcut", "Executes keyboard shortcuts such as ctrl+c", shortcut=TEXT),
    tool("trigger_hotkey", "Trigger a hotkey by its name", hotkey_name=TEXT),
    tool("key_combo", "Performs a key combination", keys=TEXT),
    tool("Pointer", "Moves the cursor to a place; can drag", loc=TEXT, drag=SWITCH),
    tool("MultiEntry", "Enters text into multiple input fields", locs=TEXT),
    tool("set_field_value", "Set the value of an input field", selector=TEXT, value=TEXT),
    tool("enter_text", "Enter text in the focused field", text=TEXT),
    tool("set_text", "Sets the text of an element on the screen", text=TEXT),
    tool("console_select", "Select an option in a dropdown", values=TEXT),
    tool("MultiPick", "Selects several items at coordinates", locs=TEXT),
    tool("inspect_buoy", "Inspect a buoy by clicking it", buoy=TEXT),
    tool("find_and_click", "Find a text on the screen and click it", text=TEXT),
    tool("read_after", "Read a page after steps", url=TEXT, actions=TEXT),
    tool("perform_gesture", "Perform a gesture on the simulator", gesture=TEXT),
    tool("work_page", "Work on a page", url=TEXT, actions=STEPS),
    tool("operate_harbour", "Operate a site", url=TEXT, options={"properties": {"actions": UNITED}}),
]

SPARING = [
    tool("set_field_value", "Set the value of a custom field of a record", record=TEXT, value=TEXT),
    tool("update_source", "Update the fields of a source", uid=TEXT),
    tool("update_schedule", "Update a schedule's ref and inputs", ref=TEXT),
    tool("select_harbour", "Select the harbour to work with", harbour=TEXT),
]


@pytest.mark.parametrize("definition", PRESSING, ids=lambda definition: definition["name"])
def test_what_is_pressed_or_entered_on_a_screen_may_do_anything(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive) == (False, True), inference.reasons


@pytest.mark.parametrize("definition", SPARING, ids=lambda definition: definition["name"])
def test_what_is_set_elsewhere_is_a_mere_change(definition: dict[str, Any]) -> None:
    inference = classify(definition)
    assert (inference.read_only, inference.destructive) == (False, False), inference.reasons


def test_steps_that_only_wait_and_look_leave_a_read_a_read() -> None:
    assert classify(tool("scrape_tides", "Scrape a page", url=TEXT, actions=LOOKING)).read_only
