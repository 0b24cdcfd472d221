"""What hosts do with each combination of hints, as the table of hosts has it."""

from __future__ import annotations

from itertools import product

import pytest

from assent.checks.hosts.matrix import WORDS, directories, hosts, matrix
from support.documents.lint_examples import target_of

HINTS = ("readOnlyHint", "destructiveHint", "openWorldHint")


def does(host: str, **annotations: object) -> str:
    row = matrix(target_of({"name": "tool", "annotations": annotations}))[0]
    return row.hosts[host].does


@pytest.mark.parametrize(
    ("host", "annotations", "expected"),
    [
        ("claude", {"readOnlyHint": True}, "may_run"),
        ("claude", {"readOnlyHint": True, "destructiveHint": True}, "asks"),
        ("codex", {"readOnlyHint": True, "destructiveHint": True}, "asks"),
        ("codex", {"readOnlyHint": True}, "runs"),
        ("codex", {"destructiveHint": False, "openWorldHint": False}, "runs"),
        ("codex", {"destructiveHint": False}, "asks"),
        ("codex", {}, "asks"),
        ("chatgpt", {"readOnlyHint": True}, "runs"),
        ("chatgpt", {"destructiveHint": False, "openWorldHint": False}, "asks"),
        ("vscode", {"readOnlyHint": True, "destructiveHint": True}, "runs"),
        ("vscode", {"openWorldHint": False}, "asks"),
        ("cursor", {"readOnlyHint": True}, "may_run"),
        ("cursor", {"readOnlyHint": True, "cursor/requiresConfirmation": True}, "asks"),
        ("goose", {"readOnlyHint": False}, "asks"),
        ("goose", {}, "may_run"),
        ("others", {"readOnlyHint": True}, "ignores"),
    ],
)
def test_a_host_does_what_the_table_says(host: str, annotations: dict[str, object], expected: str) -> None:
    assert does(host, **annotations) == expected


def test_cursor_asks_about_a_destructive_read_because_it_is_destructive() -> None:
    row = matrix(target_of({"name": "tool", "annotations": {"readOnlyHint": True, "destructiveHint": True}}))[0]
    assert (row.hosts["cursor"].does, row.hosts["cursor"].because) == ("asks", "destructiveHint is true")


def test_every_host_has_an_answer_for_every_combination() -> None:
    for values in product((True, False, None), repeat=3):
        annotations = {name: value for name, value in zip(HINTS, values, strict=True) if value is not None}
        row = matrix(target_of({"name": "tool", "annotations": annotations}))[0]
        assert set(row.hosts) == {host.name for host in hosts()}
        assert {step.does for step in row.hosts.values()} <= set(WORDS)


def test_names_that_hosts_do_not_read_change_nothing_and_are_noted() -> None:
    row = matrix(target_of({"name": "list_notes", "annotations": {"readOnly": True}}))[0]
    assert row.hosts["chatgpt"].does == "asks"
    assert "no host reads readOnly" in row.notes


def test_an_absent_destructive_hint_on_a_writing_tool_is_explained() -> None:
    row = matrix(target_of({"contracts": {"create_note": {"side_effect": "write"}}}, "closient"))[0]
    assert any("destructiveHint is absent, which means true" in note for note in row.notes)


def test_a_lever_for_the_host_is_seen() -> None:
    contract = {"send": {"side_effect": "write", "risk": "high", "confirmation": {"by": "host"}}}
    assert matrix(target_of({"contracts": contract}))[0].hosts["claude-code"].does == "asks"


def test_reviewers_object_by_the_rules_of_their_directory() -> None:
    row = matrix(target_of({"name": "list_notes", "annotations": {"readOnlyHint": True}}))[0]
    assert "openai-hints" in {one.rule for one in row.directories["openai"]}
    assert "anthropic-title" in {one.rule for one in row.directories["anthropic"]}


def test_every_source_is_an_address_or_missing() -> None:
    for one in (*hosts(), *directories()):
        assert one.source == "" or one.source.startswith("https://")
        assert one.checked == "2026-11-15"
