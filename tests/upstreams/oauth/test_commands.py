"""Commands that look at a connected upstream use its connection, as the gateway does."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.config.load import load_settings
from assent.core.secret_keys import Keyring
from assent.stores.open import open_store
from assent.upstreams.credentials import SHARED
from assent.upstreams.vault import CredentialVault
from support.identity.oauth_server import OAuthServer, oauth_server
from upstreams.oauth.test_tokens import sign_in

LOOKS = [["serve", "--check"], ["doctor"], ["pin", "--write", "--yes"], ["contract", "init", "notes"]]


def configure(folder: Path, server: OAuthServer) -> Path:
    upstreams = {"notes": {"url": server.url, "auth": "oauth"}}
    path = folder / "assent.yaml"
    path.write_text(json.dumps({"store": "sqlite:///a.db", "upstreams": upstreams}))
    return path


async def connect(config: Path, server: OAuthServer) -> None:
    settings = load_settings(config)
    store = await open_store(settings.store)
    keyring = Keyring(Path(settings.secrets.directory))
    vault = CredentialVault(store, lambda: keyring.key("sealing"), time.time)
    await vault.put("notes", SHARED, (await sign_in(server, "team")).as_json())
    await store.close()


async def run(config: Path, words: list[str]) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, cli, [*words, "-c", str(config)])


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
async def test_a_connected_upstream_is_looked_at(words: list[str], tmp_path: Path) -> None:
    async with oauth_server() as server:
        config = configure(tmp_path, server)
        await connect(config, server)
        server.accounts.expire()
        result = await run(config, words)
    assert "read_note" in result.output or "2 tools" in result.output or "valid" in result.output, result.output
    assert "401" not in result.output and "did not answer" not in result.output


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
async def test_without_a_connection_the_sign_in_is_named_and_no_store_is_made(words: list[str], tmp_path: Path) -> None:
    async with oauth_server() as server:
        result = await run(configure(tmp_path, server), words)
    assert "assent login notes" in f"{result.output}{result.exception}"
    assert not (tmp_path / "a.db").exists()
