"""On Windows, the commands that cannot run there say so at once and change nothing.

The platform is set after the imports of the standard library, which has its own parts for each system. Modules of
POSIX cannot be imported.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

START = """
import sys
import zoneinfo  # The real one asks its system where time zones are.
from assent.cli import commands, demo, init, serve, wrap
import assent.cli
sys.platform = "win32"
for name in ("fcntl", "pwd", "uvloop", "resource", "grp"):
    sys.modules[name] = None
assent.cli.main()
"""


def on_windows(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START, *words], cwd=folder, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("words", [("wrap", "--", "npx", "server"), ("serve",), ("demo", "--once")])
def test_a_command_that_cannot_run_says_so_and_where_it_can(words: tuple[str, ...], tmp_path: Path) -> None:
    said = on_windows(tmp_path, *words)
    assert said.returncode == 2
    assert f"error: assent {words[0]} does not run on Windows" in said.stderr
    assert "Run Assent in WSL" in said.stderr
    assert said.stdout == "" and "Traceback" not in said.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_clients_file_is_not_given_a_command_that_cannot_run(tmp_path: Path) -> None:
    file = tmp_path / "client.json"
    file.write_text('{"mcpServers": {"files": {"command": "npx", "args": ["server"]}}}')
    before = file.read_bytes()
    said = on_windows(tmp_path, "init", "--client", str(file), "--write")
    assert said.returncode == 2 and "does not run on Windows" in said.stderr
    assert file.read_bytes() == before
