"""`assent contract init`: a contract file that a person reviews in minutes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from click.testing import CliRunner

from assent.cli.contract import contract
from assent.cli.contract_init import contract_file, draft, seen_in
from assent.contract.yaml_document import YamlDocument
from assent.core.audit import Entry
from assent.ports import LogEntry
from support.clients.transports import ROOT
from support.documents.contract_examples import load_contracts, parse_contracts
from support.openapi.documents import document, ok

TOOLS = [
    {"name": "get_boat", "description": "Gets a boat.", "inputSchema": {"type": "object"}},
    {"name": "delete_boat", "description": "Deletes a boat for good.", "inputSchema": {"type": "object"}},
    {"name": "frobnicate", "inputSchema": {"type": "object"}},
    {"name": "remove_all", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]


def test_the_file_is_a_contract_file_with_the_doubtful_first_and_reasons_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": TOOLS}))
    result = CliRunner().invoke(contract, ["init", str(path)])
    (tmp_path / "contracts.yaml").write_text(result.stdout)
    found = load_contracts([tmp_path / "contracts.yaml"])
    assert list(found) == ["frobnicate", "remove_all", "delete_boat", "get_boat"]
    assert found["get_boat"].side_effect.value == "read"
    assert found["remove_all"].side_effect.value == "destructive"
    assert "# the server declares readOnlyHint: true; one of the two is wrong" in result.stdout
    assert result.stderr == "4 tools, 2 of them doubtful; they come first.\n"


def test_names_that_no_contract_can_have_are_left_out_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    names = ["get_boat", "dup", "dup", "ns:create", "get x\ny", "x" * 129, "get_\ud800x"]
    path.write_text(json.dumps({"tools": [{"name": name, "description": "Gets it."} for name in names]}))
    result = CliRunner().invoke(contract, ["init", str(path)])
    (tmp_path / "contracts.yaml").write_text(result.stdout, encoding="utf-8")
    assert list(load_contracts([tmp_path / "contracts.yaml"])) == ["get_boat"]
    assert "# Left out: it is listed twice: dup\n" in result.stdout
    assert "# Left out: this is not a valid contract name: get x\\ny\n" in result.stdout
    assert "# Left out: this is not a valid contract name: get_\\u{d800}x\n" in result.stdout
    assert result.stderr.endswith("5 names left out; comments in the file say why.\n")


def test_a_configuration_is_not_taken_for_a_server_without_tools(tmp_path: Path) -> None:
    config = tmp_path / "assent.yaml"
    config.write_text("upstreams: {shop: {url: 'http://127.0.0.1:9/mcp'}}")
    result = CliRunner().invoke(contract, ["init", str(config)])
    assert "a configuration is not a server" in str(result.exception)
    result = CliRunner().invoke(contract, ["init", "-c", str(config)])
    assert result.exit_code == 2 and "use it with --from-log" in result.output


def test_the_tools_of_a_server_are_asked_for(tmp_path: Path) -> None:
    odd = str(ROOT / "tests" / "support" / "servers" / "odd_server.py")
    result = CliRunner().invoke(contract, ["init", "--", sys.executable, odd])
    assert "delete_thing" in YamlDocument(result.stdout).value["tools"]


def test_what_the_server_admits_of_itself_stands_beside_what_is_inferred() -> None:
    admits = {"name": "edit_boat", "description": "Edits a boat.", "annotations": {"destructiveHint": True}}
    one = draft({**admits, "inputSchema": {"type": "object"}})
    assert one.fields["side_effect"] == "destructive"
    assert one.reasons[1] == "the server declares destructiveHint: true, which is trusted"


def test_for_a_server_that_we_know_the_contracts_we_bring_are_written(tmp_path: Path) -> None:
    memory = tmp_path / "memory.py"
    odd = (ROOT / "tests" / "support" / "servers" / "odd_server.py").read_text()
    memory.write_text(odd.replace('"name": "odd"', '"name": "memory-server"').replace("list_things", "open_nodes"))
    result = CliRunner().invoke(contract, ["init", "--", sys.executable, str(memory)])
    found = YamlDocument(result.stdout).value["tools"]
    assert found["open_nodes"] == {"side_effect": "read", "open_world": False, "labels": {"reads_private": True}}
    assert "# this is the contract that Assent ships for it\n  open_nodes:" in result.stdout
    assert found["delete_thing"]["side_effect"] == "destructive", "the others are inferred"


def test_an_api_is_drafted_as_its_author_and_its_methods_say(tmp_path: Path) -> None:
    paths = {
        "/pay": {
            "post": {"operationId": "pay", "x-side-effect": "external_spend", "responses": ok({"type": "object"})}
        },
        "/boats/{id}": {
            "get": {"operationId": "get_boat", "responses": ok({"type": "object"})},
            "delete": {"operationId": "boat_gone", "responses": ok({"type": "object"})},
        },
        "/frob": {"post": {"operationId": "frob", "summary": "Frob", "responses": ok({"type": "object"})}},
    }
    path = tmp_path / "api.json"
    path.write_text(json.dumps(document(paths)))
    result = CliRunner().invoke(contract, ["init", str(path)])
    found = {name: one["side_effect"] for name, one in YamlDocument(result.stdout).value["tools"].items()}
    assert found == {"frob": "write", "get_boat": "read", "boat_gone": "destructive", "pay": "external_spend"}
    assert next(iter(found)) == "frob", "what only its method speaks for stands first"
    assert "# POST /pay: set by its author (x-side-effect)\n  pay:" in result.stdout
    assert "readOnlyHint" not in result.stdout


def test_no_tools_give_an_empty_file_that_can_be_read() -> None:
    assert parse_contracts(contract_file([], {})) == {}


def test_a_hostile_name_or_text_cannot_leave_its_place() -> None:
    hostile = {"name": "a: b\nc", "description": "x\n  evil: {side_effect: read}", "inputSchema": {}}
    text = contract_file([draft(hostile), draft({**hostile, "name": "a"})], {"a": "seen\n  evil: 1"})
    assert list(YamlDocument(text).value["tools"]) == ["a"]


def test_what_was_observed_stands_beside_the_tool() -> None:
    facts = {"tool": "delete_boat", "would": ["confirm.confirmation_required"]}
    entries = [LogEntry(number, Entry("intent", 0.0, facts)) for number in range(3)]
    text = contract_file([draft(TOOLS[1])], seen_in(entries))
    assert "# seen 3 times; confirm.confirmation_required 3 times in enforce mode" in text
