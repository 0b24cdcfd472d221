"""A bundle holds names and arguments: nobody but its owner can read it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from assent.cli import cli
from support.gateway.gateways import configuration


@pytest.fixture(autouse=True)
def _common_umask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(path: Path) -> set[str]:
    found = [path, *path.rglob("*")] if path.is_dir() else [path]
    return {oct(stat.S_IMODE(one.stat().st_mode)) for one in found if one.is_file()}


@pytest.mark.parametrize("name", ["bundle", "bundle.zip"])
def test_no_one_else_can_read_a_bundle(name: str, tmp_path: Path) -> None:
    config = tmp_path / "assent.yaml"
    config.write_text(configuration(tmp_path, {"shop": {"url": "http://127.0.0.1:9/mcp"}}))
    assert CliRunner().invoke(cli, ["store", "migrate", "--config", str(config)]).exit_code == 0
    output = tmp_path / name
    command = ["audit", "export", "--format", "bundle", "--output", str(output), "--config", str(config)]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    assert modes(output) == {"0o600"}
    if output.is_dir():
        assert stat.S_IMODE(output.stat().st_mode) == 0o700
