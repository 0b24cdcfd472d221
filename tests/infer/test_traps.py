"""Is each trap that is known from real servers avoided, and is a false claim about it found?"""

from typing import Any

import pytest

from assent.infer import classify
from assent.lint import lint
from assent.lint.target import target_of

TEXT = {"type": "string"}


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


# What sounds harmless and is not: the flags are (read-only, destructive).
ACTING = {
    "list is a thing": (tool("crate_list_delete", "Deletes a list of crates.", id=TEXT), True),
    "list is a thing, and nothing is said": (tool("mooring_list_clear", ""), True),
    "a second verb": (tool("search_and_replace", "Searches a chart and replaces what was found.", text=TEXT), False),
    "an action that deletes": (
        tool("get_crates", "Crates of a hold.", action={"enum": ["list", "get", "delete"]}),
        True,
    ),
    "an action told in words": (
        tool("crates", "Crates of a hold.", action={"type": "string", "description": "One of: list, delete."}),
        True,
    ),
    "a download into a file": (tool("download_chart", "Downloads a chart.", chart=TEXT, save_path=TEXT), False),
    "a download that says so": (tool("download_log", "Downloads the log and saves it to a local file."), False),
    "an export with a title": (tool("export", "Export tides in some format.", exportTitle=TEXT), False),
    "keys that are typed": (tool("type_keys", "Type text into the focused element", text=TEXT, submit={}), True),
    "a noun that is told to act": (tool("berth", "Assigns a berth to a barge.", barge=TEXT), False),
    "generate with a file": (tool("generate_manifest", "Generates a manifest.", output_path=TEXT), False),
    "new as a verb": (tool("new_berth", "Returns the berth."), False),
    "a stream that goes out": (tool("foghorn", "Stream a sound to the quay.", sound=TEXT), False),
    "a check that mends": (tool("run_lint", "Run the linter.", fix={"type": "boolean"}), False),
    "deploy as a verb": (tool("deploy_buoys", "Deploys buoys."), False),
    "a description of another tool": (tool("list_invoices", "This tool will finalize an invoice."), False),
}

# What sounds like a deed and only tells.
TELLING = {
    "push that returns a text": tool(
        "push_signal",
        "Provides instructions on how to push a signal to the flag store. Call this when you need to understand how"
        " signals are pushed. Returns documentation with an example of the code.",
    ),
    "a noun without a verb": tool("tide_table", "Returns the tide table of a port."),
    "a noun about a noun": tool("harbour_overview", "Overview of the harbour."),
    "deploy as a noun": tool("deploy_status", "Gets the state of a deploy.", id=TEXT),
    "deploys listed": tool("list_deploys", "Lists the deploys of a site."),
    "can I deploy": tool("harbour_can_i_deploy", "Performs a check whether a version can be deployed."),
    "guidance that says act": tool(
        "mooring_guide", "Provides step-by-step guidance on how to create, update and delete moorings."
    ),
    "a query that is generated": tool("generate_query", "Generates a query from a question.", question=TEXT),
    "an export that is returned": tool("export_signals", "Exports signals and returns them as text."),
    "a report of something": tool("aged_crates", "Report of crates by age."),
    "new as an adjective": tool("new_tides", "Return the newest tides."),
    "a stream that is read": tool("stream_tides", "Stream the tides of a port for some seconds.", port=TEXT),
    "a map that is drawn": tool("harbour_map", "Map a website's structure. Returns what was found.", url=TEXT),
    "a quote for a deed": tool("swap_quote", "Get a quote for a swap.", amount=TEXT),
    "vacuum that only looks": tool("health_vacuum", "Identifies what could be removed, without removing anything."),
}


@pytest.mark.parametrize("trap", ACTING)
def test_what_sounds_harmless_is_seen_to_act(trap: str) -> None:
    definition, destructive = ACTING[trap]
    inference = classify(definition)
    assert (inference.read_only, inference.destructive) == (False, destructive), inference.reasons


@pytest.mark.parametrize("trap", TELLING)
def test_what_sounds_like_a_deed_is_seen_to_tell(trap: str) -> None:
    assert classify(TELLING[trap]).read_only, classify(TELLING[trap]).reasons


@pytest.mark.parametrize("trap", ACTING)
def test_a_false_claim_to_read_only_is_an_error(trap: str) -> None:
    claimed = {**ACTING[trap][0], "annotations": {"readOnlyHint": True}}
    found = {finding.rule: finding.severity for finding in lint(target_of(claimed)).findings}
    assert found.get("read-only-contradicted") == "error", found


@pytest.mark.parametrize("trap", TELLING)
def test_a_true_claim_to_read_only_is_believed(trap: str) -> None:
    claimed = {**TELLING[trap], "annotations": {"readOnlyHint": True}}
    found = {finding.rule for finding in lint(target_of(claimed)).findings}
    assert found.isdisjoint({"read-only-contradicted", "read-only-unclear"})


@pytest.mark.parametrize("trap", [trap for trap, (_, destructive) in ACTING.items() if destructive])
def test_a_false_claim_to_destroy_nothing_is_found(trap: str) -> None:
    claimed = {**ACTING[trap][0], "annotations": {"readOnlyHint": False, "destructiveHint": False}}
    found = {finding.rule for finding in lint(target_of(claimed)).findings}
    assert found & {"destructive-contradicted", "press-called-harmless"}


def test_a_statement_that_a_store_is_given_is_no_look_at_it() -> None:
    assert not classify(tool("analyze_table", "Run ANALYZE on a table.", table=TEXT)).read_only


@pytest.mark.parametrize(
    "definition",
    [
        tool("hullck", "Check a hull and repair leaks", hull=TEXT),
        tool("sounding", "Check a depth", fix={"type": "boolean"}),
        tool("hull_scan", "Run a scan of a hull", hull=TEXT),
        tool("read_crates", "Read crates; items are removed from the quay after reading", quay=TEXT),
        tool("lookup_sailor", "Look up a sailor, creating it when missing", sailor=TEXT),
        tool("search_charts", "Search the charts; rebuilds it when stale", q=TEXT),
        tool("verify_copy", "Verify a copy by restoring it", copy=TEXT),
        tool("explain", "Explain a query by running it", sql=TEXT),
        tool("get_invite_link", "Get a link to come in", user=TEXT),
        tool("get_new_key", "Get a new key", name_of=TEXT),
        tool("get_view_after", "Perform an action and return a screenshot", deed=TEXT),
    ],
    ids=lambda definition: definition["name"],
)
def test_a_look_that_does_something_as_well_is_no_read(definition: dict[str, Any]) -> None:
    assert not classify(definition).read_only, classify(definition).reasons


def test_a_thing_after_and_is_no_second_deed() -> None:
    assert classify(
        tool("list_logs", "Retrieve a list of logs, including outcome, duration and retry counts.")
    ).read_only
