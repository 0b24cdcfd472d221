"""What does `assent classify` read, write and answer?"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assent.cli.classify import classify
from assent.errors import FaultsError


def test_it_reads_standard_input() -> None:
    result = CliRunner().invoke(classify, input='{"name": "get_boat"}\n{"name": "delete_boat"}\n')
    assert result.exit_code == 0
    assert [json.loads(line)["tier"] for line in result.stdout.splitlines()] == ["read", "destructive"]


def test_it_reads_a_file_of_a_tools_list(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text('\ufeff{"tools": [{"name": "get_boat"}]}', encoding="utf-8")
    result = CliRunner().invoke(classify, [str(path)])
    assert [json.loads(line)["name"] for line in result.stdout.splitlines()] == ["get_boat"]


def test_it_believes_annotations_only_when_told_to() -> None:
    line = '{"name": "frobnicate", "annotations": {"readOnlyHint": true}}'
    doubting = CliRunner().invoke(classify, input=line)
    trusting = CliRunner().invoke(classify, ["--trust-annotations"], input=line)
    assert [json.loads(result.stdout)["read_only"] for result in (doubting, trusting)] == [False, True]


@pytest.mark.parametrize(
    ("given", "problem"), [(b"nonsense", "line 1 is not JSON"), (b'{"name": "\xff"}', "is not UTF-8")]
)
def test_bad_input_is_a_fault_that_names_it(given: bytes, problem: str) -> None:
    result = CliRunner().invoke(classify, input=given)
    assert isinstance(result.exception, FaultsError)
    assert problem in str(result.exception)


def test_a_folder_is_a_fault_that_names_it(tmp_path: Path) -> None:
    result = CliRunner().invoke(classify, [str(tmp_path)])
    assert str(result.exception) == f"{tmp_path}: cannot be read: Is a directory. Correct the path"
