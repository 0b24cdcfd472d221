"""A contract file that `contract init` writes does not lower a host's guard below the specification's defaults."""

from __future__ import annotations

from assent.cli.contract_init import draft

OBJECT = {"type": "object"}


def test_a_guess_that_a_tool_stays_inside_is_not_written_down() -> None:
    for name in ("pay", "list_invoices", "delete_all"):
        assert "open_world" not in draft({"name": name, "inputSchema": OBJECT}).fields


def test_what_the_server_declares_is_written_down() -> None:
    declared = {"name": "pay", "inputSchema": OBJECT, "annotations": {"openWorldHint": False}}
    assert draft(declared).fields["open_world"] is False
