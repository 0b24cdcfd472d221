"""What is put right by itself, what is left to people, and what can go wrong on the way."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from assent.checks.lint.fixer import FixedFile, fix_file, write_all
from assent.checks.lint.run import all_rules, lint
from assent.checks.lint.sources import read_text
from assent.contract.profiles import profile
from assent.errors import SettingsError

FULL = {"title": "Notes", "description": "Lists notes.", "inputSchema": {"type": "object"}}


def mended(text: str, said_by: str = "spec", path: Path = Path("file")) -> FixedFile:
    def look(now: str) -> Any:
        read = read_text(now, path, said_by=profile(said_by), known=tuple(all_rules()))
        return read.target, lint(read.target, suppressions=read.suppressions).findings

    return fix_file(path, text.encode(), look, all_rules())


def tool(name: str, said_by: str = "spec", **parts: Any) -> dict[str, Any]:
    made = mended(json.dumps({"tools": [{"name": name, **parts}]}), said_by)
    found: dict[str, Any] = json.loads(made.after)["tools"][0]
    return found


def hints(name: str, said_by: str = "spec", *, text: str = "", **annotations: Any) -> dict[str, Any]:
    described = {"description": text} if text else {}
    found = tool(name, said_by, annotations=annotations, **described)["annotations"]
    return {key: value for key, value in found.items() if key != "title"}


def test_a_claim_that_the_definition_contradicts_becomes_the_guarded_one() -> None:
    assert hints("send_email", readOnlyHint=True)["readOnlyHint"] is False
    wrong = {"readOnlyHint": False, "destructiveHint": False}
    assert hints("delete_order", text="Deletes an order.", **wrong)["destructiveHint"] is True
    assert hints("purge_cache", readOnlyHint=True, destructiveHint=True)["readOnlyHint"] is False


def test_a_fix_never_takes_the_person_away() -> None:
    """Neither a foreign name, nor a text, nor an absence becomes a claim that the definition does not bear out."""
    assert hints("send_email", readOnly=True) == {"readOnly": True}
    assert hints("frobnicate", readOnly=True, destructive=False) == {"readOnly": True, "destructive": False}
    assert hints("delete_note", destructiveHint="false", readOnlyHint=False)["destructiveHint"] is True
    assert "readOnlyHint" not in hints("list_notes", text="Lists notes.", openWorldHint=False)
    assert hints("create_note", text="Creates a note.", readOnlyHint=False) == {"readOnlyHint": False}


def test_what_the_definition_bears_out_is_said_properly() -> None:
    assert hints("list_notes", text="Lists notes.", readOnly=True) == {"readOnlyHint": True}
    assert hints("list_notes", text="Lists notes.", readOnly=True, readOnlyHint=True) == {"readOnlyHint": True}
    assert hints("list_notes", text="Lists notes.", readOnlyHint="True") == {"readOnlyHint": True}
    assert hints("list_notes", text="Lists notes.", readOnlyHint=True, openWorldHint=None) == {"readOnlyHint": True}
    assert hints("delete_note", text="Deletes a note.") == {"readOnlyHint": False, "destructiveHint": True}


def test_titles_are_copied_and_hidden_characters_dropped_but_names_stay() -> None:
    found = tool("list\u200bnotes", title="List \u202enotes", description="Lists.\u200b")
    assert (found["name"], found["title"], found["description"]) == ("list\u200bnotes", "List notes", "Lists.")
    assert found["annotations"]["title"] == "List notes"
    assert tool("a", title="One", annotations={"title": "Two"})["annotations"]["title"] == "Two"


@pytest.mark.parametrize("name", sorted(name for name, rule in all_rules().items() if rule.mend is not None))
def test_fixing_the_examples_of_a_rule_is_stable(name: str) -> None:
    """What was fixed once is not fixed again, and nothing but the tools changes."""
    rule = all_rules()[name]
    for example in rule.flags:
        text = json.dumps({"tools": example.get("contracts", [example])}, indent=1)
        once = mended(text, (rule.profiles or ("spec",))[0])
        again = mended(once.after.decode(), (rule.profiles or ("spec",))[0])
        assert again.after == once.after and not again.fixed


def test_contracts_in_yaml_keep_comments_and_become_more_careful() -> None:
    text = (
        "tools:\n  # keep me\n  drop_notes:\n    side_effect: destructive\n    risk: low\n"
        "  pay_bill: {side_effect: write}\n"
        "  erase_all: {side_effect: destructive, confirmation: {by: none, because: x y}}\n"
    )
    assert mended(text).after.decode() == (
        "tools:\n  # keep me\n  drop_notes:\n    side_effect: destructive\n"
        "  pay_bill: {side_effect: external_spend}\n  erase_all: {side_effect: destructive}\n"
    )


def test_what_is_suppressed_with_a_reason_is_left_alone() -> None:
    text = (
        "tools:\n  drop_notes:\n    side_effect: destructive\n    risk: low # assent: allow risk-lowered because mine\n"
    )
    assert mended(text).after.decode() == text


def test_lines_arrays_answers_and_marks_keep_their_form() -> None:
    one = json.dumps({"name": "a_list", **FULL}, ensure_ascii=False)
    two = '{"name":"b_list","title":"B\u2028","description":"Lists.","inputSchema":{"type":"object"}}'
    lines = f"\ufeff{one}\r\n\r\n  {two}  \r\n"
    made = mended(lines).after.decode()
    assert made.startswith("\ufeff{") and made.count("\r\n") == 3
    assert '"B"' in made and '"annotations":{"title":"B"}' in made.replace('": ', '":')
    for text in (f"[{one}]", f'{{"jsonrpc": "2.0", "result": {{"tools": [\n{one}\n]}}}}', one):
        assert mended(text).after.decode() == text.replace("}}", '}, "annotations": {"title": "Notes"}}', 1)


def test_a_tool_is_changed_inside_its_page_where_pages_stand_on_a_line_each() -> None:
    liar = '{"name": "delete_user", "description": "Deletes a user.", "annotations": {"readOnlyHint": true}}'
    pages = (
        '{"tools": [{"name": "get_a"}, {"name": "get_b"}], "nextCursor": "2"}\n'
        '{"jsonrpc": "2.0", "result": {"tools": [%s], "result": {}}}\n'
        '[{"name": "get_c"}]\n{"name": "get_d", "result": {"tools": 1}}\n'
    )
    first, second, third, fourth = map(json.loads, mended(pages % liar).after.decode().splitlines())
    assert second["result"]["tools"][0]["annotations"]["readOnlyHint"] is False
    assert (set(second), set(second["result"])) == ({"jsonrpc", "result"}, {"tools", "result"})
    assert [tool["name"] for tool in [*first["tools"], *third, fourth]] == ["get_a", "get_b", "get_c", "get_d"]
    assert (set(first), fourth["result"]) == ({"tools", "nextCursor"}, {"tools": 1})


def test_of_two_tools_with_one_name_neither_is_touched() -> None:
    text = json.dumps({"tools": [{"name": "send_it", **FULL}, {"name": "send_it", **FULL}]})
    assert mended(text).after.decode() == text


def test_files_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    for path in (first, second):
        path.write_text("old", encoding="utf-8")
    first.chmod(0o640)
    made = [FixedFile(path, b"old", b"new", ()) for path in (first, second)]
    second.write_text("newer", encoding="utf-8")
    with pytest.raises(SettingsError, match="changed meanwhile"):
        write_all(made)
    assert (first.read_text(), second.read_text()) == ("old", "newer")
    second.write_text("old", encoding="utf-8")
    write_all(made)
    assert (first.read_text(), second.read_text()) == ("new", "new")
    assert first.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old", encoding="utf-8")
    link = tmp_path / "link.json"
    link.symlink_to("real.json")
    write_all([FixedFile(link, b"old", b"new", ())])
    assert link.is_symlink() and (tmp_path / "real.json").read_text() == "new"


def test_what_two_tools_share_by_an_anchor_is_left_to_people() -> None:
    text = "tools:\n  delete_boat: &common\n    side_effect: read\n  get_boat: *common\n"
    assert mended(text, path=Path("c.yaml")).after.decode() == text


def test_a_fix_takes_no_comment_with_it() -> None:
    text = 'tools: {delete_boat: {side_effect: destructive, title: "Sink",  # why: small boats\n   risk: low}}\n'
    assert "# why: small boats" in mended(text, path=Path("c.yaml")).after.decode()
    for kept in (
        "risk: medium  # assent: allow failures-undeclared because the upstream has no codes",
        "confirmation: {by: none,  # they asked for it\n      because: x y}",
    ):
        block = f"tools:\n  delete_boat:\n    side_effect: destructive\n    {kept}\n"
        assert mended(block, path=Path("c.yaml")).after.decode() == block


def test_a_write_protected_file_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o444)
    with pytest.raises(SettingsError, match="write-protected"):
        write_all([FixedFile(file, b"old", b"new", ())])
    assert file.read_text() == "old"


def test_a_full_disk_changes_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("old", encoding="utf-8")
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, allowed[1]))
    try:
        with pytest.raises(SettingsError, match="cannot be written"):
            write_all([FixedFile(file, b"old", b"new" * 16, ())])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.json", "old")]
