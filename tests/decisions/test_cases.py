"""Do files of cases say what is wrong with them, and do cases that do not hold say so?"""

from __future__ import annotations

from pathlib import Path

import pytest

from assent.errors import FaultsError
from support.decisions import load_cases, parse_cases, play, run_cases
from support.decisions.cases import CasesError

GOOD = """\
tools:
  note: {side_effect: write}
cases:
  - name: it runs
    tool: note
    expect: answer
"""


def faults_of(text: str) -> list[str]:
    with pytest.raises(FaultsError) as error:
        parse_cases(text, "some.yaml")
    return [str(fault) for fault in error.value.faults]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "some.yaml:1: there are no cases in it. Write `cases:` and a list under it"),
        ("cases: [", "not valid YAML"),
        (GOOD + "    expects: answer\n", "some.yaml:7: cases.0.expects: there is no such key. Remove it"),
        (GOOD.replace("answer", "confirm.decline"), "Did you mean confirm.declined?"),
        (GOOD.replace("answer", "{}"), "some.yaml:6: cases.0.expect: say one of answer, error, refusal, pause"),
        (GOOD.replace("answer", "{answer: true, pause: true}"), "not answer and pause"),
        (GOOD + "    by: anne\n", "some.yaml:4: it runs: nobody is called 'anne'. Did you mean ann?"),
        (GOOD + "    given: [{approved: nobody}]\n", "nobody cannot decide anything"),
        (GOOD.replace("write", "wriet"), "some.yaml:2: note.side_effect: 'wriet' is not allowed here"),
        (GOOD + GOOD.split("cases:\n")[1], "some.yaml:7: it runs: two cases have this name. The first is on line 4"),
        (GOOD + "    given: [slept]\n", "some.yaml:7: cases.0.given.0"),
        (GOOD + "    given: [{called: {}, elapsed: 5}]\n", "a step is one of called, rehearsed"),
        (GOOD + "    given: [{elapsed: soon}]\n", "'soon' is not a duration"),
        (GOOD + "    given: [{approved: zoe}]\n", "nobody is called 'zoe'"),
        (GOOD + "    world: {guards: [{rule: no_such_rule}]}\n", "there is no guard 'no_such_rule'"),
        (GOOD + "    tools: {note: {risk: enormous}}\n", "it runs: note.risk: 'enormous' is not allowed here"),
    ],
)
def test_a_fault_is_named_with_its_file_line_and_remedy(text: str, said: str) -> None:
    assert any(said in fault for fault in faults_of(text)), faults_of(text)


def test_a_matrix_with_a_hole_in_its_table_is_a_fault() -> None:
    text = """\
matrices:
  - name: "{tier} by {kind}"
    over: {tier: [read, write], kind: [agent, human]}
    contract: {side_effect: "{tier}"}
    case: {by: "{kind}"}
    rows: tier
    columns: kind
    expect: {read: {agent: answer, human: answer}, write: {agent: answer}}
"""
    assert faults_of(text.replace("{kind}", "{kin}")) == [
        "some.yaml:2: {tier} by {kin}: 'kin' is not an axis. Use names of `over`",
        "some.yaml:2: {tier} by {kin}: the table says nothing of write, human. Add it to `expect`",
    ]
    assert faults_of(text) == [
        "some.yaml:2: {tier} by {kind}: the table says nothing of write, human. Add it to `expect`"
    ]


def test_all_files_are_read_and_all_their_faults_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD.replace("answer", "nonsense"))
    (tmp_path / "b.yaml").write_text("cases: 3")
    (tmp_path / "c.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(CasesError) as error:
        load_cases([tmp_path])
    assert [Path(fault.file).name for fault in error.value.faults] == ["a.yaml", "b.yaml", "c.yaml"]


async def test_all_cases_are_run_and_each_says_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        GOOD + GOOD.split("cases:\n")[1].replace("it runs", "it asks").replace("answer", "pause")
    )
    held, differing = await run_cases([tmp_path])
    assert (held.case.name, held.differences) == ("it runs", ())
    assert differing.place == f"{tmp_path / 'a.yaml'}:7"
    assert differing.differences == ("expected pause, got answer",)


def test_a_directory_without_cases_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(CasesError, match=r"there are no \*.yaml files"):
        load_cases([tmp_path])
    with pytest.raises(CasesError, match="cannot be read: No such file"):
        load_cases([tmp_path / "none.yaml"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("expect: pause", ["expected pause, got answer"]),
        ("expect: confirm.declined", ["expected refusal confirm.declined, got answer"]),
        ("expect: {answer: true, replayed: true}", ["expected a replay"]),
        ("expect: {answer: true, effects: 2}", ["expected 2 effects of note, but there were 1"]),
        ("expect: {answer: true, result: {ok: 7}}", ["result/ok: expected 7, got True"]),
        ("expect: {answer: true, result: {no: 7}}", ["result/no: expected 7, got None"]),
        ("expect: {answer: true, shows: [boo]}", ["the question does not show 'boo'"]),
        ("expect: {error: broken}", ["expected the tool's error broken, got answer"]),
        (
            "expect: {answer: true, would: [guard.denied]}",
            ["expected it to be noted that ['guard.denied'] would have stopped it, not []"],
        ),
        ("given: [asked]\n    expect: answer", ["given 1 (asked): answer"]),
        ("given: [in_doubt]\n    expect: execute.in_doubt", ["expected refusal execute.in_doubt, got answer"]),
        ("given: [{called: {}, expect: pause}]\n    expect: answer", ["given 1 (called): expected pause, got answer"]),
        (
            "given: [{changed: {tools: {note: {bulk: -1}}}}]\n    expect: answer",
            ["given 1 (changed): note.bulk: -1 is not allowed here. Write a number of 1 or more"],
        ),
        ("given: [approved]\n    expect: answer", ["given 1 (approved): no one was asked"]),
        ("tool: none\n    expect: answer", ["expected answer, got refusal discover.unknown_tool (Unknown tool: none)"]),
    ],
)
async def test_a_case_that_does_not_hold_says_how(change: str, said: list[str]) -> None:
    text = GOOD.replace("expect: answer", change)
    if "tool: none" in change:
        text = text.replace("    tool: note\n", "")
    [case] = parse_cases(text)
    assert await play(case) == said


async def test_a_decision_that_ends_otherwise_says_how() -> None:
    text = GOOD.replace("write", "destructive") + "    given: [asked]\n    decide: {}\n"
    text = text.replace("expect: answer", "expect: {}")
    [declined] = parse_cases(text.replace("expect: {}", "expect: declined"))
    assert await play(declined) == ["expected an approval that is declined, but the approval is approved"]
    [refused] = parse_cases(text.replace("expect: {}", "expect: approve.expired"))
    assert await play(refused) == ["expected refusal approve.expired, but the approval is approved"]
