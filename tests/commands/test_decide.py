"""`assent decide` explains a request, or says what is wrong with it and ends with 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AGENT = {"kind": "agent", "scopes": ["*"]}


def decide(tmp_path: Path, request: Any) -> subprocess.CompletedProcess[str]:
    (tmp_path / "contracts.yaml").write_text("tools: {look: {side_effect: read}, wipe: {side_effect: destructive}}")
    (tmp_path / "assent.yaml").write_text("store: sqlite:///a.db\ncontracts: [contracts.yaml]\n")
    command = [sys.executable, "-c", "from assent.cli import main; main()", "decide", "-c", "assent.yaml"]
    return subprocess.run(command, cwd=tmp_path, input=json.dumps(request), capture_output=True, text=True)


def test_a_call_that_would_be_answered_ends_with_0_and_one_that_would_wait_with_1(tmp_path: Path) -> None:
    assert decide(tmp_path, {"tool": "look", "arguments": {}, "principal": AGENT}).returncode == 0
    waits = decide(tmp_path, {"tool": "wipe", "arguments": {}, "principal": AGENT})
    assert (waits.returncode, waits.stdout.splitlines()[0]) == (1, "refusal: confirm.approval_pending")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"key": 5}, "key: a key is text"),
        ({"can_ask": "no"}, "can_ask: it is true or false"),
        ({"principal": AGENT | {"scopes": 5}}, "principal.scopes: a list of texts is expected"),
        ({"principal": AGENT | {"scopes": "orders:write"}}, "principal.scopes: a list of texts is expected"),
        ({"principal": AGENT | {"actors": 5}}, "principal.actors: a list of principals is expected"),
        ({"principal": AGENT | {"mode": "tset"}}, "principal.mode: live or test is expected"),
        ({"principal": AGENT | {"auth_time": "now"}}, "principal.auth_time: a number of seconds is expected"),
        ({"principal": AGENT | {"id": 5}}, "principal.id: text is expected"),
    ],
)
def test_a_request_that_cannot_be_meant_is_refused_by_name(tmp_path: Path, wrong: Any, named: str) -> None:
    ended = decide(tmp_path, {"tool": "look", "principal": AGENT} | wrong)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"error: {named}")
