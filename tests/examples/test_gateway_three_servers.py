"""The example with a gateway in front of three servers: its conversation, and what the servers really did."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.clients.transports import ROOT

sys.path.insert(0, str(ROOT / "examples"))
from gateway_three_servers.conversation import HERE, prepare, serving, tell

PROGRAMS = ROOT / ".cache" / "servers" / "node_modules" / ".bin"
NODE = ROOT / ".cache" / "npm" / "node_modules" / "node" / "bin"

pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "mcp-server-memory").exists(), reason="run .ci/install-node-tools for the public servers"
)


async def test_three_servers_are_governed_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", f"{NODE}{os.pathsep}{os.environ['PATH']}")
    work = prepare(tmp_path)
    file = tmp_path / "assent.yaml"
    text = file.read_text()
    for name in ("filesystem", "memory"):  # as installed for the tests, instead of fetched by npx
        text = text.replace(f'npx, -y, "@modelcontextprotocol/server-{name}"', str(PROGRAMS / f"mcp-server-{name}"))
    assert "npx" not in text
    file.write_text(text)
    with serving(tmp_path) as address:
        await tell(address, work)
    said = capsys.readouterr().out
    counts = [line for line in said.splitlines() if line.endswith(" tools")]
    assert [line.split(":")[0].strip() for line in counts] == ["files", "memory", "desk"]
    assert all(int(line.split()[1]) >= 3 for line in counts)
    assert said.count("guard.denied") == 2 and "4200" not in said
    assert said.count("confirm.approval_pending") == 1 and "{'refunded': 80}" in said
    assert "budget_exceeded" in said
    assert (tmp_path / "book.txt").read_text().splitlines() == [
        "mailed ann@example.com about T-1",
        "refunded 80 EUR for T-1",
    ]


def test_the_readme_fits_one_screen_and_names_every_file() -> None:
    text = (HERE / "README.md").read_text()
    assert len(text.splitlines()) <= 40
    assert [path.name for path in HERE.iterdir() if path.is_file() and f"`{path.name}`" not in text] == ["README.md"]
