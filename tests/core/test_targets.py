"""What commands read when they are given the name of an upstream, or a client's configuration."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.contract.files import parse_written
from assent.contract.yaml_document import write_yaml
from assent.errors import SettingsError

PROGRAM = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("notes", log_level="ERROR")
for name in sys.argv[1:]:
    server.add_tool(lambda: "", name=name, description="Deletes all notes for good.")
server.run("stdio")
"""
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "books", "version": "1"},
    "paths": {"/invoices/{id}": {"delete": {"operationId": "delete_invoice", "responses": {"204": {}}}}},
}


def run(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=text)


@pytest.fixture
def folder(tmp_path: Path, trusted_folder: Path) -> Path:
    (tmp_path / "notes.py").write_text(PROGRAM)
    (tmp_path / "books.json").write_text(json.dumps(DOCUMENT))
    return tmp_path


def command(folder: Path, *tools: str) -> list[str]:
    return [sys.executable, str(folder / "notes.py"), *tools]


def configure(folder: Path, contracts: dict[str, Any] | None = None) -> Path:
    upstreams = {
        "notes": {"command": command(folder, "delete_notes")},
        "books": {"openapi": "books.json", "base_url": "http://127.0.0.1:9"},
    }
    settings: dict[str, Any] = {"store": "sqlite:///a.db", "upstreams": upstreams}
    if contracts is not None:
        (folder / "contracts.yaml").write_text(write_yaml(contracts))
        settings["contracts"] = ["contracts.yaml"]
    (folder / "assent.yaml").write_text(write_yaml(settings))
    return folder / "assent.yaml"


def client(folder: Path, **servers: list[str]) -> Path:
    named = {name: {"command": words[0], "args": words[1:]} for name, words in servers.items()}
    (folder / "client.json").write_text(json.dumps({"mcpServers": named}))
    return folder / "client.json"


@pytest.mark.parametrize(("name", "tool"), [("notes", "delete_notes"), ("books", "delete_invoice")])
def test_contract_init_takes_the_name_of_an_upstream_and_binds_the_file_to_it(
    folder: Path, name: str, tool: str
) -> None:
    configure(folder)
    (written,) = parse_written(run("contract", "init", name).stdout)
    assert (written.upstream, written.name) == (name, tool)
    assert written.contract.side_effect == "destructive"


def test_contract_init_takes_the_configuration_to_look_in(folder: Path) -> None:
    file = configure(folder).rename(folder / "other.yaml")
    assert 'upstream: "notes"' in run("contract", "init", "notes", "-c", file).stdout
    missing = run("contract", "init", "nots", "-c", file)
    assert isinstance(missing.exception, SettingsError) and "Did you mean notes?" in str(missing.exception)


def test_lint_of_an_upstream_holds_it_against_the_contracts_bound_to_it(folder: Path) -> None:
    configure(folder, {"upstream": "notes", "tools": {"delete_notes": {"side_effect": "write"}}})
    result = run("lint", "notes")
    assert "tier-contradicted" in result.stdout


def test_lint_says_which_contracts_match_no_tool_of_the_target(folder: Path) -> None:
    (folder / "tools.json").write_text(json.dumps([{"name": "list_notes", "description": "Lists notes."}]))
    (folder / "c.yaml").write_text("upstream: notes\ntools: {list_note: {side_effect: read}}\n")
    result = run("lint", folder / "tools.json", "--contracts", folder / "c.yaml")
    assert "the contract list_note matches no tool" in result.stderr and "did you mean list_notes?" in result.stderr


def test_lint_fixes_a_contract_in_a_section(folder: Path) -> None:
    file = folder / "c.yaml"
    file.write_text(
        "sections:\n"
        "  - upstream: a\n"
        "    tools:\n"
        "      list_notes: {side_effect: read}\n"
        "  - upstream: b\n"
        "    tools:\n"
        "      # the second\n"
        "      delete_note:\n"
        "        side_effect: destructive\n"
        "        risk: low\n"
    )
    run("lint", file, "--fix")
    assert "risk" not in file.read_text() and "# the second" in file.read_text()


def test_lint_suppresses_a_finding_in_a_section_by_a_comment(folder: Path) -> None:
    file = folder / "c.yaml"
    file.write_text(
        "sections:\n"
        "  - upstream: b\n"
        "    tools:\n"
        "      # assent: allow risk-lowered because drafts are kept\n"
        "      delete_draft:\n"
        "        side_effect: destructive\n"
        "        risk: medium\n"
    )
    assert "1 suppressed with a reason" in run("lint", file).stdout


def test_lint_of_a_client_configuration_follows_the_servers_it_names(folder: Path) -> None:
    file = client(folder, notes=command(folder, "delete_notes"), more=command(folder, "delete_notes"))
    result = run("lint", file)
    assert f"delete_notes ({file}#notes)" in result.stdout and f"delete_notes ({file}#more)" in result.stdout
    assert "2 tools" in result.stdout and "name-collides" not in result.stdout


def test_lint_says_which_server_of_a_client_configuration_was_not_checked(folder: Path) -> None:
    file = client(folder, notes=command(folder), gone=[str(folder / "nowhere")])
    result = run("lint", file)
    assert result.exit_code == 1 and "#gone: not checked: gone: " in result.stderr


def test_lint_refuses_a_client_configuration_of_which_nothing_was_checked(folder: Path) -> None:
    result = run("lint", client(folder, gone=[str(folder / "nowhere")]))
    assert isinstance(result.exception, SettingsError) and "nothing was checked" in str(result.exception)


def test_lint_of_a_configuration_says_that_its_upstreams_were_not_asked(folder: Path) -> None:
    result = run("lint", configure(folder))
    assert "its upstreams were not checked; lint them by name: `assent lint notes books`" in result.stderr


def names(result: Result) -> list[str]:
    return [json.loads(line)["name"] for line in result.stdout.splitlines()]


def test_classify_takes_the_targets_that_lint_takes(folder: Path) -> None:
    configure(folder)
    servers = client(folder, notes=command(folder, "delete_notes"), more=command(folder, "delete_more"))
    assert names(run("classify", "notes")) == ["delete_notes"]
    assert names(run("classify", "--", *command(folder, "a", "b"))) == ["a", "b"]
    assert names(run("classify", servers)) == ["delete_notes", "delete_more"]
    assert names(run("classify", folder / "books.json")) == ["delete_invoice"]
    assert names(run("classify", "-", text='{"name": "a"}\n{"name": "b"}\n')) == ["a", "b"]
    assert names(run("classify", text='{"name": "a"}\n')) == ["a"]


def test_classify_refuses_contracts(folder: Path) -> None:
    (folder / "c.yaml").write_text("tools: {a: {side_effect: read}}\n")
    assert "it contains no tool definitions" in str(run("classify", folder / "c.yaml").exception)
