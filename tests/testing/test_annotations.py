"""The helpers with which an author pins a policy, tried on the server of the third source system."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from assent.testing import assert_annotations, every_tool_annotated

POLICY = {
    "ping": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    "generate_qr_url": {"read_only": False, "idempotent": True, "open_world": False},
}


def closient() -> MCPServer:
    server = MCPServer("closient", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False))
    def ping() -> str:
        """Health probe; no auth, no I/O."""
        return "pong"

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, idempotent_hint=True, open_world_hint=False))
    def generate_qr_url(gtin: str) -> str:
        """Builds a link and records the call."""
        return gtin

    return server


def test_a_server_that_follows_its_policy_passes() -> None:
    every_tool_annotated(closient())
    assert_annotations(closient(), POLICY)


def test_a_server_without_tools_shows_nothing() -> None:
    with pytest.raises(AssertionError, match="the server lists no tools"):
        every_tool_annotated(MCPServer("empty", log_level="ERROR"))


async def test_the_helpers_work_inside_a_running_loop_too() -> None:
    every_tool_annotated(closient())


def test_a_tool_without_hints_is_named() -> None:
    server = closient()

    @server.tool()
    def forgotten() -> str:
        """Nobody annotated this."""
        return ""

    with pytest.raises(AssertionError, match="forgotten: neither readOnlyHint nor destructiveHint is set"):
        every_tool_annotated(server)
    with pytest.raises(AssertionError, match="forgotten: it is not in the table"):
        assert_annotations(server, POLICY)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"ping": {"readOnlyHint": False}}, "ping: readOnlyHint is true, the policy says false"),
        ({"generate_qr_url": {"destructiveHint": False}}, "destructiveHint is absent, the policy says false"),
        ({"ping": {"readOnly": True}}, "ping: readOnly is not a hint"),
        ({"absent": {}}, "absent: the server has no such tool"),
    ],
)
def test_any_other_policy_fails_loudly(policy: dict[str, dict[str, bool]], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        assert_annotations(closient(), {**POLICY, **policy})


def test_contradictions_and_foreign_names_are_named() -> None:
    both = {"name": "purge", "annotations": {"readOnlyHint": True, "destructiveHint": True}}
    foreign = {"name": "list", "annotations": {"readOnly": True}}
    with pytest.raises(AssertionError, match="purge: readOnlyHint and destructiveHint are both true") as caught:
        every_tool_annotated([both, foreign])
    assert "write readOnlyHint" in str(caught.value)


def test_a_tool_that_is_listed_twice_cannot_hide_behind_the_other() -> None:
    listed = [
        {"name": "list_notes", "annotations": {"destructiveHint": True}},
        {"name": "list_notes", "annotations": {"readOnlyHint": True}},
    ]
    with pytest.raises(AssertionError, match="list_notes: it is listed 2 times"):
        assert_annotations(listed, {"list_notes": {"readOnlyHint": True}})


def test_a_hint_in_another_spelling_is_named() -> None:
    tool = {"name": "list_notes", "annotations": {"destructiveHint": False, "read_only_hint": True}}
    with pytest.raises(AssertionError, match="read_only_hint is not a hint; write readOnlyHint"):
        every_tool_annotated([tool])


@pytest.mark.parametrize("odd", [{"title": "x"}, "get_item", {"name": 7}])
def test_what_is_no_definition_is_refused(odd: Any) -> None:
    with pytest.raises(ValueError, match="a definition of a tool is an object with a name"):
        every_tool_annotated([odd])


def test_annotations_that_are_no_object_hold_no_hints() -> None:
    assert_annotations([{"name": "a", "annotations": ["x"]}], {"a": {}})
