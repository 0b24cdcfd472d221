"""Does the page of a server follow its tools?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.checks.lint.markdown_table import drift, placed, table
from assent.checks.lint.target import LintedTool
from assent.cli.contract import docs
from assent.errors import SettingsError

PING = {"name": "ping", "description": "Health probe. No | pipes.", "annotations": {"readOnlyHint": True}}
PAGE = "# Tools\n\n<!-- assent:tools -->\n<!-- /assent:tools -->\n\nThe end.\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(docs, [str(argument) for argument in arguments])


def written(path: Path, *tools: object) -> Path:
    path.write_text(json.dumps({"tools": tools}), encoding="utf-8")
    return path


def test_a_file_that_is_no_configuration_is_refused_where_one_is_named(tmp_path: Path) -> None:
    tools = written(tmp_path / "tools.json", PING)
    result = run("-c", tools)
    assert isinstance(result.exception, SettingsError) and result.stdout == ""
    assert f"{tools}: it cannot be used as a configuration. Correct it; a file of contracts" in str(result.exception)
    assert "used as" not in str(run("-c", tmp_path / "missing.yaml").exception)


def test_the_table_has_a_row_for_every_tool(tmp_path: Path) -> None:
    lines = run(written(tmp_path / "tools.json", PING)).stdout.splitlines()
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "Tool",
        "`readOnlyHint`",
        "`destructiveHint`",
        "`idempotentHint`",
        "`openWorldHint`",
        "Notes",
    ]
    assert lines[2].startswith("| `ping` | `true`")
    assert lines[2].rstrip(" |").endswith("Health probe.")


def test_contracts_add_side_effect_and_risk(tmp_path: Path) -> None:
    path = tmp_path / "contracts.yaml"
    path.write_text("tools: {drop_all: {side_effect: destructive}}", encoding="utf-8")
    assert "| destructive | critical |" in run(path).stdout


def test_a_page_is_written_and_then_equal_until_a_tool_changes(tmp_path: Path) -> None:
    tools, page = written(tmp_path / "tools.json", PING), tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert run(tools, "--check", page).exit_code == 1
    assert run(tools, "--write", page).exit_code == 0
    assert run(tools, "--check", page).exit_code == 0
    assert page.read_text(encoding="utf-8").endswith("<!-- /assent:tools -->\n\nThe end.\n")
    written(tools, {**PING, "annotations": {"readOnlyHint": False}})
    result = run(tools, "--check", page)
    assert result.exit_code == 1
    assert any(line.startswith("+") and "`false`" in line for line in result.stdout.splitlines())


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    tools, page = written(tmp_path / "tools.json", PING), tmp_path / "page.md"
    page.write_text("# Tools\n", encoding="utf-8")
    assert isinstance(run(tools, "--check", page).exception, SettingsError)
    assert isinstance(run(tools, "--check", tmp_path / "absent.md").exception, SettingsError)


def test_no_tool_can_break_out_of_its_row() -> None:
    hostile = "a|b`<!-- /assent:tools -->\n| x"
    made = table([LintedTool({"name": hostile, "description": f"{hostile}. More."})])
    page = placed("<!-- assent:tools -->\n<!-- /assent:tools -->\n", made)
    assert len(made.splitlines()) == 3
    assert drift(page, made) == []


def test_a_pipe_behind_a_backslash_is_no_end_of_a_cell() -> None:
    made = table([LintedTool({"name": "a", "description": "Ends with \\\\|."})])
    assert made.splitlines()[2].endswith("Ends with " + "\\" * 4 + "\\|. |")


def test_a_page_keeps_its_line_ends(tmp_path: Path) -> None:
    page, tools = tmp_path / "page.md", written(tmp_path / "tools.json", PING)
    page.write_bytes(PAGE.replace("\n", "\r\n").encode())
    assert run(tools, "--write", page).exit_code == 0
    assert page.read_bytes().count(b"\r\n") == page.read_bytes().count(b"\n") > PAGE.count("\n")
    assert run(tools, "--check", page).exit_code == 0


def test_lines_outside_of_the_marks_stay_as_they_are(tmp_path: Path) -> None:
    page, tools = tmp_path / "page.md", written(tmp_path / "tools.json", PING)
    page.write_bytes(b"\xef\xbb\xbfa\r\nb\n<!-- assent:tools -->\n<!-- /assent:tools -->\r\nc\x0c\rd")
    assert run(tools, "--write", page).exit_code == 0
    before, _, rest = page.read_bytes().partition(b"| Tool")
    assert before == b"\xef\xbb\xbfa\r\nb\n<!-- assent:tools -->\n"
    table, _, after = rest.partition(b"<!-- /assent:tools -->")
    assert (b"\r" in table, after) == (False, b"\r\nc\x0c\rd")


def test_what_no_file_can_hold_and_nobody_sees_is_written_out_and_the_page_stays_whole(tmp_path: Path) -> None:
    page, tools = tmp_path / "page.md", tmp_path / "tools.json"
    page.write_text(PAGE, encoding="utf-8")
    written(tools, {"name": "get_\ud800x", "description": "Reads\u200b \u26a0\ufe0f all \\d."})
    result = run(tools)
    assert result.exit_code == 0
    assert "`get_\\u{d800}x`" in result.stdout
    assert "Reads\\u{200b} \u26a0\ufe0f all \\d." in result.stdout, "what is seen stays as it is"
    assert run(tools, "--write", page).exit_code == 0
    assert page.read_text(encoding="utf-8").endswith("<!-- /assent:tools -->\n\nThe end.\n")
    assert run(tools, "--check", page).exit_code == 0


def test_a_page_that_cannot_be_replaced_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    page, tools = tmp_path / "page.md", written(tmp_path / "tools.json", PING)
    page.write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(Path, "replace", fails)
    result = run(tools, "--write", page)
    assert "page.md cannot be written: No space left on device" in str(result.exception)
    assert page.read_text(encoding="utf-8") == PAGE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.md", "tools.json"]


def test_a_page_that_is_a_link_stays_one_and_keeps_its_rights(tmp_path: Path) -> None:
    page, link, tools = tmp_path / "page.md", tmp_path / "link.md", written(tmp_path / "tools.json", PING)
    page.write_text(PAGE, encoding="utf-8")
    page.chmod(0o600)
    link.symlink_to(page)
    assert run(tools, "--write", link).exit_code == 0
    assert link.is_symlink() and "`ping`" in page.read_text(encoding="utf-8")
    assert page.stat().st_mode & 0o777 == 0o600


def test_only_whole_lines_outside_of_code_are_marks(tmp_path: Path) -> None:
    page, tools = tmp_path / "page.md", written(tmp_path / "tools.json", PING)
    example = "<!-- assent:tools -->\nexample\n<!-- /assent:tools -->\n"
    before = (
        "The table stands between `<!-- assent:tools -->` and `<!-- /assent:tools -->`.\n\nBy hand.\n\n"
        f"```md\n{example}```\n\n~~~~\n```\n{example}~~~\n{example}~~~~\n\n    <!-- assent:tools -->\n\n"
    )
    page.write_text(f"{before}<!-- assent:tools -->\nold\n<!-- /assent:tools -->\nThe end.\n", encoding="utf-8")
    assert run(tools, "--check", page).exit_code == 1
    assert run(tools, "--write", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"{before}<!-- assent:tools -->\n| Tool")
    assert text.endswith("|\n<!-- /assent:tools -->\nThe end.\n") and "old" not in text
    assert run(tools, "--check", page).exit_code == 0


@pytest.mark.parametrize(
    "marks",
    [
        [
            "<!-- assent:tools -->",
            "1",
            "<!-- /assent:tools -->",
            "<!-- assent:tools -->",
            "2",
            "<!-- /assent:tools -->",
        ],
        ["<!-- assent:tools -->", "By hand.", "<!-- assent:tools -->", "<!-- /assent:tools -->"],
        ["<!-- assent:tools -->", "<!-- /assent:tools -->", "By hand.", "<!-- /assent:tools -->"],
    ],
)
def test_a_page_with_several_marks_is_not_guessed_at(tmp_path: Path, marks: list[str]) -> None:
    page, tools = tmp_path / "page.md", written(tmp_path / "tools.json", PING)
    page.write_text("\n".join(marks), encoding="utf-8")
    for option in ("--check", "--write"):
        assert "page.md: the page has several marks, on lines 1, " in str(run(tools, option, page).exception)
    assert page.read_text(encoding="utf-8") == "\n".join(marks)


def test_a_page_is_checked_or_written_and_one_that_cannot_be_is_named(tmp_path: Path) -> None:
    tools = written(tmp_path / "tools.json", PING)
    assert run(tools, "--check", "page.md", "--write", "page.md").exit_code == 2


def test_without_a_target_the_configurations_contracts_are_kept_equal_to_the_page(
    tmp_path: Path, trusted_folder: Path
) -> None:
    (tmp_path / "contracts.yaml").write_text("tools: {ping: {side_effect: read}}")
    (tmp_path / "assent.yaml").write_text("contracts: [contracts.yaml]")
    (tmp_path / "page.md").write_text(PAGE)
    assert run("--check", "page.md").exit_code == 1
    assert run("--write", "page.md").exit_code == 0
    assert run("--check", "page.md", "-c", "assent.yaml").exit_code == 0
    assert "`ping`" in (tmp_path / "page.md").read_text()


def test_a_configuration_without_contracts_is_no_empty_table(tmp_path: Path) -> None:
    config = tmp_path / "assent.yaml"
    config.write_text("upstreams: {shop: {url: 'http://127.0.0.1:9/mcp'}}")
    assert "the configuration lists no contracts" in str(run(config).exception)


def test_a_configuration_is_said_by_the_profile_it_names_unless_another_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "contracts.yaml").write_text("tools: {make: {side_effect: write}}")
    config = tmp_path / "assent.yaml"
    config.write_text("{contracts: [contracts.yaml], profile: anthropic}")
    row = run(config).stdout.splitlines()[2]
    assert [cell.strip() for cell in row.split("|")][5] == "`true`", "destructive, as that directory reads it"
    row = run(config, "--profile", "spec").stdout.splitlines()[2]
    assert [cell.strip() for cell in row.split("|")][5] == "`false`"


def test_a_page_that_cannot_be_read_is_named_in_words(tmp_path: Path) -> None:
    tools = written(tmp_path / "tools.json", PING)
    missing = run(tools, "--check", tmp_path / "none.md")
    assert "none.md: cannot be read: No such file or directory" in str(missing.exception)
    (tmp_path / "latin.md").write_bytes(b"\xff")
    assert "latin.md: cannot be read: not UTF-8 text" in str(run(tools, "--check", tmp_path / "latin.md").exception)


def test_an_api_is_shown_as_the_gateway_would_serve_it_with_contract_files_over_it(tmp_path: Path) -> None:
    path = tmp_path / "api.json"
    answer = {"responses": {"200": {"description": "", "content": {"application/json": {"schema": {}}}}}}
    search = {"post": {"operationId": "search_orders", "summary": "Searches orders.", **answer}}
    add = {"post": {"operationId": "add_order", "summary": "Adds an order.", **answer}}
    info = {"title": "orders", "version": "1"}
    path.write_text(json.dumps({"openapi": "3.1.0", "info": info, "paths": {"/search": search, "/orders": add}}))
    (tmp_path / "contracts.yaml").write_text("tools: {add_order: {side_effect: external_spend}}")

    def effects(*more: object) -> list[str]:
        return [row.split("|")[2].strip() for row in run(path, *more).stdout.splitlines()[2:]]

    assert effects() == ["read", "write"]
    assert effects("--contracts", tmp_path / "contracts.yaml") == ["read", "external_spend"]
