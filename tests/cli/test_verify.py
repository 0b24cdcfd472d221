"""What does `assent verify` call, print and answer?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli.verify import verify
from assent.errors import AssentError, SettingsError

PROGRAM = """
from pathlib import Path
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
server = MCPServer("notes", log_level="ERROR")
log = Path(__file__).with_suffix(".log")
@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_notes(query: str = "") -> str:
    "Lists notes."
    log.write_text(log.read_text() + "read" if log.exists() else "read")
    return ""
@server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True))
def delete_notes(ids: list[str]) -> str:
    "Deletes notes."
    log.with_suffix(".deleted").touch()
    return "done"
if __name__ == "__main__":
    server.run("stdio")
"""


SILENT = """
import asyncio
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
server = MCPServer("notes", log_level="ERROR")
@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def list_notes(query: str) -> str:
    "Lists notes."
    await asyncio.Event().wait()
    return ""
if __name__ == "__main__":
    server.run("stdio")
"""


NOISY = """
import json, sys
READ = {"name": "list_notes", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
ANSWERS = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}},
    "tools/list": {"tools": [READ]},
    "tools/call": {"content": []},
}
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "tools/call":
        print("a line for the log")
    said = {"result": ANSWERS.get(request["method"])}
    if said["result"] is None:
        said = {"error": {"code": -32601, "message": "no such method"}}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}), flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "lying_notes.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(verify, [str(argument) for argument in arguments])


def test_a_lie_is_found_over_a_pipe_and_nothing_is_deleted(program: Path) -> None:
    show = f"{sys.executable} -c \"import pathlib; print(pathlib.Path('{program.with_suffix('.log')}').read_text())\""
    program.with_suffix(".log").write_text("")
    steady = f"{sys.executable} -c \"print('always the same')\""
    assert run("--snapshot", steady, "--", sys.executable, program).exit_code == 0
    result = run("--tool", "delete_notes", "--format", "json", "--snapshot", show, "--", sys.executable, program)
    assert json.loads(result.stdout)["checked"][0]["skipped"].startswith("it may have an effect")
    assert not program.with_suffix(".deleted").exists()
    assert "Only read-only tools are called" in result.stderr


def test_effects_need_to_be_asked_for(program: Path) -> None:
    result = run("--calls", "all", "--tool", "delete_notes", "--", sys.executable, program)
    assert result.exit_code == 0, result.output
    assert program.with_suffix(".deleted").exists()
    assert "this has effects" in result.stderr


def test_a_file_cannot_be_called(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text('{"tools": [{"name": "list_notes"}]}', encoding="utf-8")
    assert isinstance(run(path).exception, SettingsError)


def test_an_unknown_tool_or_database_is_refused(program: Path) -> None:
    assert isinstance(run("--tool", "nothing", "--", sys.executable, program).exception, SettingsError)
    for address in ("sqlite:///absent.db", ""):
        refused = run("--database", address, "--", sys.executable, program).exception
        assert isinstance(refused, SettingsError) and "there is no database at" in str(refused)


def test_a_tool_that_never_answers_is_given_up_and_named(tmp_path: Path) -> None:
    path = tmp_path / "silent_notes.py"
    path.write_text(SILENT, encoding="utf-8")
    result = run("--timeout", "0.1", "--", sys.executable, path)
    assert result.exit_code == 1, result.output
    assert "list_notes: promised that it fails only as declared" in result.stdout
    assert "it did not answer: no answer came within 0.1 s" in result.stdout


@pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
def test_a_timeout_that_is_no_time_is_refused(seconds: str) -> None:
    result = run("--timeout", seconds, "--", "server")
    assert result.exit_code == 2
    assert "--timeout" in result.stderr


def test_a_snapshot_command_that_fails_is_told_in_one_sentence(program: Path) -> None:
    result = run("--snapshot", f"{sys.executable} -c 'raise SystemExit(3)'", "--", sys.executable, program)
    assert isinstance(result.exception, AssentError)
    assert str(result.exception) == "the snapshot command ended with 3"


def test_a_snapshot_command_that_cannot_be_split_is_named(program: Path) -> None:
    result = run("--snapshot", "print 'it", "--", sys.executable, program)
    assert isinstance(result.exception, SettingsError)
    assert "--snapshot: the command cannot be read" in str(result.exception)


def test_an_empty_snapshot_command_is_refused(program: Path) -> None:
    result = run("--snapshot", "", "--", sys.executable, program)
    assert isinstance(result.exception, SettingsError)
    assert "--snapshot: the command is empty" in str(result.exception)


def test_a_server_that_ends_when_it_is_called_is_a_broken_promise(program: Path) -> None:
    program.write_text(PROGRAM.replace('return ""', "import os; os._exit(3)"), encoding="utf-8")
    result = run("--", sys.executable, program)
    assert result.exit_code == 1
    assert "list_notes: promised that it fails only as declared, but the server ended" in result.stdout


def test_the_contracts_of_a_server_object_are_held_against_it(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "from assent import contract\nfrom mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('notes', log_level='CRITICAL')\n"
        "@server.tool()\n@contract(side_effect='write', failure_modes={'full': {'class': 'no_effect'}})\n"
        "def add_note(text: str) -> str:\n    'Adds a note.'\n    raise ValueError(text)\n"
    )
    (program.parent / "failing_notes.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(program.parent)
    monkeypatch.syspath_prepend(program.parent)
    result = run("--calls", "all", "failing_notes:server")
    assert "add_note: promised that it fails only as declared, but it failed without a code" in result.stdout


def test_a_server_that_does_not_list_its_tools_is_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from mcp.server.lowlevel import Server\n"
        "async def listed(context, params):\n    raise RuntimeError('out of order')\n"
        "server = Server('notes', on_list_tools=listed)\n"
    )
    (tmp_path / "unlisted_notes.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    result = run("unlisted_notes:server")
    assert isinstance(result.exception, AssentError)
    assert str(result.exception).startswith("the server did not list its tools: ")


def test_a_command_finds_the_environment_of_verify(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_STORE", "a test database")
    program.write_text(f"import os\nos.environ['NOTES_STORE']\n{PROGRAM}", encoding="utf-8")
    result = run("--", sys.executable, program)
    assert result.exit_code == 0, result.output


def test_a_line_that_is_no_message_is_no_traceback(program: Path, caplog: pytest.LogCaptureFixture) -> None:
    program.write_text(NOISY, encoding="utf-8")
    result = run("--", sys.executable, program)
    assert result.exit_code == 0, result.output
    assert "1 tool called" in result.stdout
    assert not [record for record in caplog.records if record.exc_info]


def test_a_server_with_a_tool_without_a_name_is_refused() -> None:
    server = Path(__file__).parents[1] / "support" / "servers" / "nameless_server.py"
    result = run("--calls", "all", "--", sys.executable, server, "null")
    assert isinstance(result.exception, SettingsError)
    assert "it lists a tool without a name" in str(result.exception)
