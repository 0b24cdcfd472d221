"""Are definitions that many processes judge answered in order, at once, and up to the first that cannot be read?"""

import io
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assent.cli.classify_parallel import Line, classify_shares, read_shares
from assent.errors import FaultsError

MANY = 1000


def line(number: int) -> str:
    return json.dumps({"name": f"{'delete' if number % 3 else 'get'}_boat_{number}", "description": "é" * (number % 7)})


def shares(lines: list[str], size: int = 37) -> Iterator[list[Line]]:
    numbered = list(enumerate(lines, start=1))
    return (numbered[start : start + size] for start in range(0, len(numbered), size))


@pytest.mark.parametrize("cores", [1, 3])
def test_answers_come_in_the_order_of_the_lines(cores: int) -> None:
    lines = [line(number) for number in range(MANY)]
    answers = [
        json.loads(one) for many in classify_shares(shares(lines), trust_annotations=False, cores=cores) for one in many
    ]
    assert [answer["name"] for answer in answers] == [json.loads(one)["name"] for one in lines]
    assert [answer["read_only"] for answer in answers[:6]] == [True, False, False, True, False, False]


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("bad", [1, 500, MANY])
def test_what_stands_before_a_bad_line_is_answered_and_nothing_after_it(cores: int, bad: int) -> None:
    lines = [line(number) for number in range(MANY)]
    lines[bad - 1] = '{"name": ""}'
    answers: list[str] = []
    with pytest.raises(FaultsError, match=f"line {bad} has no name"):
        for many in classify_shares(shares(lines), trust_annotations=False, cores=cores):
            answers += many
    assert len(answers) == bad - 1


def test_what_a_helper_that_is_killed_leaves_behind_is_judged_all_the_same() -> None:
    lines = [line(number) for number in range(MANY)]
    before = {child.pid for child in multiprocessing.active_children()}
    answers: list[str] = []
    for many in classify_shares(shares(lines), trust_annotations=False, cores=2):
        answers += many
        for child in multiprocessing.active_children():
            if child.pid not in before:
                child.kill()
    assert [json.loads(one)["name"] for one in answers] == [json.loads(one)["name"] for one in lines]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device here")
def test_a_full_disk_is_told_in_a_sentence() -> None:
    command = [str(Path(sys.executable).with_name("assent")), "classify"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            command, input=f"{line(1)}\n", stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr == "error: the output is incomplete: No space left on device. Free some space and try again\n"


def test_annotations_are_believed_by_every_process() -> None:
    lines = [json.dumps({"name": f"frob_{number}", "annotations": {"readOnlyHint": True}}) for number in range(MANY)]
    answers = [one for many in classify_shares(shares(lines), trust_annotations=True, cores=2) for one in many]
    assert all(json.loads(one)["read_only"] for one in answers)


def test_lines_are_read_whole_however_the_input_is_cut() -> None:
    text = "\ufeff" + "\r\n".join([line(1), "", "é" * 70000, line(2)])
    read = [one for share in read_shares(io.BytesIO(text.encode())) for one in share]
    assert read == [(1, line(1)), (3, "é" * 70000), (4, line(2))]


def test_input_that_ends_within_a_letter_is_not_text() -> None:
    with pytest.raises(UnicodeDecodeError):
        list(read_shares(io.BytesIO("é".encode()[:1])))


def test_whoever_waits_for_each_answer_gets_it_after_thousands_too() -> None:
    command = [str(Path(sys.executable).with_name("assent")), "classify"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for number in range(MANY):
            process.stdin.write(f"{line(number)}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["name"].endswith(f"_{number}")
        process.stdin.close()
        assert process.wait() == 0
