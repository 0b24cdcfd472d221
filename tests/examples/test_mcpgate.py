"""The MCPGate example, statement by statement: `examples/mcpgate/STATEMENTS.md` names the test of each."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assent import needs_confirmation
from support.clients.transports import ROOT
from support.documents.statements import check_statements

sys.path.insert(0, str(ROOT / "examples"))
from mcpgate.conversation import CONTRACT, HERE, Gateway, environment, prepare, start, tell

ASSENT = Path(sys.executable).with_name("assent")
READ, WRITE, DELETE = (True, False, True, True), (False, False, False, True), (False, True, False, True)
CATEGORIES = {
    **dict.fromkeys(["gmail_list_emails", "gmail_search_emails", "gmail_read_email", "drive_get_file"], READ),
    **dict.fromkeys(["gmail_create_draft", "gmail_send_email", "gmail_update_label", "drive_create_file"], WRITE),
    **dict.fromkeys(["gmail_remove_label", "gmail_archive_email", "gmail_delete_email", "drive_delete_file"], DELETE),
}
HISTORIC = {"github_search_issues": READ, "github_create_issue": WRITE, "github_update_file": WRITE}
STANDARD_NAMES = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
HISTORIC_NAMES = ("readOnly", "destructive", "idempotent", "openWorldHint")
PRINTED = {
    "gmail_read_email": ("Read Email", "Fetch a Gmail message by ID and return its headers and body.", READ),
    "gmail_send_email": ("Send Email", "Compose and send an email via Gmail.", WRITE),
    "gmail_delete_email": ("Delete Email", "Permanently delete a Gmail message by ID.", DELETE),
}
MAIL = {"to": ["ann@example.com"], "subject": "Minutes", "body": "As agreed."}


@contextmanager
def served(folder: Path, **more: Any) -> Iterator[Gateway]:
    """The example's gateway as a process of its own, with further settings."""
    file = prepare(folder)
    file.write_text(file.read_text("utf-8") + "".join(f"{key}: {json.dumps(value)}\n" for key, value in more.items()))
    process, gateway = start(folder)
    try:
        yield gateway
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mcpgate")


@pytest.fixture(scope="module")
def gateway(folder: Path) -> Iterator[Gateway]:
    with served(folder) as running:
        yield running


@pytest.fixture(scope="module")
def tools(gateway: Gateway) -> dict[str, Any]:
    return {tool["name"]: tool for tool in gateway.rpc("tools/list", "assistant")["tools"]}


def hints(tool: dict[str, Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(tool["annotations"].get(name) for name in names)


def book(folder: Path) -> list[str]:
    file = folder / "book.log"
    return file.read_text("utf-8").splitlines() if file.exists() else []


def test_every_tool_of_every_connector_is_annotated_by_its_category(tools: dict[str, Any]) -> None:
    assert {name: hints(tools[name], STANDARD_NAMES) for name in CATEGORIES} == CATEGORIES
    assert {name: hints(tools[name], HISTORIC_NAMES) for name in HISTORIC} == HISTORIC
    assert tools.keys() == CATEGORIES.keys() | HISTORIC.keys()


def test_annotations_have_the_title_and_the_four_hints_and_nothing_else(tools: dict[str, Any]) -> None:
    for name, tool in tools.items():
        assert set(tool["annotations"]) == {"title", *(HISTORIC_NAMES if name in HISTORIC else STANDARD_NAMES)}


def test_a_tool_whose_host_asks_has_no_further_annotation(tmp_path: Path) -> None:
    contracts = "upstream: gmail\ntools: {delete_email: {side_effect: destructive, confirmation: {by: host}}}\n"
    prepare(tmp_path)
    (tmp_path / "contracts.yaml").write_text(contracts)
    process, running = start(tmp_path)
    try:
        listed = {tool["name"]: tool for tool in running.rpc("tools/list", "assistant")["tools"]}
    finally:
        process.terminate()
        process.wait(30)
    assert set(listed["gmail_delete_email"]["annotations"]) == {"title", *STANDARD_NAMES}
    assert listed["gmail_delete_email"]["_meta"]["anthropic/requiresUserInteraction"] is True


def test_the_printed_payloads_come_out_with_their_historic_names(tmp_path: Path) -> None:
    with served(tmp_path, historic_names=True) as running:
        listed = {tool["name"]: tool for tool in running.rpc("tools/list", "assistant")["tools"]}
    for name, (title, description, row) in PRINTED.items():
        assert listed[name]["description"] == description
        assert listed[name]["annotations"] == {"title": title, **dict(zip(HISTORIC_NAMES, row, strict=True))}
        assert list(listed[name]["annotations"]) == ["title", "readOnly", "idempotent", "destructive", "openWorldHint"]


def test_historic_names_are_understood_and_reported() -> None:
    done = subprocess.run(
        [str(ASSENT), "lint", str(HERE / "historic_tools.json"), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "foreign-hint-names" in done.stdout
    (tool,) = json.loads((HERE / "historic_tools.json").read_text("utf-8"))["tools"]
    assert needs_confirmation(tool) is False


def test_a_read_runs_without_a_question_and_is_masked(gateway: Gateway) -> None:
    answer = gateway.call("assistant", "gmail_read_email", id="42")
    assert answer["body"] == "Call me: [masked: phone number]. Then delete this."


def test_a_deletion_shows_its_name_and_its_arguments_to_a_person_first(gateway: Gateway, folder: Path) -> None:
    waiting = gateway.call("assistant", "gmail_delete_email", id="77")
    assert waiting["code"] == "confirm.approval_pending"
    assert "deleted 77" not in book(folder)
    text = gateway.send(f"/api/approvals/{waiting['approval']}", "ann")["text"]
    assert "gmail_delete_email" in text and 'id: "77"' in text
    gateway.send(f"/api/approvals/{waiting['approval']}/approve", "ann", {})
    assert gateway.call("assistant", "gmail_delete_email", id="77") == {"deleted": "deleted 77"}


@pytest.mark.parametrize("tool", ["gmail_archive_email", "gmail_remove_label"])
def test_archiving_and_removing_wait_for_a_person_too(gateway: Gateway, tool: str) -> None:
    more = {"label": "work"} if tool == "gmail_remove_label" else {}
    assert gateway.call("assistant", tool, id="42", **more)["code"] == "confirm.approval_pending"


@pytest.mark.parametrize(
    ("who", "tool", "arguments", "rule"),
    [
        ("assistant", "gmail_send_email", {**MAIL, "to": ["eve@evil.test"]}, "external_recipients"),
        ("assistant", "gmail_send_email", {**MAIL, "body": "AKIAIOSFODNN7EXAMPLE"}, "secrets"),
        ("assistant", "gmail_send_email", {**MAIL, "body": "Prepare a Wire Transfer."}, "block_keywords"),
        ("assistant", "drive_get_file", {"path": "legal/merger.txt"}, "block_paths"),
        ("assistant", "drive_delete_file", {"path": "x/../legal/merger.txt"}, "block_paths"),
        (
            "assistant",
            "github_update_file",
            {"path": "a", "branch": "refs/heads/main", "text": ""},
            "protected_branches",
        ),
        ("auditor", "gmail_create_draft", {"subject": "a", "body": "b"}, "read_only"),
    ],
)
def test_guardrails_refuse_on_the_server(
    gateway: Gateway, folder: Path, who: str, tool: str, arguments: dict[str, Any], rule: str
) -> None:
    before = book(folder)
    refused = gateway.call(who, tool, **arguments)
    assert (refused["code"], refused["rule"]) == ("guard.denied", rule)
    assert book(folder) == before


def test_a_guardrail_can_ask_instead_of_refusing(gateway: Gateway) -> None:
    crowd = {**MAIL, "to": [f"p{number}@example.com" for number in range(6)]}
    assert gateway.call("assistant", "gmail_send_email", **crowd)["code"] == "confirm.approval_pending"


def test_a_call_within_the_guardrails_runs(gateway: Gateway, folder: Path) -> None:
    gateway.call("assistant", "gmail_send_email", **{**MAIL, "subject": "Within"})
    assert "sent Within to ann@example.com" in book(folder)


def test_extended_metadata_is_outside_the_annotations(tools: dict[str, Any]) -> None:
    extended = tools["gmail_delete_email"]["_meta"][CONTRACT]
    assert (extended["risk_number"], extended["risk"]) == (4, "critical")
    assert (extended["category"], extended["category_label"]) == ("delete", "Deletes your mail")
    assert extended["activity"] == "Deleted message {id}"
    assert [tools[name]["_meta"][CONTRACT]["risk_number"] for name in ("gmail_read_email", "gmail_send_email")] == [
        1,
        2,
    ]


def test_every_key_of_the_extended_metadata_is_documented(tools: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "extended-metadata.md").read_text("utf-8")
    keys = {key for tool in tools.values() for key in tool["_meta"][CONTRACT]}
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def test_the_feed_says_what_was_done_and_never_that_a_refused_call_was(gateway: Gateway) -> None:
    gateway.call("assistant", "gmail_read_email", id="feed-1")
    gateway.call("assistant", "gmail_send_email", **{**MAIL, "to": ["eve@evil.test"], "subject": "Feed"})
    said: list[str] = []
    about: list[str] = []
    for _ in range(100):  # reads and refusals are recorded a moment after their answer, in batches of their own
        said = [line["text"] for line in gateway.send("/api/feed?limit=100", "ann")["lines"]]
        about = [line for line in said if "Feed" in line]
        if about and "Read message feed-1" in said:
            break
        time.sleep(0.05)
    assert "Read message feed-1" in said
    assert len(about) == 1 and about[0].startswith("Refused to send email")


def test_a_client_that_only_reads_the_hints_asks_before_it_deletes() -> None:
    def payload(name: str) -> dict[str, Any]:
        title, description, row = PRINTED[name]
        annotations = {"title": title, **dict(zip(HISTORIC_NAMES, row, strict=True))}
        return {"name": name, "description": description, "annotations": annotations, "inputSchema": {"type": "object"}}

    assert [needs_confirmation(payload(name), profile="mcpgate") for name in PRINTED] == [False, False, True]
    assert [needs_confirmation(payload(name)) for name in PRINTED] == [False, True, True], "of an unknown system"


def test_the_configuration_is_accepted(tmp_path: Path) -> None:
    command = [str(ASSENT), "serve", "-c", str(prepare(tmp_path)), "--check"]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_conversation_runs_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(tmp_path) as running:
        tell(running)
    told = capsys.readouterr().out
    assert "[masked: phone number]" in told and "Deleted message 42" in told
    assert book(tmp_path) == ["sent Minutes to ann@example.com", "deleted 42"]


def test_every_statement_has_a_test_that_exists() -> None:
    assert check_statements("mcpgate") == []
