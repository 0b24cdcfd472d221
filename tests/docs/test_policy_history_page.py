"""The page on trying a change on history shows what its commands print."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from assent.cli import cli
from support.audit.recorded_histories import Step, record_history

PAGE = (Path(__file__).parents[2] / "docs" / "policy-history.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```\w+\n(?:#|//) (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SCREEN = 50
START = 1_767_603_600.0  # 2026-01-05 09:00 UTC


def week_of_calls() -> list[Step]:
    """Mail to colleagues, twelve invoices of which two are large, and one mail that leaves the house."""
    mails = [Step("send_mail", {"to": f"p{n}@example.com"}, after=60) for n in range(29)]
    invoices = [Step("pay_invoice", {"amount": 20 * n}, after=60) for n in range(1, 13)]
    later = [Step("send_mail", {"to": f"q{n}@example.com"}, after=60) for n in range(3)]
    return [*mails, *invoices, *later, Step("send_mail", {"to": "eve@elsewhere.test"}, after=60)]


@pytest.fixture
def folder(tmp_path: Path, trusted_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_KEY", "0123456789")
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    contracts = yaml.safe_load(FILES["contracts.yaml"])["tools"]
    asyncio.run(record_history(tmp_path / "assent.yaml", contracts, week_of_calls(), start=START))
    return tmp_path


@pytest.mark.parametrize(("command", "output"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_the_page_shows(folder: Path, command: str, output: str) -> None:
    result = CliRunner().invoke(cli, shlex.split(command)[1:])
    assert result.stdout == output, result.stderr
    assert len(output.splitlines()) <= SCREEN


def test_the_page_shows_a_replay_and_a_suggestion() -> None:
    assert {command.split()[2] for command, _ in COMMANDS} >= {"replay", "suggest"}
