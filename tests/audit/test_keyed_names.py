"""Whoever reads the facts of the log cannot find out arguments by guessing them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from click.testing import CliRunner

from assent.cli import cli
from assent.contract.digest import digest_of
from assent.core.claims import claim_id
from assent.core.outcome import Answer
from assent.core.secret_keys import Keyring
from assent.stores import SqliteStore
from assent.testing.world import AGENT, World

NATURAL = {"side_effect": "write", "natural": {"by": ["file"]}, "idempotency": {"recovery": "natural"}}


def test_a_blinded_name_is_the_same_for_us_and_another_for_everybody_else(tmp_path: Path) -> None:
    ours = Keyring(tmp_path / "ours")
    assert ours.keyed_hash("claim") == ours.keyed_hash(b"claim") == Keyring(tmp_path / "ours").keyed_hash("claim")
    assert ours.keyed_hash("claim") != Keyring(tmp_path / "theirs").keyed_hash("claim")
    assert ours.keyed_hash("claim") != ours.derive("claim")


def test_entries_of_a_claim_share_a_name_that_nobody_guesses_and_operators_can_look_up(tmp_path: Path) -> None:
    async def fill() -> list[bytes]:
        store = SqliteStore(tmp_path / "assent.db")
        world = World({"link": NATURAL}, store=store)
        world.but(keyed_hash=Keyring(tmp_path / ".assent").keyed_hash)
        assert isinstance(await world.call("link", {"file": "salaries"}), Answer)
        leaves = [row.leaf for row in await store.sealed()]
        await store.close()
        return leaves

    intent, outcome = (json.loads(leaf)["facts"] for leaf in asyncio.run(fill()))
    guessed = claim_id(AGENT.tenant, AGENT.id, "link", "natural", digest_of({"file": "salaries"}))
    assert intent["claim"] == outcome["claim"] != guessed
    (tmp_path / "assent.yaml").write_text("store: sqlite:///assent.db\n")
    words = ["claims", "list", "--all", "--format", "json", "-c", str(tmp_path / "assent.yaml")]
    [claim] = json.loads(CliRunner().invoke(cli, words).stdout)
    assert (claim["id"], claim["reference"]) == (guessed, intent["claim"])
