"""What counts, what is suppressed, and what the baseline knows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assent.checks.lint.run import all_rules, lint
from assent.checks.lint.suppressions import (
    Suppression,
    baseline_text,
    in_comments,
    less,
    read_baseline,
    read_suppressions,
)
from assent.checks.lint.target import Target
from assent.contract.yaml_document import YamlDocument
from assent.errors import SettingsError
from support.documents.lint_examples import target_of

LIAR = {"name": "send_email", "description": "Sends an email.", "annotations": {"readOnlyHint": True}}


def test_a_suppression_takes_a_finding_out_and_keeps_its_reason() -> None:
    report = lint(target_of(LIAR), suppressions=[Suppression("read-only-contradicted", "send_*", "It only drafts.")])
    assert [(finding.rule, because) for finding, because in report.suppressed] == [
        ("read-only-contradicted", "It only drafts.")
    ]
    assert "read-only-contradicted" not in {finding.rule for finding in report.findings}


def test_a_suppression_that_suppresses_nothing_is_reported() -> None:
    idle = Suppression("name-dotted", "*", "We like dots.")
    assert lint(target_of(LIAR), suppressions=[idle]).idle == (idle,)


def test_a_suppression_of_a_rule_that_was_not_asked_is_not_called_idle() -> None:
    """Whoever looks for errors alone, or without a directory, is not told to remove what is needed otherwise."""
    kept = [Suppression("anthropic-name", "*", "It is listed elsewhere."), Suppression("title-missing", "*", "Later.")]
    assert lint(target_of(LIAR), suppressions=kept, least="error").idle == ()
    assert lint(target_of(LIAR, "anthropic"), suppressions=kept[:1]).idle == (kept[0],)


def test_a_baseline_hides_what_it_knows_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(baseline_text(lint(target_of(LIAR)).findings, tmp_path), encoding="utf-8")
    known = read_baseline(path)
    assert less(lint(target_of(LIAR)), known).findings == ()
    dotted = {**LIAR, "name": "send.email"}
    assert "name-dotted" in {finding.rule for finding in less(lint(target_of(dotted)), known).findings}


def test_a_row_of_a_baseline_covers_one_finding_and_an_old_row_one_of_any_file(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    found = lint(target_of(LIAR))
    twice = replace(found, findings=found.findings * 2)
    path.write_text(baseline_text(found.findings, tmp_path), encoding="utf-8")
    assert less(twice, read_baseline(path)).findings == found.findings
    rows = [{"fingerprint": one.fingerprint} for one in found.findings]
    path.write_text(json.dumps({"findings": rows}), encoding="utf-8")
    assert less(twice, read_baseline(path)).findings == found.findings


@pytest.mark.parametrize(
    "text", ['{"a":' * 100_000, "[]", '{"findings": 1}', "words"], ids=["deep", "list", "one", "words"]
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match="not a baseline"):
        read_baseline(path)


def test_notes_alone_do_not_fail() -> None:
    report = lint(target_of({"contracts": {"list_notes": {"side_effect": "read"}}}))
    assert not report.fails() and not report.fails("error")
    assert lint(target_of(LIAR)).fails("error")


def test_rules_of_a_directory_are_asked_under_its_profile_only() -> None:
    bare = {"name": "list_notes", "annotations": {"readOnlyHint": True}}
    named = {profile: {f.rule for f in lint(target_of(bare, profile)).findings} for profile in ("spec", "openai")}
    assert not {rule for rule in named["spec"] if rule.startswith("openai-")}
    assert "openai-hints" in named["openai"]


def test_comments_suppress_inside_and_above_a_tool() -> None:
    text = (
        "tools:\n"
        "  # assent: allow risk-lowered because drafts are the caller's own\n"
        "  delete_draft:\n"
        "    side_effect: destructive\n"
        "    risk: medium\n"
        "  send_note:\n"
        "    side_effect: write  # assent: allow failures-undeclared because it never fails\n"
    )
    found = in_comments(YamlDocument(text, "contracts.yaml"), all_rules())
    assert [(one.rule, one.tool, one.line) for one in found] == [
        ("risk-lowered", "delete_draft", 2),
        ("failures-undeclared", "send_note", 7),
    ]


def test_a_comment_that_is_not_indented_like_a_tool_s_fields_is_about_the_next_tool() -> None:
    tools = "tools:\n  drop_a:\n    side_effect: destructive\n{}\n  drop_b:\n    side_effect: destructive\n{}"
    said = "# assent: allow risk-lowered because mine\n"
    above = tools.format(f"  {said}", "")
    inside = tools.format(f"    {said}", "")
    for text, tool in ((above, "drop_b"), (inside, "drop_a")):
        assert [one.tool for one in in_comments(YamlDocument(text, "c.yaml"), all_rules())] == [tool]
    directly = above.replace("\n\n", "\n"), inside.replace("\n\n", "\n")
    for text, tool in zip(directly, ("drop_b", "drop_a"), strict=True):
        assert [one.tool for one in in_comments(YamlDocument(text, "c.yaml"), all_rules())] == [tool]
    last = tools.format("", f"\n{said}")
    with pytest.raises(SettingsError, match="outside the block of a tool"):
        in_comments(YamlDocument(last, "c.yaml"), all_rules())


def test_what_stands_in_a_value_is_no_comment() -> None:
    said = "# assent: allow risk-lowered because I am a text"
    text = (
        f'tools:\n  a:\n    description: "Drops. {said}"\n    side_effect: destructive\n'
        f"  b:\n    description: |  {said.replace('text', 'comment')}\n      Drops.\n      # assent: allow nothing\n"
        f"    title: 'It''s\n      {said}'\n    risk: low#er\n  # assent: allow risk-lowered because c\n  c: {{}}\n"
    )
    found = in_comments(YamlDocument(text, "contracts.yaml"), all_rules())
    assert [(one.tool, one.line, one.because) for one in found] == [("b", 6, "I am a comment"), ("c", 12, "c")]
    flow = '{tools: {a: {title: "\\ud83d\\ude00 # assent: allow nothing"}}} # assent: allow risk-lowered because a'
    assert [one.because for one in in_comments(YamlDocument(flow), all_rules())] == ["a"]


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("# assent: allow risk-lowered", "without a reason"),
        ("# assent: allow risk-lowerd because typo", "there is no rule 'risk-lowerd'"),
        ("# assent: allow", "no rule is named"),
    ],
)
def test_a_comment_without_rule_or_reason_is_refused_with_its_line(comment: str, problem: str) -> None:
    text = f"tools:\n  note:\n    side_effect: read {comment}\n"
    with pytest.raises(SettingsError) as caught:
        in_comments(YamlDocument(text, "contracts.yaml"), all_rules())
    assert problem in str(caught.value) and "contracts.yaml:3" in str(caught.value)


def test_a_file_of_suppressions_names_rule_tool_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "allowed.yaml"
    path.write_text("suppressions:\n  - {rule: name-dotted, tool: 'a.*', because: Old clients.}\n", encoding="utf-8")
    assert read_suppressions(path, all_rules())[0].covers("name-dotted", "a.b")
    path.write_text("suppressions:\n  - {rule: name-dotted}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="without a reason"):
        read_suppressions(path, all_rules())


def test_an_empty_target_is_clean() -> None:
    assert lint(Target("nothing")).findings == ()
