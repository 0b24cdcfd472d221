"""References in a configuration: each command resolves those of the parts that it uses, and secrets where they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assent.config.load import OUTSIDE, check_structure, load_settings
from assent.config.references import UNREAD
from assent.errors import SettingsError

EVERYWHERE = {
    "upstreams": {
        "billing": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${UNSET}"}},
        "place": {"url": "${UNSET}"},
        "slow": {"url": "https://example.com/mcp", "timeout": "${UNSET}"},
        "files": {"command": ["npx", "${UNSET}"], "env": {"TOKEN": "${UNSET}"}},
    },
    "auth": {
        "api_keys": [
            {"name": "ci", "key": "${K}", "kind": "agent"},
            {"name": "cd", "key": "${UNSET}", "kind": "${K}"},
        ]
    },
    "console": {"oidc": {"issuer": "${UNSET}", "client_id": "a", "groups": {"x": "${K}"}}},
    "notify": [{"webhook": "${UNSET}"}, {"slack": "${UNSET}"}],
}


def written(folder: Path, **settings: Any) -> Path:
    path = folder / "assent.yaml"
    path.write_text(json.dumps(settings))
    return path


def test_a_command_for_the_store_needs_no_variable_of_callers_and_upstreams(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, **EVERYWHERE), {}, unused=OUTSIDE)
    assert set(settings.upstreams) == {"billing", "place", "files"}, "what cannot be checked is left out"
    assert [key.name for key in settings.auth.api_keys] == ["ci"]


def test_a_key_that_was_not_read_cannot_be_guessed(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, **EVERYWHERE), {"K": "known-to-all"}, unused=OUTSIDE)
    assert settings.auth.api_keys[0].key == UNREAD and "K" not in UNREAD


def test_variables_of_unused_parts_are_not_read_even_if_they_are_set(tmp_path: Path) -> None:
    path = written(tmp_path, upstreams={"a": {"url": "https://example.com/${SECRET}"}})
    assert "secret-value" not in repr(load_settings(path, {"SECRET": "secret-value"}, unused=OUTSIDE))


def test_the_variables_of_used_parts_are_needed(tmp_path: Path) -> None:
    path = written(tmp_path, **EVERYWHERE)
    with pytest.raises(SettingsError) as error:
        load_settings(path, {}, unused=OUTSIDE, but=["upstreams.files.env"])
    assert [fault.field for fault in error.value.faults] == ["upstreams.files.env.TOKEN"]


@pytest.mark.parametrize("part", [{"upstreams": {"a": {"urll": "x"}}}, {"auth": {"keys": []}}, {"nonsense": "${X}"}])
def test_mistakes_in_unused_parts_are_still_found(part: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        load_settings(written(tmp_path, **part), {}, unused=OUTSIDE)


def test_the_structure_is_checked_without_any_variable() -> None:
    check_structure(json.dumps(EVERYWHERE), "assent.yaml")
    with pytest.raises(SettingsError):
        check_structure(json.dumps({**EVERYWHERE, "modee": "observe"}), "assent.yaml")


def test_secrets_are_read_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file\n")
    keys = [
        {"name": "a", "key": f"exec:{sys.executable} -c 'print(\"from a command\")'", "kind": "agent"},
        {"name": "b", "key": "file:token", "kind": "agent"},
    ]
    settings = load_settings(written(tmp_path, auth={"api_keys": keys}))
    assert [key.key for key in settings.auth.api_keys] == ["from a command", "from-a-file"]


def test_the_keyring_of_the_system_is_asked(tmp_path: Path) -> None:
    (tmp_path / "keyring.py").write_text("def get_password(service, name):\n    return f'{service} has {name}'\n")
    path = written(tmp_path, auth={"api_keys": [{"name": "a", "key": "keyring:team/assent/ci", "kind": "agent"}]})
    script = "from pathlib import Path; from assent.config.load import load_settings as load; import sys"
    script += "; print(load(Path(sys.argv[1])).auth.api_keys[0].key)"
    ran = subprocess.run([sys.executable, "-c", script, str(path)], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout == "team/assent has ci\n", ran.stderr


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("exec:false", "false ended with code 1"),
        ("exec:no-such-program", "no-such-program: No such file"),
        ("exec:true", "true gave nothing"),
        ("exec:echo 'open", "is not complete"),
        ("file:missing", "missing: No such file"),
        ("keyring:alone", "keyring:SERVICE/NAME"),
    ],
)
def test_a_secret_that_cannot_be_read_is_a_fault_with_its_line(value: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, auth={"api_keys": [{"name": "a", "key": value, "kind": "agent"}]})
    with pytest.raises(SettingsError) as error:
        load_settings(path)
    [fault] = error.value.faults
    assert said in fault.message and fault.field == "auth.api_keys.0.key" and fault.line == 1


def test_secrets_of_unused_parts_are_not_read(tmp_path: Path) -> None:
    load_settings(written(tmp_path, upstreams={"a": {"url": "exec:touch ran"}}), unused=OUTSIDE)
    assert not (tmp_path / "ran").exists()


def test_guards_commands_and_addresses_may_begin_like_a_secret(tmp_path: Path) -> None:
    guards = [{"rule": "block_keywords", "keywords": ["exec:true"]}]
    upstreams = {"a": {"command": ["echo", "file:x"]}, "b": {"openapi": "file:///x", "base_url": "http://x"}}
    settings = load_settings(written(tmp_path, guards=guards, upstreams=upstreams))
    assert settings.upstreams["a"].command == ("echo", "file:x") and settings.guards[0]["keywords"] == ["exec:true"]
