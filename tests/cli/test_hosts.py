"""What does `assent hosts` print?"""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from assent.cli.hosts import hosts
from assent.errors import SettingsError

HOSTILE = {"name": "list_notes", "title": "<script>", "annotations": {"readOnly": True, "readOnlyHint": True}}


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [HOSTILE, {"name": "<script>alert(1)</script>"}]}), encoding="utf-8")
    return str(path)


def test_text_has_a_line_per_host(tools: str) -> None:
    result = CliRunner().invoke(hosts, [tools])
    assert result.exit_code == 0
    assert "  ChatGPT                    runs          readOnlyHint is true" in result.stdout.splitlines()


def test_json_names_its_sources(tools: str) -> None:
    found = json.loads(CliRunner().invoke(hosts, [tools, "--format", "json"]).stdout)
    assert found["tools"][0]["hosts"]["chatgpt"]["does"] == "runs"
    assert {"name", "title", "says", "source", "checked"} == set(found["sources"][0])


def test_html_is_a_page_in_which_names_are_text(tools: str) -> None:
    page = CliRunner().invoke(hosts, [tools, "--format", "html"]).stdout
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)

    Reader().feed(page)
    assert "script" not in tags and tags.count("table") == 1


def test_a_submission_is_printed_as_json(tmp_path: Path) -> None:
    path = tmp_path / "contracts.yaml"
    path.write_text("tools: {list_notes: {side_effect: read, open_world: false}}", encoding="utf-8")
    made = json.loads(CliRunner().invoke(hosts, [str(path), "--submission", "openai"]).stdout)
    assert made["tools"]["list_notes"]["annotations"]["readOnlyHint"] is True


def test_a_refused_submission_is_a_finding_and_prints_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "list_notes"}]), encoding="utf-8")
    result = CliRunner().invoke(hosts, [str(path), "--submission", "openai"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error: list_notes: readOnlyHint is not set" in result.stderr


def test_a_submission_names_what_it_leaves_out(tmp_path: Path) -> None:
    path = tmp_path / "contracts.yaml"
    path.write_text(
        "tools:\n  list_notes: {side_effect: read, open_world: false}\n"
        "  drop_notes: {side_effect: destructive, visibility: hidden}\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(hosts, [str(path), "--submission", "openai"])
    assert result.stderr == "Left out, because they are hidden from agents: drop_notes\n"
    assert set(json.loads(result.stdout)["tools"]) == {"list_notes"}


def test_a_target_without_tools_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "assent.yaml"
    path.write_text("upstreams: {shop: {url: http://127.0.0.1:9/mcp}}", encoding="utf-8")
    result = CliRunner().invoke(hosts, [str(path)])
    assert isinstance(result.exception, SettingsError) and "it contains no tools" in str(result.exception)


@pytest.mark.parametrize(("form", "code"), [("html", 2), ("text", 2), ("json", 0)])
def test_a_submission_has_one_form(tmp_path: Path, form: str, code: int) -> None:
    path = tmp_path / "contracts.yaml"
    path.write_text("tools: {list_notes: {side_effect: read, open_world: false}}", encoding="utf-8")
    assert CliRunner().invoke(hosts, [str(path), "--submission", "openai", "--format", form]).exit_code == code


def test_a_tool_without_a_name_is_shown_as_such(tmp_path: Path) -> None:
    server = Path(__file__).parents[1] / "support" / "servers" / "nameless_server.py"
    result = CliRunner().invoke(hosts, ["--", sys.executable, str(server), "5"])
    assert "\n(a tool without a name)\n" in result.stdout
    page = CliRunner().invoke(hosts, ["--format", "html", "--", sys.executable, str(server), '" "'])
    assert ">(a tool without a name)<" in page.stdout


def test_names_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "a\x1b[2Jz\nerror: b"}]), encoding="utf-8")
    result = CliRunner().invoke(hosts, [str(path), "--submission", "openai"])
    assert result.exit_code == 1
    assert "\x1b" not in result.stderr and "\nerror: b" not in result.stderr
