"""`assent init --client`: one changed line for each server, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assent.cli.doctor import doctor
from assent.cli.init import init
from assent.config.load import load_settings
from assent.errors import SettingsError

SERVERS = {
    "files": {"command": "npx", "args": ["-y", "server-filesystem", "/srv"], "env": {"A": "1"}},
    "far": {"url": "https://example.com/mcp"},
}


@pytest.fixture(autouse=True)
def own_configuration(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers with a URL move into the user's own configuration: here one of the test's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("own")))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


def client(folder: Path, servers: Any = SERVERS, **more: Any) -> Path:
    path = folder / "client.json"
    path.write_text(json.dumps({"theme": "dark", "mcpServers": servers, **more}))
    return path


def test_the_changed_file_is_shown_and_nothing_is_written(tmp_path: Path) -> None:
    path = client(tmp_path)
    before = path.read_text()
    result = CliRunner().invoke(init, ["--client", str(path)])
    added = [line for line in result.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert f"--- {path}" in result.stdout and "--write" in result.stderr
    assert '["wrap", "--", "npx", "-y", "server-filesystem", "/srv"]' in added[0]
    assert any("url: https://example.com/mcp" in line for line in added), "the configuration is shown too"
    assert path.read_text() == before and list(Path(os.environ["XDG_CONFIG_HOME"]).iterdir()) == []
    CliRunner().invoke(init, ["--client", str(path), "--write"])
    written = json.loads(path.read_text())
    assert written["theme"] == "dark" and written["mcpServers"]["files"]["env"] == {"A": "1"}
    assert Path(written["mcpServers"]["files"]["command"]).is_absolute()
    assert written["mcpServers"]["assent"]["url"] == "http://127.0.0.1:8420/mcp"


def test_writing_keeps_a_copy_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    path = client(tmp_path)
    before = path.read_text()
    path.chmod(0o600)
    CliRunner().invoke(init, ["--client", str(path), "--write"])
    first = path.read_text()
    again = CliRunner().invoke(init, ["--client", str(path), "--write"])
    assert path.read_text() == first != before
    assert path.stat().st_mode & 0o777 == 0o600
    assert "No change is needed" in again.stderr
    kept = tmp_path / "client.json.before-assent"
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == (before, 0o600), "it holds the same secrets"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["client.json", "client.json.before-assent"]


def test_a_link_to_the_file_stays_a_link_and_the_copy_is_the_file_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = client(tmp_path / "real"), tmp_path / "client.json"
    real.write_bytes(b"\xef\xbb\xbf" + real.read_bytes())
    before = real.read_bytes()
    link.symlink_to(real)
    CliRunner().invoke(init, ["--client", str(link), "--write"])
    assert (link.is_symlink(), b"wrap" in real.read_bytes()) == (True, True)
    assert (tmp_path / "real" / "client.json.before-assent").read_bytes() == before


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"command": "/usr/bin/assent", "args": ["wrap", "--", "npx"]}, ""),
        (
            {"command": "uvx", "args": ["assent", "wrap", "-c", "a.yaml", "--", "npx"]},
            "its command has `assent wrap` in another form than Assent writes",
        ),
        ({"command": "npx", "args": "-y server"}, "its `args` are not a list"),
        ({"command": "npx", "args": 5}, "its `args` are not a list"),
        ({"command": ["npx"]}, "Assent finds neither a command nor a URL in it"),
        ({"transport": "pigeon"}, "Assent finds neither a command nor a URL in it"),
        ({"url": "https://${input:host}/mcp"}, "it uses a variable that only the client can fill in"),
    ],
)
def test_a_server_that_is_wrapped_in_any_way_or_cannot_be_understood_stays_as_it_is_and_doctor_agrees(
    server: Any, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = client(tmp_path, {"one": server})
    result = CliRunner().invoke(init, ["--client", str(path), "--write"])
    assert json.loads(path.read_text())["mcpServers"]["one"] == server
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").symlink_to(path)
    found = CliRunner().invoke(doctor, ["--offline"]).stdout
    if why:
        assert result.stderr == f"one is not changed: {why}.\nNothing is changed.\n"
        assert f"Cursor: one may not be governed: {why}\n         Fix: `assent init` leaves it as it is" in found
        assert "all governed" not in found
        path = client(tmp_path, {"one": server, "two": {"command": "assent", "args": ["wrap", "--", "npx"]}})
        result = CliRunner().invoke(init, ["--client", str(path)])
        assert result.stderr.endswith("No change is needed: every other server is already governed.\n")
    else:
        assert result.stderr == "No change is needed: every server is already governed.\n"


def test_a_file_that_cannot_be_written_is_said_to_be_so(tmp_path: Path) -> None:
    path = client(tmp_path).rename(tmp_path / ("c" * 250))
    result = CliRunner().invoke(init, ["--client", str(path), "--write"])
    assert isinstance(result.exception, SettingsError)
    assert "cannot be written" in str(result.exception)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


TWICE = '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}'


@pytest.mark.parametrize("text", ["nonsense", "[]", "{}", '{"mcpServers": []}', '{"mcpServers": {"a": 1}}', TWICE])
def test_what_is_no_clients_file_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "client.json"
    path.write_text(text)
    result = CliRunner().invoke(init, ["--client", str(path), "--write"])
    assert isinstance(result.exception, SettingsError)
    assert path.read_text() == text


def own_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "assent" / "assent.yaml"


def test_a_person_gets_the_preset_in_observe_mode_and_undo_removes_it(tmp_path: Path) -> None:
    path = client(tmp_path)
    CliRunner().invoke(init, ["--client", str(path), "--write"])
    found = load_settings(own_file())
    assert (found.preset, found.mode) == ("recommended", "observe")
    assert own_file().stat().st_mode & 0o777 == 0o600
    undone = CliRunner().invoke(init, ["--client", str(path), "--undo"])
    assert not own_file().exists() and "is removed" in undone.stderr


@pytest.mark.parametrize("changed", [False, True])
def test_a_configuration_of_ones_own_is_never_changed_or_removed(changed: bool, tmp_path: Path) -> None:
    own_file().parent.mkdir()
    text = "mode: enforce\n"
    if not changed:
        own_file().write_text(text)
    path = client(tmp_path)
    CliRunner().invoke(init, ["--client", str(path), "--write"])
    if changed:
        text = own_file().read_text().replace("observe", "enforce")
        own_file().write_text(text)
    CliRunner().invoke(init, ["--client", str(path), "--undo"])
    assert own_file().read_text() == text
