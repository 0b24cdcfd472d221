"""`assent classify` answers a stream of definitions in order, at once, and up to the first that cannot be read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assent.contract.infer import classify_lines
from assent.errors import FaultsError

MANY = 1000
COMMAND = [str(Path(sys.executable).with_name("assent")), "classify"]


def line(number: int) -> str:
    return json.dumps({"name": f"{'delete' if number % 3 else 'get'}_boat_{number}", "description": "é" * (number % 7)})


def run(given: bytes) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(COMMAND, input=given, capture_output=True, check=False)
    return subprocess.CompletedProcess(COMMAND, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@pytest.mark.parametrize("bad", [1, 500, MANY])
def test_what_precedes_a_bad_line_is_answered_and_nothing_after_it(bad: int) -> None:
    lines = [line(number) for number in range(MANY)]
    lines[bad - 1] = '{"name": ""}'
    answers: list[str] = []
    with pytest.raises(FaultsError, match=f"line {bad} has no name"):
        for answer in classify_lines(lines):
            answers.append(answer)
    assert [json.loads(one)["name"] for one in answers] == [json.loads(one)["name"] for one in lines[: bad - 1]]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device here")
def test_a_full_disk_is_reported_in_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            COMMAND, input=f"{line(1)}\n", stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr == "error: the output is incomplete: No space left on device. Free some space and try again\n"


def test_a_mark_at_the_start_long_lines_and_empty_lines_are_read() -> None:
    long = json.dumps({"name": "get_boat", "description": "é" * 70000}, ensure_ascii=False)
    ended = run(("\ufeff" + "\r\n".join([line(1), "", long, line(2)])).encode())
    assert [json.loads(one)["name"] for one in ended.stdout.splitlines()] == [
        "delete_boat_1",
        "get_boat",
        "delete_boat_2",
    ]


def test_input_that_ends_within_a_letter_is_refused() -> None:
    ended = run("é".encode()[:1])
    assert (ended.returncode, "the input is not UTF-8 text" in ended.stderr) == (2, True)


def test_a_sender_that_waits_for_each_answer_gets_it() -> None:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for number in range(MANY):
            process.stdin.write(f"{line(number)}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["name"].endswith(f"_{number}")
        process.stdin.close()
        assert process.wait() == 0
