"""Contract files are read whole or not at all, and every fault of every file is told with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assent.contract.files import MOST_BYTES
from assent.errors import ContractError
from support.documents.contract_examples import load_contracts, parse_contracts


def refused(text: str) -> list[str]:
    with pytest.raises(ContractError) as caught:
        parse_contracts(text, "tools.yaml")
    return [str(fault) for fault in caught.value.faults]


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused_files(*paths: Path) -> list[str]:
    with pytest.raises(ContractError) as caught:
        load_contracts(paths)
    return [str(fault) for fault in caught.value.faults]


def test_contracts_are_found_by_their_canonical_names() -> None:
    found = parse_contracts("tools:\n  a.b: {side_effect: read}\n  c: {side_effect: write}\n")
    assert {name: contract.side_effect for name, contract in found.items()} == {"a.b": "read", "c": "write"}


def test_json_is_read_as_well() -> None:
    assert parse_contracts('{"tools": {"a": {"side_effect": "read", "title": "\\u00e9"}}}')["a"].title == "é"


def test_a_file_may_declare_no_tools() -> None:
    assert parse_contracts("tools: {}") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tools.yaml:1: the file is empty. Write `tools:` and the contracts under it"),
        ("# nothing\n", "tools.yaml:1: the file is empty. Write `tools:` and the contracts under it"),
        ("---\n", "tools.yaml:1: the file is empty. Write `tools:` and the contracts under it"),
        ("just text", "tools.yaml:1: there is no `tools:` at the top. Put the contracts under `tools:`"),
        ("- a\n- b\n", "tools.yaml:1: there is no `tools:` at the top. Put the contracts under `tools:`"),
        ("{}", "tools.yaml:1: there is no `tools:` at the top. Put the contracts under `tools:`"),
        ("tool:\n  a: {}\n", "tools.yaml:1: tool: there is no such key. Did you mean tools?"),
        (
            "tools: {}\nversion: 1\n",
            "tools.yaml:2: version: there is no such key. Only `tools:`, `upstream:`, `sections:` are allowed here",
        ),
        (
            "tools:\n",
            "tools.yaml:1: tools: it must have a contract for each tool, by the tool's name. Write a name and",
        ),
        (
            "tools: [a]\n",
            "tools.yaml:1: tools: it must have a contract for each tool, by the tool's name. Write a name and",
        ),
        ("tools:\n  a:\n", "tools.yaml:2: a: a contract must be a set of fields. Write at least side_effect: read"),
        (
            "tools:\n  a: read\n",
            "tools.yaml:2: a: a contract must be a set of fields. Write at least side_effect: read",
        ),
        (
            "tools:\n  a:\n    side_effect: read\n    name: b\n",
            "tools.yaml:4: a.name: the name is already the key above. Remove it",
        ),
        (
            "tools:\n  a b: {side_effect: read}\n",
            "tools.yaml:2: a b: 'a b' is not allowed here. Write a tool name: 1 to 128",
        ),
        ("tools:\n  {a: {side_effect: read}\n", "tools.yaml:3: not valid YAML: did not find expected ',' or '}'"),
        ("tools:\n\ta: {}\n", "tools.yaml:2: not valid YAML: it is indented with a tab. Use spaces"),
    ],
)
def test_a_text_that_is_no_contract_file_is_told_why(text: str, message: str) -> None:
    found = refused(text)
    assert len(found) == 1
    assert found[0].startswith(message)


def test_every_fault_has_the_line_of_the_value_that_is_wrong() -> None:
    text = """\
tools:
  first:
    side_effect: read
    risk: hihg
    confirmation:
      by: user
      expires: soon
  second:
    side_effect: write
    permissions:
      - fine
      - not fine
    input:
      properties:
        a: {type: strin}
  third:
    title: No effect
  fourth: {side_effect: read, overwrites: true}
"""
    assert [line.split(": ")[:2] for line in refused(text)] == [
        ["tools.yaml:4", "first.risk"],
        ["tools.yaml:7", "first.confirmation.expires"],
        ["tools.yaml:12", "second.permissions.1"],
        ["tools.yaml:13", "second.input"],
        ["tools.yaml:16", "third.side_effect"],
        ["tools.yaml:18", "fourth.overwrites"],
    ]


def test_a_key_said_twice_is_refused_and_told_together_with_the_rest() -> None:
    text = """\
tools:
  a:
    side_effect: read
    side_effect: write
  b: {side_effect: nothing}
  a: {side_effect: read}
"""
    assert refused(text) == [
        "tools.yaml:4: tools.a: side_effect is declared twice. The first is on line 3: keep one",
        "tools.yaml:6: tools: a is declared twice. The first is on line 2: keep one",
        "tools.yaml:5: b.side_effect: 'nothing' is not allowed here. "
        "Write 'read', 'compute', 'write', 'share_export', 'external_spend' or 'destructive'",
    ]


def test_a_name_in_two_files_is_refused_with_both(tmp_path: Path) -> None:
    first = write(tmp_path, "a.yaml", "tools:\n  x: {side_effect: read}\n")
    second = write(tmp_path, "b.yaml", "tools:\n  y: {side_effect: read}\n  x: {side_effect: write}\n")
    assert refused_files(first, second) == [f"{second}:3: x: x already has a contract in {first}. Keep one of them"]


def test_a_name_in_two_files_is_refused_even_where_one_of_them_is_wrong(tmp_path: Path) -> None:
    first = write(tmp_path, "a.yaml", "tools:\n  x: {side_effect: reed}\n")
    second = write(tmp_path, "b.yaml", "tools:\n  x: {side_effect: write}\n")
    found = refused_files(first, second)
    assert [line.split(": ")[1] for line in found] == ["x.side_effect", "x"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", "tools:\n  x: {side_effect: read}\n")
    assert list(load_contracts([path, path])) == ["x"]


def test_all_faults_of_all_files_are_told_at_once_and_nothing_is_half_applied(tmp_path: Path) -> None:
    good = write(tmp_path, "good.yaml", "tools:\n  fine: {side_effect: read}\n")
    broken = write(tmp_path, "broken.yaml", "tools: [\n")
    wrong = write(tmp_path, "wrong.yaml", "tools:\n  a: {side_effect: x}\n  b: {}\n  ok: {side_effect: read}\n")
    latin = write(tmp_path, "latin.yaml", "tools:\n  a: {title: é}\n".encode("latin-1"))
    missing = tmp_path / "missing.yaml"
    found = refused_files(good, broken, wrong, latin, missing, tmp_path)
    assert [line.split(": ", 1)[0] for line in found] == [
        f"{broken}:2",
        f"{wrong}:2",
        f"{wrong}:3",
        str(latin),
        str(missing),
        str(tmp_path),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "not UTF-8 text. Save it as UTF-8"),
        ("tools: {a: {side_effect: read, title: é}}".encode("utf-16"), "not UTF-8 text. Save it as UTF-8"),
        (b"tools: {}\n#" + b"x" * MOST_BYTES, f"larger than {MOST_BYTES} bytes. Split it into several files"),
        (b"tools: {}\x00", "not valid YAML: "),
    ],
)
def test_a_file_that_is_no_text_or_too_large_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path, "a.yaml", content)
    assert refused_files(path)[0].startswith(f"{path}: {message}")


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", b"\xef\xbb\xbftools:\n  x: {side_effect: read}\n")
    assert list(load_contracts([path])) == ["x"]


def test_what_is_not_there_or_not_a_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    missing = tmp_path / "none.yaml"
    assert refused_files(missing, tmp_path, pipe) == [
        f"{missing}: cannot be read: No such file or directory. Use a file that can be read",
        f"{tmp_path}: not a file. Use a file, or a pattern for files",
        f"{pipe}: not a file. Use a file, or a pattern for files",
    ]


def test_a_fault_of_a_tool_that_is_declared_twice_is_told_where_it_stands() -> None:
    text = "tools:\n  a: {side_effect: reed}\n  a: {side_effect: read}\n"
    with pytest.raises(ContractError) as error:
        parse_contracts(text, "tools.yaml")
    assert [fault.line for fault in error.value.faults] == [3, 2]
