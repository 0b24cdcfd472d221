"""What the README and the questions show works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from assent.rules.guards.registry import rule_names

ROOT = Path(__file__).parents[2]
ASSENT = Path(sys.executable).with_name("assent")
README = (ROOT / "README.md").read_text("utf-8")


def test_the_server_shown_serves_its_tool(tmp_path: Path) -> None:
    [server] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "shop.py").write_text(server)
    command = [ASSENT, "contract", "docs", "shop:server"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.search(r"`place_order` \| external_spend \| critical", ran.stdout)


def test_the_decision_shown_is_explained(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "faq.md").read_text("utf-8")
    [commands] = re.findall(r"```console\n(printf .*?)```", page, re.DOTALL)
    shutil.copytree(ROOT / "examples" / "mcp_first", tmp_path / "examples" / "mcp_first")
    here = commands.replace(".venv/bin/assent", str(ASSENT))
    ran = subprocess.run(["bash", "-c", here], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stderr
    assert "rehearse.dry_run_required" in ran.stdout


def test_the_number_of_guards_is_current() -> None:
    assert f"[{len(rule_names())} guards]" in README
