"""Homes in which nothing can be kept: one clear sentence each, nothing runs unrecorded, nothing is left in the way."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assent.config.folders import NoHome, home, state_folder
from support.clients.transports import ROOT

ECHO = str(ROOT / "tests" / "support" / "servers" / "echo_server.py")
ASSENT = str(ROOT / ".venv" / "bin" / "assent")
EVENT = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"},
         "tool_use_id": "1", "cwd": "/"}  # fmt: skip
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}}  # fmt: skip
FULL = "mount -t tmpfs -o size=64k tmpfs $HOME && ! dd if=/dev/zero of=$HOME/fill bs=1k count=100 2>/dev/null"
READ_ONLY = "mount -t tmpfs -o size=64k,ro tmpfs $HOME"
NOBODY = "exec setpriv --reuid 54321 --regid 54321 --clear-groups "
CASES = {
    "full disk": (FULL, "", "the disk is full", "is full"),
    "read-only home": (READ_ONLY, "", "Read-only file system", "cannot be written"),
    "no home": ("unset HOME", NOBODY, "HOME is not set", "HOME is not set"),
    "sudo with the home of another": ("chown 54321 $HOME; export SUDO_UID=54321", "", "with `sudo -H`", "`sudo -H`"),
}


def has_private_mounts() -> bool:
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("setpriv"):
        return False
    return (
        subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode == 0
    )


pytestmark = pytest.mark.skipif(not has_private_mounts(), reason="needs root and mounts of its own")


def run(case: str, folder: Path, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a home that is bad in one way; the engine that it may start ends with it."""
    make, prefix, _, _ = CASES[case]
    command = shlex.join(words)
    stop = f"{ASSENT} engine stop >/dev/null 2>&1"
    script = f"{make}\n({prefix}{command}); code=$?\n({prefix}{stop})\nexit $code"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", script], input=text, env=environment, cwd="/", capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_server_is_not_started_and_one_sentence_says_why(case: str, tmp_path: Path) -> None:
    done = run(case, tmp_path, ASSENT, "wrap", "--", sys.executable, ECHO, text=json.dumps(HELLO) + "\n")
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.count(CASES[case][2]) >= 1 and "Traceback" not in done.stderr
    assert [*tmp_path.rglob("*")] == []


@pytest.mark.parametrize("case", CASES)
def test_a_hook_denies_and_says_why(case: str, tmp_path: Path) -> None:
    done = run(case, tmp_path, ASSENT, "hook", "claude-code", text=json.dumps(EVENT))
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny" and CASES[case][2] in answer["permissionDecisionReason"]
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("words", [("doctor",), ("init", "--client", "claude-code", "--hooks", "--write")])
def test_doctor_and_init_name_the_problem(words: tuple[str, ...], case: str, tmp_path: Path) -> None:
    if words[0] == "init" and case == "full disk":
        pytest.skip("a small file may still fit")
    done = run(case, tmp_path, ASSENT, *words)
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr
    expected = CASES[case][3] if words == ("doctor",) or "HOME" in CASES[case][3] else CASES[case][2]
    assert expected in done.stdout + done.stderr


def test_a_folder_that_is_no_full_path_counts_as_not_set() -> None:
    own = pwd.getpwuid(os.geteuid()).pw_dir
    assert home({"HOME": "relative"}) == home({"HOME": ""}) == own
    assert state_folder({"HOME": "/h", "XDG_STATE_HOME": "relative"}) == "/h/.local/state/assent"


def test_root_keeps_a_home_of_its_own_or_of_a_container(tmp_path: Path) -> None:
    os.chown(tmp_path, 54321, 54321)
    assert home({"HOME": str(tmp_path)}) == str(tmp_path), "no sudo: a container whose home has another owner"
    with pytest.raises(NoHome):
        home({"HOME": str(tmp_path), "SUDO_UID": "54321"})
    assert home({"HOME": "/root", "SUDO_UID": "54321"}) == "/root"
