"""Misleading definitions known from real servers: their verdicts, and what lint says about wrong hints."""

from typing import Any

from assent.checks.lint.run import lint
from assent.contract.infer import classify
from support.documents.lint_examples import target_of

TEXT = {"type": "string"}


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


# Tools that sound harmless and act; the flag says whether they are destructive.
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

# Tools that sound like actions and only read.
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


def test_tools_that_sound_harmless_are_recognised_as_acting() -> None:
    for trap, (definition, destructive) in ACTING.items():
        inference = classify(definition)
        assert (inference.read_only, inference.destructive) == (False, destructive), (trap, inference.reasons)


def test_tools_that_sound_like_actions_are_recognised_as_reads() -> None:
    for trap, definition in TELLING.items():
        assert classify(definition).read_only, (trap, classify(definition).reasons)


def test_lint_reports_a_false_read_only_hint_as_an_error() -> None:
    for trap, (definition, _) in ACTING.items():
        claimed = {**definition, "annotations": {"readOnlyHint": True}}
        found = {finding.rule: finding.severity for finding in lint(target_of(claimed)).findings}
        assert found.get("read-only-contradicted") == "error", (trap, found)


def test_lint_accepts_a_true_read_only_hint() -> None:
    for trap, definition in TELLING.items():
        claimed = {**definition, "annotations": {"readOnlyHint": True}}
        found = {finding.rule for finding in lint(target_of(claimed)).findings}
        assert found.isdisjoint({"read-only-contradicted", "read-only-unclear"}), trap


def test_lint_reports_a_false_hint_that_nothing_is_destroyed() -> None:
    for trap, definition in ((trap, definition) for trap, (definition, destructive) in ACTING.items() if destructive):
        claimed = {**definition, "annotations": {"readOnlyHint": False, "destructiveHint": False}}
        found = {finding.rule for finding in lint(target_of(claimed)).findings}
        assert found & {"destructive-contradicted", "press-called-harmless"}, trap
