"""`assent init --hooks`: into the user's own settings beside other hooks, and out again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.cli.client_files.hook_files import HOOK_FILES, commands_in

OTHER = {
    "claude-code": """{
  // my own settings
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/check.sh", "timeout": 5}]},
    ],
    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]
  },
  "permissions": {"deny": ["Read(./.env)"]}
}
""",
    "codex": '{"hooks": {"PostToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "log"}]}]}}',
    "gemini": '\ufeff{\r\n\t"security": {"auth": {}},\r\n\t"hooks": {}\r\n}\r\n',
    "copilot": '{"version": 1, "hooks": {"preToolUse": []}}\n',
    "cursor": '{"version": 1, "hooks": {"stop": [{"command": "./done.sh"}]}}',
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def init(client: str, *words: str) -> Result:
    return CliRunner().invoke(cli, ["init", "--client", client, "--hooks", *words], catch_exceptions=False)


def file_of(client: str, text: str) -> Path:
    path = HOOK_FILES[client].path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("client", OTHER)
def test_hooks_join_the_users_own_and_leave_byte_for_byte(client: str) -> None:
    path = file_of(client, OTHER[client])
    before = path.read_bytes()
    shown = init(client)
    assert "assent hook" in shown.stdout
    assert path.read_bytes() == before
    init(client, "--write")
    text = path.read_text(encoding="utf-8")
    assert f"hook {client} || exit 2" in text
    for own in ("check.sh", "say done", "// my own settings", '"command": "log"', "./done.sh"):
        assert (own in text) == (own in OTHER[client])
    init(client, "--undo")
    assert path.read_bytes() == before


@pytest.mark.parametrize("client", HOOK_FILES)
def test_a_client_without_a_file_gets_one_and_undo_removes_it(client: str) -> None:
    path = HOOK_FILES[client].path()
    init(client, "--write")
    assert "hook" in path.read_text(encoding="utf-8")
    init(client, "--undo")
    assert not path.exists()
    assert "no hooks of Assent" in init(client, "--undo").stderr


def test_a_second_write_replaces_the_hooks_and_what_was_added_since_stays(tmp_path: Path) -> None:
    path = file_of("claude-code", OTHER["claude-code"])
    init("claude-code", "--write")
    init("claude-code", "--write", "-c", str(tmp_path / "assent.yaml"))
    text = path.read_text(encoding="utf-8")
    assert text.count("|| exit 2") == 1
    assert f"-c {tmp_path}/assent.yaml" in text
    path.write_text(text.replace('"opus"', '"sonnet"'), encoding="utf-8")
    init("claude-code", "--undo")
    left = path.read_text(encoding="utf-8")
    assert ("sonnet" in left, "assent" in left, "check.sh" in left) == (True, False, True)


@pytest.mark.parametrize("client", HOOK_FILES)
@pytest.mark.parametrize("again", [(), ("-c", "assent.yaml")])
def test_undo_takes_the_hooks_out_however_often_they_were_written(client: str, again: tuple[str, ...]) -> None:
    path = HOOK_FILES[client].path()
    init(client, "--write")
    text = path.read_text(encoding="utf-8")
    init(client, "--write", *again)
    assert (path.read_text(encoding="utf-8") == text) is (again == ())
    init(client, "--undo")
    assert not path.exists() or "assent" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("observe", "are only observed until {file} says `mode: enforce`."),
        ("enforce", "are enforced."),
        ("none", "are denied until this is correct: "),
    ],
)
def test_what_becomes_of_calls_is_said_as_the_configuration_says_it(mode: str, says: str, home: Path) -> None:
    (home / ".config/assent").mkdir(parents=True)
    (file := home / ".config/assent/assent.yaml").write_text(f"mode: {mode}\n")
    assert f"Calls {says.format(file=file)}" in init("claude-code", "--write").stderr


def test_every_event_of_a_client_reaches_the_hook() -> None:
    init("claude-code", "--write")
    hooks = json.loads(HOOK_FILES["claude-code"].path().read_text(encoding="utf-8"))["hooks"]
    assert {event: len(list(commands_in(entries[0]))) for event, entries in hooks.items()} == dict.fromkeys(
        ["PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "SessionEnd"], 1
    )


def test_a_file_that_cannot_be_read_is_left_alone() -> None:
    path = file_of("claude-code", '{"hooks": [1,')
    result = CliRunner().invoke(cli, ["init", "--client", "claude-code", "--hooks", "--write"])
    assert result.exception is not None
    assert path.read_text(encoding="utf-8") == '{"hooks": [1,'


def test_a_client_without_hooks_is_named_with_those_that_have_them() -> None:
    result = CliRunner().invoke(cli, ["init", "--client", "zed", "--hooks"])
    assert "claude-code, codex" in str(result.exception.faults[0])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text, "built-in tools are governed"),
        (lambda text: text.replace('"PreToolUse"', '"PreToolUsed"'), "miss PreToolUse"),
        (lambda text: text.replace('"command": "/', '"command": "/gone/'), "does not exist"),
        (lambda text: text.replace("{", '{"disableAllHooks": true, ', 1), "switches hooks off"),
    ],
)
def test_doctor_checks_the_hooks(change: object, said: str, home: Path) -> None:
    init("claude-code", "--write")
    path = HOOK_FILES["claude-code"].path()
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")  # type: ignore[operator]
    assert said in CliRunner().invoke(cli, ["doctor", "--offline"]).stdout


def test_doctor_finds_a_workspace_that_switches_hooks_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    init("claude-code", "--write")
    (tmp_path / "work" / ".claude").mkdir(parents=True)
    (tmp_path / "work" / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    monkeypatch.chdir(tmp_path / "work")
    assert ".claude/settings.json switches hooks off" in CliRunner().invoke(cli, ["doctor", "--offline"]).stdout


def test_undo_without_hooks_says_how_the_hooks_are_taken_out() -> None:
    init("claude-code", "--write")
    ran = CliRunner().invoke(cli, ["init", "--client", "claude-code", "--undo"])
    assert "For its hooks: add --hooks" in str(ran.exception)
