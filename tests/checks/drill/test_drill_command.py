"""`assent drill`: what it prints and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.checks.drill.run import story_names
from assent.cli.drill import drill


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "assent.yaml"
    file.write_text("upstreams: {own: {url: 'http://127.0.0.1:9/mcp'}}\nstore: sqlite:///own.db\n")
    return file


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(drill, [str(one) for one in arguments])


def test_something_let_through_is_exit_code_1_and_says_what_to_change(config: Path) -> None:
    result = invoke("-c", config, "shell-injection", "bulk-delete")
    assert result.exit_code == 1
    assert "LET THROUGH    shell-injection" in result.output and "Change: Set `sandbox: enforce`" in result.output
    assert result.output.endswith("2 stories: 0 stopped, 1 asked, 1 let through.\n")
    assert [one.name for one in config.parent.iterdir()] == ["assent.yaml"], "the user's store is not made"


def test_the_first_line_says_that_a_configuration_only_observes(config: Path) -> None:
    assert not invoke("-c", config, "token-passthrough").output.startswith("Observing")
    config.write_text("mode: observe\n" + config.read_text())
    first = invoke("-c", config, "token-passthrough").output.splitlines()[0]
    assert first.startswith("Observing: nothing is asked or refused") and first.endswith("Set `mode: enforce`.")
    assert json.loads(invoke("-c", config, "--json", "token-passthrough").output)


def test_nothing_let_through_is_exit_code_0_also_as_json(config: Path) -> None:
    result = invoke("-c", config, "--json", "bulk-delete", "token-passthrough")
    assert result.exit_code == 0
    found = json.loads(result.output)
    assert [(one["story"], one["ending"]) for one in found] == [
        ("bulk-delete", "asked"),
        ("token-passthrough", "stopped"),
    ]
    assert all(one["why"] and one["source"].startswith("https://") for one in found)


def test_an_unknown_story_is_exit_code_2(config: Path) -> None:
    result = invoke("-c", config, "no-such-story")
    assert result.exit_code == 2 and "assent drill --list" in result.output


def test_the_names_are_listed_without_a_configuration() -> None:
    assert invoke("--list").output.split() == list(story_names())
    assert len(story_names()) >= 15


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_drill_that_is_ended_leaves_no_file_and_no_process(config: Path, tmp_path: Path, how: signal.Signals) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    starting = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from assent.cli import main; main()"
    )
    command = [sys.executable, "-c", starting, "drill", "-c", str(config)]
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL)
    limit = time.monotonic() + 60
    while not any(scratch.iterdir()) and time.monotonic() < limit:
        time.sleep(0.02)
    process.send_signal(how)
    assert process.wait(60) == 130
    assert not any(scratch.iterdir())


def test_one_story_is_counted_as_one(config: Path) -> None:
    assert invoke("-c", config, "bulk-delete").output.endswith("1 story: 0 stopped, 1 asked, 0 let through.\n")
