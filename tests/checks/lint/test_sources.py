"""Which kind of file is it, and what stands in it?"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assent.checks.lint.run import all_rules, lint
from assent.checks.lint.sources import LintInput, kind_of, read_file
from assent.contract.profiles import profile
from assent.contract.reader import read_contract
from assent.errors import FaultsError

TOOL = {"name": "list_notes", "inputSchema": {"type": "object"}}


def read(path: Path, **options: object) -> LintInput:
    return read_file(path, said_by=profile("spec"), known=tuple(all_rules()), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"tools": [TOOL]}),
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}}, indent=2),
        json.dumps([TOOL]),
        json.dumps(TOOL) + "\n" + json.dumps(TOOL | {"name": "get_note"}) + "\n",
        json.dumps(TOOL),
    ],
    ids=["list-result", "response", "array", "lines", "one"],
)
def test_definitions_are_read_in_every_form(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(text, encoding="utf-8")
    subject = read(path).target.subjects[0]
    assert (subject.name, subject.file, subject.line > 0) == ("list_notes", str(path), True)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tools: {a: {side_effect: read}}", "contracts"),
        ('{"tools": {"a": {"side_effect": "read"}}}', "contracts"),
        ("openapi: 3.1.0\npaths: {}", "openapi"),
        ('{"openapi": "3.1.0"}', "openapi"),
        ("store: memory://", "configuration"),
        ('{"mcpServers": {}}', "configuration"),
        ('{"tools": []}', "definitions"),
    ],
)
def test_a_file_is_known_by_what_stands_in_it(text: str, kind: str) -> None:
    assert kind_of(text)[0] == kind


def test_lines_of_definitions_are_found(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text('{"name": "a"}\n{"name": "b"}\n{"name": "c\\u0041"}\n', encoding="utf-8")
    assert [subject.line for subject in read(path).target.subjects] == [1, 2, 3]


def test_the_line_of_a_tool_is_that_of_its_own_name(tmp_path: Path) -> None:
    """Not that of a name in an example, nor that of another tool of the same name."""
    path = tmp_path / "tools.json"
    example = '{"name": "a", "inputSchema": {"examples": [{"name": "b"}]}}'
    path.write_text(
        f'{{"tools": [\n{example},\n{{\n"title": "B",\n"name": "b"}},\n{{"name": "b"}}]}}', encoding="utf-8"
    )
    assert [subject.line for subject in read(path).target.subjects] == [2, 5, 6]
    path.write_text('{"tools": [{"name": "a"},\n{"name": "b"}]}\n'.replace("\n{", "{") * 2, encoding="utf-8")
    assert [subject.line for subject in read(path).target.subjects] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('tools:\n  - {"name": "a\\x62", "description": "Gets."}\n', [2]),
        ('tools:\n  - description: |\n      {"name": "\\d+"}\n    name: a\n  - name: b\n', [4, 5]),
        ("{tools: [{name: a, description: Gets.},\n {name: b}]}", [1, 2]),
        ('{"tools": [{"name": "a"},\n{"name": "b"},]}', [1, 2]),
        ("result:\n  tools:\n    - name: a\n", [3]),
    ],
    ids=["escape", "text", "flow", "comma", "answer"],
)
def test_definitions_in_yaml_are_read_with_their_lines(tmp_path: Path, text: str, lines: list[int]) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text(text, encoding="utf-8")
    assert [subject.line for subject in read(path).target.subjects] == lines


def test_a_line_that_nests_very_deeply_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    deep = "[" * 990 + "]" * 990
    path.write_text(f'{{"name": "a"}}\n{{"name": "b", "x": {deep}}}\n', encoding="utf-8")
    assert [subject.name for subject in read(path).target.subjects] == ["a", "b"]


def test_a_contract_file_is_linted_as_its_profile_says_it(tmp_path: Path) -> None:
    path = tmp_path / "contracts.yaml"
    path.write_text("tools:\n  drop_notes:\n    side_effect: destructive\n    risk: medium\n", encoding="utf-8")
    found = lint(read(path).target).findings
    assert ("risk-lowered", 2) in [(finding.rule, finding.line) for finding in found]
    assert not [finding for finding in found if finding.severity == "error"]


def test_contracts_laid_over_definitions_speak_for_them(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [TOOL]}), encoding="utf-8")
    overlay = {"list_notes": read_contract("list_notes", {"side_effect": "read"})}
    rules = {finding.rule for finding in lint(read(path, overlays=overlay).target).findings}
    assert "hints-missing" in {finding.rule for finding in lint(read(path).target).findings}
    assert "hints-missing" not in rules


@pytest.mark.parametrize("text", ["tools: {a: {side_effect: read}}", "upstreams: {}"])
def test_contracts_are_not_laid_over_what_holds_no_definitions(tmp_path: Path, text: str) -> None:
    path = tmp_path / "given.yaml"
    path.write_text(text)
    with pytest.raises(FaultsError, match="--contracts: there are no definitions in it"):
        read(path, overlays={"a": read_contract("a", {"side_effect": "write"})})


def test_a_configuration_brings_its_contracts_and_its_literal_keys(tmp_path: Path) -> None:
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "a.yaml").write_text("tools: {drop: {side_effect: destructive, risk: low}}")
    path = tmp_path / "assent.yaml"
    path.write_text("contracts: [contracts/*.yaml]\nauth:\n  api_keys:\n    - {name: ci, key: abcdefgh12345}\n")
    found = {finding.rule: finding for finding in lint(read(path).target).findings}
    assert {"literal-key", "risk-lowered"} <= set(found)
    assert found["literal-key"].place == f"{path}:4"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('contracts: "contracts/*.yaml"', "contracts: it is a list of files or patterns"),
        ("contracts: [5]", "contracts: it is a list of files or patterns"),
        ("contracts: [contracts/absent.yaml]", "contracts/absent.yaml: no file of this name"),
        ('contracts: ["**foo"]', "no contract file matches this pattern"),
        ('contracts: [""]', "not a file"),
        ('contracts: ["."]', "not a file"),
        ('contracts: ["/"]', "/: not a file"),
        ("upstreams: {}\nprofile: nonsense", "profile: there is no such profile"),
        ("upstreams: {}\nprofile: [spec]", "profile: there is no such profile"),
    ],
)
def test_a_configuration_that_would_not_be_served_is_not_clean(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "assent.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FaultsError, match=re.escape(said)):
        read(path)
    path.write_text('upstreams: {}\nprofile: "${PROFILE}"\ncontracts: ["${HOME}/contracts.yaml"]', encoding="utf-8")
    assert read(path).target.subjects == ()


@pytest.mark.parametrize("text", ["just words", "suppressions: []", "tools:", "[1, 2]", '{"name": ', "tools: [", ""])
def test_what_is_no_target_is_a_fault(tmp_path: Path, text: str) -> None:
    path = tmp_path / "strange"
    path.write_text(text, encoding="utf-8")
    if text == "":
        path = tmp_path / "absent"
    with pytest.raises(FaultsError):
        read(path)
