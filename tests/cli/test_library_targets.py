"""Lint and the table of tools on a server object: tools without a contract, annotations against one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.errors import ContractError

SDK = """
from assent import Assent, contract
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

assent = Assent(without_contract={mode!r})
server = MCPServer("notes", extensions=[assent.extension()], log_level="ERROR")
add = server.tool
"""
FAST = """
from assent.fastmcp import Assent, contract
from fastmcp import FastMCP
from mcp_types import ToolAnnotations

assent = Assent(without_contract={mode!r})
server = FastMCP("notes")
add = server.tool
"""
LOOK = '''
@add()
@contract(side_effect="read")
def look() -> str:
    """Shows the notes."""
    return ""
'''
BARE = '''
@add()
def bare() -> str:
    """Deletes a note."""
    return ""
'''
TWO_WORDS = '''
@add(annotations=ToolAnnotations(read_only_hint=True))
@contract(side_effect="destructive")
def wipe() -> str:
    """Deletes all notes."""
    return ""
'''
APPLY = "\nassent.apply(server)\n"
BOTH = pytest.mark.parametrize("head", [SDK, FAST], ids=["sdk", "fastmcp"])


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Where a module with a name of its own goes; the import system keeps what it once imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / f"notes_{abs(hash(request.node.nodeid))}.py"


def findings(target: str) -> set[tuple[str, str]]:
    report = json.loads(run("lint", target, "--format", "json").stdout)
    return {(one["rule"], one["tool"]) for one in report["findings"]}


@BOTH
def test_a_tool_that_is_withheld_is_a_finding_and_a_row(head: str, module: Path) -> None:
    module.write_text(head.format(mode="withhold") + LOOK + BARE + APPLY)
    target = f"{module.stem}:server"
    assert ("contract-missing", "bare") in findings(target)
    table = run("contract", "docs", target).stdout
    assert "**Not served: it has no contract.** Deletes a note." in table
    assert "`look`" in table


@BOTH
def test_a_server_that_does_not_start_names_the_tool_and_not_the_target(head: str, module: Path) -> None:
    module.write_text(head.format(mode="error") + LOOK + BARE + APPLY)
    for command in (["lint"], ["contract", "docs"]):
        failed = run(*command, f"{module.stem}:server").exception
        assert isinstance(failed, ContractError)
        assert str(failed).startswith("bare: it has no contract. Put @contract")


@BOTH
@pytest.mark.parametrize("applied", [True, False])
def test_annotations_against_the_contract_are_a_finding_and_stand_in_the_table(
    head: str, applied: bool, module: Path
) -> None:
    module.write_text(head.format(mode="error") + LOOK + TWO_WORDS + APPLY * applied)
    target = f"{module.stem}:server"
    assert run("lint", target).exit_code == 1
    del sys.modules[module.stem]  # Every command is a process of its own.
    found = findings(target)
    del sys.modules[module.stem]
    assert ("annotations-against-contract", "wipe") in found
    assert ("annotations-against-contract", "look") not in found
    table = run("contract", "docs", target).stdout
    assert "**Contradiction: readOnlyHint is true in its annotations and false by its contract.**" in table
