"""Commands run while variables are unset that they do not use."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from assent.cli import cli
from assent.errors import SettingsError
from assent.gateway.stdio.wrapped_server import WrapRequest, wrapping
from assent.stores.open import open_store

SETTINGS = {
    "store": "sqlite:///a.db",
    "auth": {"api_keys": [{"name": "ci", "key": "${ASSENT_TEST_UNSET}", "kind": "agent"}]},
    "upstreams": {"github": {"url": "https://example.com/mcp", "headers": {"Authorization": "${ASSENT_TEST_UNSET}"}}},
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "assent.yaml").write_text(json.dumps(SETTINGS))

    async def make_store() -> None:
        await (await open_store(f"sqlite:///{tmp_path / 'a.db'}")).close()

    asyncio.run(make_store())
    return tmp_path / "assent.yaml"


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "tail"],
        ["audit", "tail", "--feed"],
        ["audit", "verify"],
        ["approvals", "list"],
        ["claims", "list"],
        ["stops", "list"],
        ["stops", "set", "upstream", "github", "--reason", "x"],
        ["keys", "list"],
        ["store", "migrate"],
        ["store", "check"],
        ["contract", "show"],
        ["drill", "bulk-delete"],
    ],
    ids=" ".join,
)
def test_a_command_needs_no_variables_of_what_it_does_not_use(words: list[str], config: Path) -> None:
    result = CliRunner().invoke(cli, [*words, "-c", str(config)], catch_exceptions=False)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("words", [["serve", "--check"], ["pin"], ["login", "github"]], ids=" ".join)
def test_a_command_that_uses_them_names_the_variable_and_the_line(words: list[str], config: Path) -> None:
    result = CliRunner().invoke(cli, [*words, "-c", str(config)])
    assert isinstance(result.exception, SettingsError) and "ASSENT_TEST_UNSET is not set" in str(result.exception)


def test_wrap_starts_beside_servers_whose_variables_are_unset(config: Path) -> None:
    settings = wrapping(WrapRequest((sys.executable, "server.py"), config))
    assert [one.command for one in settings.upstreams.values()] == [(sys.executable, "server.py")]


def test_wrap_knows_the_configured_upstream_of_a_command_with_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstreams = {
        "other": {"command": ["x", "${ASSENT_TEST_UNSET}"]},
        "mine": {"command": ["x", "${ASSENT_TEST_PLACE}"], "trust": "annotations", "profile": "epd"},
    }
    (tmp_path / "assent.yaml").write_text(json.dumps({"upstreams": upstreams}))
    monkeypatch.setenv("ASSENT_TEST_PLACE", "/srv")
    wrapped = wrapping(WrapRequest(("x", "/srv"), tmp_path / "assent.yaml")).upstreams
    assert [(name, one.trust, one.profile) for name, one in wrapped.items()] == [("mine", "annotations", "epd")]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["audit", "tail"], 2),
        (["audit", "verify"], 2),
        (["audit", "export"], 2),
        (["approvals", "list"], 0),
        (["claims", "list"], 0),
        (["keys", "list"], 0),
    ],
    ids=str,
)
def test_a_command_that_only_looks_makes_no_store_and_says_that_there_is_none(
    words: list[str], code: int, config: Path
) -> None:
    (config.parent / "a.db").unlink()
    result = CliRunner().invoke(cli, [*words, "-c", str(config)])
    said = f"{result.output}{result.exception}".lower()
    assert "there is no store at" in said and str(config.parent / "a.db") in said
    assert not (config.parent / "a.db").exists()
    assert (isinstance(result.exception, SettingsError)) is (code == 2)
