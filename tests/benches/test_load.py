"""What a bench counts as processor time, and which rows its table takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.load import running_seconds
from bench.table import main

BURN = """
import sys, threading, time
def burn():
    while time.thread_time() < 0.2: pass
thread = threading.Thread(target=burn)
thread.start()
thread.join()
print("ended", flush=True)
sys.stdin.read()
"""


def test_a_thread_that_has_ended_counts() -> None:
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as burning:
        assert burning.stdout is not None
        assert burning.stdout.readline() == b"ended\n"
        assert running_seconds(burning.pid) > 0.2


def test_an_unknown_title_is_refused_with_those_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.table", "--only", "fastmcp", "no such row"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "no title has 'no such row' in it" in said
    assert "ContextForge" in said


def test_a_part_of_the_table_does_not_replace_the_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.table", "--only", "fastmcp", "--write", str(tmp_path)])
    with pytest.raises(SystemExit):
        main()
    assert "leave --only out" in capsys.readouterr().err
