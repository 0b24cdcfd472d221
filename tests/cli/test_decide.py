"""`assent decide` explains a request, or says what is wrong with it and ends with 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assent.cli.decide import decide as command

AGENT = {"kind": "agent", "scopes": ["*"]}


def decide(tmp_path: Path, request: Any, *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
    (tmp_path / "contracts.yaml").write_text("tools: {look: {side_effect: read}, wipe: {side_effect: destructive}}")
    (tmp_path / "assent.yaml").write_text(
        json.dumps({"store": "sqlite:///a.db", "contracts": ["contracts.yaml"]} | more)
    )
    command = [sys.executable, "-c", "from assent.cli import main; main()", "decide", "-c", "assent.yaml", *options]
    return subprocess.run(command, cwd=tmp_path, input=json.dumps(request), capture_output=True, text=True)


def test_a_call_that_would_be_answered_ends_with_0_and_one_that_would_wait_with_1(tmp_path: Path) -> None:
    assert decide(tmp_path, {"tool": "look", "arguments": {}, "principal": AGENT}).returncode == 0
    waits = decide(tmp_path, {"tool": "wipe", "arguments": {}, "principal": AGENT})
    assert (waits.returncode, waits.stdout.splitlines()[0]) == (1, "refusal: confirm.approval_pending")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"key": 5}, "key: text is expected"),
        ({"can_ask": "no"}, "can_ask: true or false is expected"),
        ({"principal": AGENT | {"scopes": 5}}, "principal.scopes: a list is expected"),
        ({"principal": AGENT | {"scopes": "orders:write"}}, "principal.scopes: a list is expected"),
        ({"principal": AGENT | {"actors": 5}}, "principal.actors: a list is expected"),
        ({"principal": AGENT | {"mode": "tset"}}, "principal.mode: this value is not allowed. Write 'live' or 'test'"),
        ({"principal": AGENT | {"auth_time": "now"}}, "principal.auth_time: a number is expected"),
        ({"principal": AGENT | {"id": 5}}, "principal.id: text is expected"),
        ({"principal": {"scopes": ["*"]}}, "principal.kind: it is required"),
        ({"principal": AGENT | {"actors": [{"kind": "robot"}]}}, "principal.actors.0.kind: this value is not allowed"),
        ({"results": [{"tool": "look"}]}, "results.0.result: it is required"),
        ({"tols": 5}, "tols: there is no such key. Did you mean tool?"),
    ],
)
def test_a_request_that_cannot_be_meant_is_refused_by_name(tmp_path: Path, wrong: Any, named: str) -> None:
    ended = decide(tmp_path, {"tool": "look", "principal": AGENT} | wrong)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"error: {named}")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (b"", "there is no request"),
        (b"[]", "the request is no object"),
        (b'{"tool": ', "the request is not JSON: Expecting value at line 1, column 10"),
        (b'{"tool": "\xff"}', "the request is not UTF-8 text"),
    ],
)
def test_what_is_no_request_is_refused_with_an_example(tmp_path: Path, wrong: bytes, why: str) -> None:
    (tmp_path / "assent.yaml").write_text("mode: enforce")
    (tmp_path / "request").write_bytes(wrong)
    ended = CliRunner().invoke(command, [str(tmp_path / "request"), "-c", str(tmp_path / "assent.yaml")])
    assert str(ended.exception).startswith(f'{why}. Write one JSON object such as {{"tool": ')


def test_a_caller_who_is_not_configured_is_named(tmp_path: Path) -> None:
    keys = [{"name": "ci", "key": "a-key-for-ci", **AGENT}]
    ended = decide(tmp_path, {"tool": "look"}, "--as", "bob", auth={"api_keys": keys})
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: --as: no configured key has the name bob.")
    assert "use --as with one of: ci" in ended.stderr
    assert decide(tmp_path, {"tool": "look", "arguments": {}}, "--as", "ci", auth={"api_keys": keys}).returncode == 0


def test_callers_without_credentials_can_be_limited_to_some_tools(tmp_path: Path) -> None:
    auth = {"anonymous": AGENT | {"tools": ["look"]}}
    assert decide(tmp_path, {"tool": "look", "arguments": {}}, auth=auth).returncode == 0
    hidden = decide(tmp_path, {"tool": "wipe", "arguments": {}}, auth=auth)
    assert (hidden.returncode, hidden.stdout.splitlines()[0]) == (1, "refusal: discover.unknown_tool")


SERVER = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("notes", log_level="ERROR")
@server.tool(description=sys.argv[1])
def list_notes() -> str:
    return ""
server.run("stdio")
"""


def served(
    tmp_path: Path, said: str, *, tool: str = "list_notes", command: str = "decide"
) -> subprocess.CompletedProcess[str]:
    (tmp_path / "server.py").write_text(SERVER)
    upstreams = {"notes": {"command": [sys.executable, "server.py", said]}}
    settings = {"store": "sqlite:///a.db", "upstreams": upstreams, "pins": "assent.lock"}
    (tmp_path / "assent.yaml").write_text(json.dumps(settings))
    line = [sys.executable, "-c", "from assent.cli import main; main()", *command.split(), "-c", "assent.yaml"]
    request = json.dumps({"tool": tool, "arguments": {}, "principal": AGENT})
    return subprocess.run(line, cwd=tmp_path, input=request, capture_output=True, text=True)


def test_a_tool_without_a_contract_is_explained_as_its_upstream_lists_it_and_as_it_was_accepted(tmp_path: Path) -> None:
    assert served(tmp_path, "Lists notes.", command="pin --write --yes").returncode == 0
    ended = served(tmp_path, "Lists notes.")
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "answer")
    ended = served(tmp_path, "Lists notes, and yours too.")
    assert ended.returncode == 1 and "its definition changed since it was accepted" in ended.stdout
    assert "no upstream has a tool of this name" in served(tmp_path, "Lists notes.", tool="list_books").stdout


def test_arguments_are_held_against_the_upstreams_schema_where_the_contract_has_none(tmp_path: Path) -> None:
    server = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("eyes", log_level="ERROR")
@server.tool()
def look(at: str) -> str:
    return at
server.run("stdio")
"""
    (tmp_path / "server.py").write_text(server)
    upstreams = {"eyes": {"command": [sys.executable, "server.py"]}}
    wrong = decide(tmp_path, {"tool": "look", "arguments": {"at": 5}, "principal": AGENT}, upstreams=upstreams)
    assert wrong.returncode == 1 and "validate.arguments_invalid" in wrong.stdout
    right = decide(tmp_path, {"tool": "look", "arguments": {"at": "x"}, "principal": AGENT}, upstreams=upstreams)
    assert (right.returncode, right.stdout.splitlines()[0]) == (0, "answer")


def test_where_an_upstream_does_not_answer_the_contracts_are_all_there_is(tmp_path: Path) -> None:
    decide(tmp_path, {"tool": "look", "principal": AGENT})
    gone = {"gone": {"url": "http://127.0.0.1:1/mcp"}}
    settings = {"store": "sqlite:///a.db", "contracts": ["contracts.yaml"], "upstreams": gone, "pins": "assent.lock"}
    (tmp_path / "other.yaml").write_text(json.dumps(settings))
    line = [sys.executable, "-c", "from assent.cli import main; main()", "decide", "-c", "other.yaml"]
    request = json.dumps({"tool": "look", "arguments": {}, "principal": AGENT})
    ended = subprocess.run(line, cwd=tmp_path, input=request, capture_output=True, text=True)
    assert ended.returncode == 0 and "upstream gone: " in ended.stderr
