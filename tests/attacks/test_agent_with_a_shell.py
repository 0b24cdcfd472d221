"""An agent that can run commands approves its own call with `assent approvals approve`."""

from __future__ import annotations

import asyncio
import time
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.core.approval import ApprovalState
from assent.core.outcome import Refusal
from assent.stores import open_store
from assent.testing import World


@pytest.fixture
def waiting(tmp_path: Path, trusted_folder: Path) -> str:
    """The id of an approval that waits in the configured store."""
    (tmp_path / "assent.yaml").write_text("store: sqlite:///a.db\n")

    async def asking() -> str:
        store = await open_store(f"sqlite:///{tmp_path}/a.db")
        world = World({"wipe": {"side_effect": "destructive"}}, store=store)
        world.clock.at = time.time()
        world.but(new_id=lambda: uuid.uuid4().hex)
        outcome = await world.call("wipe", {"id": "1"})
        assert isinstance(outcome, Refusal)
        await store.close()
        return str(outcome.facts["approval"])

    return asyncio.run(asking())


def state(approval_id: str) -> ApprovalState:
    async def looking() -> ApprovalState:
        store = await open_store(f"sqlite:///{Path.cwd()}/a.db")
        approval = await store.approval(approval_id)
        await store.close()
        assert approval is not None
        return approval.state_at(time.time())

    return asyncio.run(looking())


def run(*arguments: str) -> Result:
    """The command as a program runs it: without a terminal."""
    return CliRunner().invoke(cli, ["approvals", *arguments])


def test_without_a_terminal_and_without_yes_nothing_is_approved(waiting: str) -> None:
    for given in (waiting, waiting[:6]):
        result = run("approve", given)
        assert result.exit_code == 2
        assert "no terminal" in result.stderr and "A person must run this" in result.stderr
        assert "--yes" not in result.stderr  # an agent does what a message tells it
    assert state(waiting) is ApprovalState.PENDING


def test_without_a_terminal_the_beginning_of_an_id_approves_nothing(waiting: str) -> None:
    result = run("approve", waiting[:6], "--yes")
    assert result.exit_code == 2
    assert "write the whole id" in result.stderr
    assert state(waiting) is ApprovalState.PENDING


def test_with_yes_and_the_whole_id_a_script_of_a_person_still_approves(waiting: str) -> None:
    assert run("approve", waiting, "--yes").stdout == f"{waiting}: approved\n"
    assert state(waiting) is ApprovalState.APPROVED


def test_a_no_cannot_be_taken_back_by_a_part_of_the_id_or_without_yes(waiting: str) -> None:
    run("deny", waiting, "--yes")
    assert run("reopen", waiting).exit_code == 2
    assert run("reopen", waiting[:6], "--yes").exit_code == 2
    assert state(waiting) is ApprovalState.DECLINED
