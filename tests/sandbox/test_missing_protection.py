"""Where a protection is missing, `enforce` does not start a server and says what is missing; `observe` says so once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.conftest import twin
from support.clients.transports import ROOT
from support.gateway.wrap_process import ASSENT, home

WITHOUT = [sys.executable, str(ROOT / "tests" / "support" / "processes" / "without_protection.py")]
NO_NAMESPACES = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"', "sh"]
CASES = {
    "no namespaces (ENOSYS)": [*WITHOUT, "unshare"],
    "no filters (ENOSYS)": [*WITHOUT, "seccomp"],
    "no mounts (ENOSYS)": [*WITHOUT, "mount"],
    "user.max_user_namespaces=0": NO_NAMESPACES,
}
GREETING = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    '"clientInfo":{"name":"t","version":"0"}}}\n'
)


def run(without: list[str], folder: Path, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [*without, *ASSENT, *words]
    return subprocess.run(command, input=said, capture_output=True, text=True, timeout=60, env=home(folder))


@pytest.mark.parametrize("without", CASES.values(), ids=CASES)
def test_enforce_refuses_to_start_and_says_what_is_missing(
    can_confine: None, tmp_path: Path, without: list[str]
) -> None:
    server = twin("files", "read_file")
    wrapped = run(without, tmp_path, "wrap", "--sandbox", "enforce", "--", *server, said=GREETING)
    assert wrapped.returncode == 2, wrapped.stderr
    assert '"result"' not in wrapped.stdout
    assert "this machine cannot confine a server" in wrapped.stderr
    checked = run(without, tmp_path, "sandbox", "check")
    assert checked.returncode == 1 and "missing  " in checked.stdout


def test_the_remedy_names_the_setting_of_the_kernel(can_confine: None, tmp_path: Path) -> None:
    assert "Fix: sysctl user.max_user_namespaces=10000" in run(NO_NAMESPACES, tmp_path, "sandbox", "check").stdout


def test_without_bubblewrap_the_command_that_installs_it_is_named(
    can_confine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("setpriv", "sh", "true"):
        (tmp_path / program).symlink_to(str(shutil.which(program)))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = run([], tmp_path, "sandbox", "check")
    assert found.returncode == 1 and "apt install bubblewrap" in found.stdout
    wrapped = run([], tmp_path, "wrap", "--sandbox", "enforce", "--", *twin("files", "read_file"), said=GREETING)
    assert wrapped.returncode == 2 and "bubblewrap (bwrap) is not installed" in wrapped.stderr


def test_observe_says_so_once_and_goes_on(can_confine: None, tmp_path: Path) -> None:
    server = twin("files", "read_file")
    wrapped = run(CASES["no filters (ENOSYS)"], tmp_path, "wrap", "--sandbox", "observe", "--", *server, said=GREETING)
    assert '"result"' in wrapped.stdout, wrapped.stderr
    assert wrapped.stderr.count("runs unobserved") == 1


def test_a_gateway_does_not_start_with_a_server_that_it_cannot_confine(can_confine: None, tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text(f"upstreams: {{files: {{command: [{sys.executable}, x.py], sandbox: enforce}}}}\n")
    served = run(CASES["no namespaces (ENOSYS)"], tmp_path, "serve", "-c", str(file), "--port", "0")
    assert served.returncode == 2
    assert "upstreams.files.sandbox" in served.stderr and "cannot confine" in served.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as another user")
def test_a_user_without_any_right_can_confine(can_confine: None, tmp_path: Path) -> None:
    """The same suite for people: no root, no capability."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
    packages = os.pathsep.join([str(ROOT / "src"), *(path for path in sys.path if "site-packages" in path)])
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["-c", "from assent.cli import main; main()", "sandbox", "check"]
    for python in (sys.executable, "/usr/bin/python3"):
        runs = [*nobody, "env", python, "-c", "import assent.upstreams.sandbox.support"]
        if subprocess.run(runs, capture_output=True, env=env).returncode == 0:
            found = subprocess.run([*nobody, "env", python, *words], capture_output=True, text=True, env=env)
            assert found.returncode == 0, found.stdout + found.stderr
            return
    pytest.skip("another user cannot run this Python")
