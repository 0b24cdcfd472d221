"""What does `assent lint` take, print and answer?"""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mcp.server.mcpserver import MCPServer

from assent.cli.lint import lint
from assent.cli.rule import rule
from assent.contract.yaml_document import write_yaml
from assent.errors import AssentError, SettingsError
from support.servers.loopback_server import serving

CLEAN = {
    "name": "list_notes",
    "title": "List notes",
    "description": "Lists notes.",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object"},
    "annotations": {
        "title": "List notes",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
}
LIAR = {**CLEAN, "name": "delete_notes", "description": "Deletes notes."}
SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("notes", log_level="ERROR")
@server.tool()
def delete_notes(ids: list[str]) -> str:
    "Deletes notes."
    return "done"
if __name__ == "__main__":
    server.run("stdio")
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(lint, [str(argument) for argument in arguments], catch_exceptions=True)


def written(tmp_path: Path, *tools: object) -> Path:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": tools}), encoding="utf-8")
    return path


def test_a_clean_server_exits_with_0_under_every_directory(tmp_path: Path) -> None:
    for profile in ("spec", "anthropic", "openai"):
        result = run(written(tmp_path, CLEAN), "--profile", profile)
        assert (result.exit_code, result.stdout) == (0, "1 tool: 0 errors, 0 warnings, 0 notes\n")


def test_findings_exit_with_1_and_stand_on_standard_output(tmp_path: Path) -> None:
    result = run(written(tmp_path, LIAR))
    assert result.exit_code == 1
    assert "read-only-contradicted" in result.stdout and result.stderr == ""


def test_a_baseline_is_written_and_then_holds(tmp_path: Path) -> None:
    path, baseline = written(tmp_path, LIAR), tmp_path / "baseline.json"
    assert run(path, "--baseline", baseline, "--write-baseline").exit_code == 0
    assert run(path, "--baseline", baseline).exit_code == 0
    assert run(path).exit_code == 1


def test_a_baseline_of_one_file_covers_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    one, other, baseline = written(tmp_path, LIAR), written(tmp_path / "other", LIAR), tmp_path / "baseline.json"
    run(one, "--baseline", baseline, "--write-baseline")
    assert run(other, "--baseline", baseline).exit_code == 1
    assert run(one, other, "--baseline", baseline).exit_code == 1
    monkeypatch.chdir(tmp_path / "other")
    assert run("../tools.json", "--baseline", "../baseline.json").exit_code == 0
    assert run(one, other, "--baseline", baseline, "--write-baseline").exit_code == 0
    assert run(one, other, one, "--baseline", baseline).exit_code == 0


def test_a_baseline_is_not_written_over_what_is_none(tmp_path: Path) -> None:
    path = written(tmp_path, LIAR)
    before = path.read_text()
    result = run(path, "--baseline", path, "--write-baseline")
    assert isinstance(result.exception, SettingsError) and "not a baseline" in str(result.exception)
    assert path.read_text() == before
    (empty := tmp_path / "empty.json").touch()
    assert [run(path, "--baseline", empty, "--write-baseline").exit_code for _ in range(2)] == [0, 0]


def test_suppressions_come_from_a_file(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed.yaml"
    allowed.write_text("suppressions: [{rule: read-only-contradicted, because: It moves them to a bin.}]")
    assert run(written(tmp_path, LIAR), "--suppressions", allowed).exit_code == 0


def test_suppressions_of_contract_files_hold_where_they_are_laid_over_definitions(tmp_path: Path) -> None:
    contracts = tmp_path / "contracts.yaml"
    comment = "# assent: allow risk-lowered because notes are kept for 30 days"
    fields = "{side_effect: destructive, risk: medium}"
    contracts.write_text(
        f"tools:\n  {comment}\n  delete_notes: {fields}\n  {comment}\n  drop: {fields}\n", encoding="utf-8"
    )
    result = run(written(tmp_path, LIAR), "--contracts", contracts)
    assert "1 suppressed with a reason" in result.stdout
    assert "risk-lowered" not in result.stdout
    contracts.write_text(contracts.read_text().replace(" because notes are kept for 30 days", ""), encoding="utf-8")
    result = run(written(tmp_path, LIAR), "--contracts", contracts)
    assert isinstance(result.exception, SettingsError) and "without a reason" in str(result.exception)


def test_exactly_one_target_is_wanted(tmp_path: Path) -> None:
    assert run().exit_code == 2
    assert run(written(tmp_path, CLEAN), "--", "true").exit_code == 2


def test_several_files_are_linted_each_by_itself(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one, other = written(tmp_path, CLEAN), written(tmp_path / "other", CLEAN, LIAR)
    result = run(one, other)
    assert result.exit_code == 1
    assert "name-collides" not in result.stdout
    assert result.stdout.endswith("3 tools: 1 error, 0 warnings, 0 notes\n")


def test_findings_of_several_files_stand_under_their_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = written(tmp_path / "one", LIAR), written(tmp_path / "two", LIAR)
    keys = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for path in keys:
        path.write_text("store: postgresql://user:pass@host/db\n", encoding="utf-8")
    lines = run(one, two, *keys).stdout.splitlines()
    headings = [line for line in lines[:-1] if line and not line.startswith(" ")]
    assert headings == [f"delete_notes ({one}:1)", f"delete_notes ({two}:1)", *map(str, keys)]
    root = ElementTree.fromstring(run(one, two, *keys, "--format", "junit").stdout)
    cases = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert cases == [(str(one), "delete_notes"), (str(two), "delete_notes"), *((str(key), str(key)) for key in keys)]


def test_two_tools_of_one_name_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text(f"{json.dumps(LIAR)}\n{json.dumps(LIAR)}\n", encoding="utf-8")
    headings = [line for line in run(path).stdout.splitlines() if line.startswith("delete_notes")]
    assert headings == [f"delete_notes ({path}:1)", f"delete_notes ({path}:2)"]
    root = ElementTree.fromstring(run(path, "--format", "junit").stdout)
    assert [len(list(case.iter("failure"))) > 0 for case in root.iter("testcase")] == [True, True]


def test_a_suppression_that_one_of_several_files_needs_is_not_idle(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    allowed = tmp_path / "allowed.yaml"
    rows = "{rule: read-only-contradicted, because: Kept.}, {rule: name-dotted, because: Old.}"
    allowed.write_text(f"suppressions: [{rows}]", encoding="utf-8")
    result = run(written(tmp_path, CLEAN), written(tmp_path / "other", LIAR), "--suppressions", allowed)
    idle = [line for line in result.stdout.splitlines() if "suppresses nothing" in line]
    assert len(idle) == 1 and "name-dotted" in idle[0]


def test_a_command_after_two_dashes_is_asked_over_its_pipes(tmp_path: Path) -> None:
    program = tmp_path / "notes_server.py"
    program.write_text(SERVER, encoding="utf-8")
    result = run("--format", "json", "--", sys.executable, program)
    assert result.exit_code == 1, result.output
    assert "hints-missing" in {finding["rule"] for finding in json.loads(result.stdout)["findings"]}


def test_a_command_that_is_no_server_is_an_error_not_a_finding() -> None:
    assert isinstance(run("--", sys.executable, "-c", "pass").exception, AssentError)
    assert isinstance(run("--", "no-such-command-anywhere").exception, AssentError)


def test_a_python_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imported_notes.py").write_text(SERVER, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    result = run("imported_notes:server", "--format", "json")
    assert "hints-missing" in {finding["rule"] for finding in json.loads(result.stdout)["findings"]}
    assert isinstance(run("imported_notes:nothing").exception, SettingsError)


def test_what_a_module_prints_is_no_part_of_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chatty = f"print('imported')\n{SERVER}\ndef make():\n    print('made')\n    return server\n"
    (tmp_path / "chatty_notes.py").write_text(chatty, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    result = run("chatty_notes:make", "--format", "json")
    assert json.loads(result.stdout)["tools"] == 1 and result.stderr == "imported\nmade\n"


@pytest.mark.parametrize("stateless", [True, False])
async def test_a_url_is_asked_and_its_json_kept_as_it_is(stateless: bool) -> None:
    from assent.checks.probe.list_tools import listed_at

    server = MCPServer("notes", log_level="ERROR")

    @server.tool()
    def list_notes() -> str:
        """Lists notes."""
        return ""

    async with serving(server.streamable_http_app(stateless_http=stateless)) as url:
        assert [tool["name"] for tool in await listed_at(url)] == ["list_notes"]


async def test_a_url_that_does_not_answer_is_an_error() -> None:
    from assent.checks.probe.list_tools import NotListedError, listed_at

    with pytest.raises(NotListedError, match=r"did not list its tools: .*\. Start the server, or correct the address$"):
        await listed_at("http://127.0.0.1:9/mcp")


@pytest.mark.parametrize(("status", "remedy"), [(401, "give them with --header"), (404, "it often ends in /mcp")])
async def test_a_url_that_refuses_is_named_with_its_status_and_what_to_do(status: int, remedy: str) -> None:
    from assent.checks.probe.list_tools import NotListedError, listed_at

    async def app(scope: Any, receive: Any, send: Any) -> None:
        fields = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": b"{}"})

    async with serving(app) as url:
        with pytest.raises(NotListedError, match=f"did not list its tools: answered {status}. .*{remedy}"):
            await listed_at(url)


def test_a_rule_is_explained_with_its_examples() -> None:
    result = CliRunner().invoke(rule, ["name-dotted"])
    assert result.stdout.startswith("name-dotted (warning)\n")
    assert "orders.place" in result.stdout


def test_a_guard_is_explained_and_a_misspelt_name_corrected() -> None:
    assert "(guard" in CliRunner().invoke(rule, ["bounds"]).stdout
    assert "Did you mean bounds?" in str(CliRunner().invoke(rule, ["bound"]).exception)
    assert "read-only-contradicted\terror\t" in CliRunner().invoke(rule, []).stdout


def test_fixes_are_shown_written_and_gone_from_the_findings(tmp_path: Path) -> None:
    path = written(tmp_path, {**LIAR, "annotations": {"title": "List notes", "readOnlyHint": True}})
    before = path.read_text()
    shown = run(path, "--diff")
    assert '-{"tools"' in shown.stderr and "findings can be fixed in 1 file\n" in shown.stderr
    assert path.read_text() == before and "read-only-contradicted" in shown.stdout
    fixed = run(path, "--fix")
    assert (fixed.exit_code, "read-only-contradicted" in fixed.stdout) == (0, False)
    hints = json.loads(path.read_text())["tools"][0]["annotations"]
    assert (hints["readOnlyHint"], hints["destructiveHint"]) == (False, True)


def test_a_configuration_is_fixed_in_the_contracts_it_names(tmp_path: Path) -> None:
    contracts = tmp_path / "contracts.yaml"
    contracts.write_text("tools: {drop: {side_effect: destructive, risk: low}}", encoding="utf-8")
    settings = tmp_path / "assent.yaml"
    settings.write_text("contracts: [contracts.yaml]", encoding="utf-8")
    assert run(settings, "--fix").exit_code == 0
    assert contracts.read_text(encoding="utf-8") == "tools: {drop: {side_effect: destructive}}"


def test_what_is_no_file_cannot_be_fixed_and_nothing_is_half_done(tmp_path: Path) -> None:
    path = written(tmp_path, LIAR)
    before = path.read_text()
    api = tmp_path / "api.json"
    api.write_text('{"openapi": "3.1.0", "info": {}, "paths": {}}', encoding="utf-8")
    for wrong in (["http://127.0.0.1:9/mcp"], [api], ["package.module:server"], [tmp_path / "absent.json"]):
        result = run(path, *wrong, "--fix")
        assert isinstance(result.exception, SettingsError), result.output
        assert path.read_text() == before
    for wrong in (["--contracts", "*.yaml", path, "--fix"], ["--fix", "--", sys.executable, "server.py"]):
        assert isinstance(run(*wrong).exception, SettingsError)
    both = run(path, "--fix", "--baseline", tmp_path / "b", "--write-baseline")
    assert (both.exit_code, path.read_text()) == (2, before)


BROKEN = """
import sys
from fastmcp import FastMCP
server = FastMCP("notes")
@server.tool
def delete_notes(ids: list[str]) -> str:
    "Deletes notes."
    return "done"
number = 5
def needs(argument): return server
def fails(): raise RuntimeError("no database")
def leaves(): sys.exit(0)
async def later(): return server
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("number", "not one of type int"),
        ("needs", "missing 1 required positional argument"),
        ("fails", "RuntimeError: no database. Name a server object"),
        ("leaves", "SystemExit: 0"),
        ("later", "the function is asynchronous. Name a server object"),
    ],
)
def test_what_is_no_server_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    (tmp_path / "no_servers.py").write_text(BROKEN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    result = run(f"no_servers:{name}")
    assert isinstance(result.exception, AssentError) and said in str(result.exception)


def test_a_fastmcp_server_is_a_server_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fast_notes.py").write_text(BROKEN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    result = run("fast_notes:server", "--format", "json")
    assert {finding["tool"] for finding in json.loads(result.stdout)["findings"]} == {"delete_notes"}


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/mcp", "HTTP://127.0.0.1:99999/mcp", "http://[::1/mcp"])
def test_an_address_is_never_taken_for_a_file(address: str) -> None:
    result = run(address)
    assert isinstance(result.exception, AssentError)
    assert str(result.exception).startswith(f"'{address}' is not an http:// or https:// address")


def test_a_file_of_something_else_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "suppressions.yaml"
    path.write_text("suppressions: []\n", encoding="utf-8")
    assert str(run(path).exception).startswith(f"{path}: it holds neither tools nor contracts")


def test_a_file_that_cannot_be_read_and_a_baseline_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"name": "list_notes"}\n{"title": "x"}\n', encoding="utf-8")
    result = run(written(tmp_path, CLEAN), bad)
    assert isinstance(result.exception, SettingsError) and str(result.exception).startswith(
        f"{bad}: line 2 has no name"
    )
    result = run(written(tmp_path, CLEAN), "--baseline", tmp_path / "none" / "baseline.json", "--write-baseline")
    assert isinstance(result.exception, SettingsError) and "cannot be written" in str(result.exception)


def test_a_command_that_ends_at_once_is_said_to_have_ended() -> None:
    result = run("--", sys.executable, "-c", "")
    assert isinstance(result.exception, AssentError)
    assert str(result.exception) == f"{sys.executable} did not list its tools: it ended without an answer"


def test_a_line_that_is_no_message_is_told_in_a_sentence_and_the_tools_are_listed(tmp_path: Path) -> None:
    script = tmp_path / "chatty.py"
    script.write_text("print('Starting...', flush=True)\n" + SERVER, encoding="utf-8")
    command = [sys.executable, "-c", "from assent.cli import main; main()", "lint", "--", sys.executable, str(script)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (1, "delete_notes")
    assert (
        ended.stderr
        == f"{sys.executable}: a line on its standard output is not a message; write logs to standard error\n"
    )


def test_definitions_come_from_the_standard_input_too(tmp_path: Path) -> None:
    result = CliRunner().invoke(lint, ["-"], input=written(tmp_path, LIAR).read_bytes())
    assert result.exit_code == 1 and result.stdout.startswith("delete_notes (standard input:1)\n")
    unreadable = CliRunner().invoke(lint, ["-"], input=b"\xff")
    assert str(unreadable.exception) == "standard input: it is not UTF-8 text. Convert it to UTF-8"


def test_a_list_of_tools_may_be_yaml_and_is_not_fixed_there(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text(write_yaml({"tools": [CLEAN, LIAR]}), encoding="utf-8")
    result = run(path)
    assert result.exit_code == 1 and result.stdout.startswith("delete_notes ")
    assert "definitions in YAML are not fixed. Save them as JSON" in str(run("--fix", path).exception)


def test_a_module_that_imports_what_is_not_there_is_told_from_one_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "needs_more.py").write_text("import nowhere_to_be_found\n", encoding="utf-8")
    assert "Install nowhere_to_be_found" in str(run("needs_more:server").exception)
    assert "Name it as package.module:server" in str(run("not_there_at_all:server").exception)


def test_operations_that_get_no_tool_are_not_passed_over_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "api.json"
    picture = {"get": {"responses": {"200": {"description": "", "content": {"image/png": {}}}}}}
    path.write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {"/p": picture}}))
    said = run(path).stderr.splitlines()
    assert said[0] == f"{path}: 1 operation without a tool; `assent contract show {path} --excluded` says why"


def test_a_target_without_tools_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    result = run(written(tmp_path), written(tmp_path))
    assert result.exit_code == 0 and result.stderr.endswith("tools.json: it contains no tools\n")


def test_a_name_at_which_nobody_can_look_is_told_in_a_sentence() -> None:
    said = "cannot be read: File name too long. Correct the path; to pass the text of a file, use `-`"
    for options in ((), ("--fix",)):
        assert str(run(json.dumps([LIAR] * 20), *options).exception).endswith(said)
