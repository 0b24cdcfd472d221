"""`assent approvals`: a person at the command line sees everything a question is about, and answers it once."""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.cli.shared.options import operator
from assent.core.approval import ApprovalState
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.pipeline.approve import approve
from assent.stores import open_store
from assent.testing import AGENT, World
from support.store_suite.drafts import approval_draft, entry

CONTRACTS = {"wipe": {"side_effect": "destructive", "confirmation": {"by": "approver", "quorum": 2}}}


@pytest.fixture
def folder(tmp_path: Path, trusted_folder: Path) -> Path:
    (tmp_path / "assent.yaml").write_text("store: sqlite:///a.db\n")
    return tmp_path


def ask(folder: Path, *targets: str, quorum: int = 1, by: Principal = AGENT) -> list[str]:
    """Calls that wait for a person now; the ids of their approvals."""

    async def asking() -> list[str]:

        store = await open_store(f"sqlite:///{folder}/a.db")
        fields = {**CONTRACTS["wipe"], "confirmation": {"by": "approver", "quorum": quorum}}
        world = World({"wipe": fields}, store=store)
        world.clock.at = time.time()

        world.but(new_id=lambda: uuid.uuid4().hex)
        found = []
        for target in targets:
            outcome = await world.call("wipe", {"id": target}, by=by)
            assert isinstance(outcome, Refusal)
            found.append(str(outcome.facts["approval"]))
        await store.close()
        return found

    return asyncio.run(asking())


def state(folder: Path, approval_id: str) -> ApprovalState:
    async def looking() -> ApprovalState:

        store = await open_store(f"sqlite:///{folder}/a.db")
        approval = await store.approval(approval_id)
        await store.close()
        assert approval is not None
        return approval.state_at(time.time())

    return asyncio.run(looking())


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["approvals", *arguments], standalone_mode=True)


def test_nothing_waiting_says_so_on_the_error_stream(folder: Path) -> None:
    result = run("list")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No approval waits" in result.stderr


def test_what_waits_is_listed_plainly_and_as_json(folder: Path) -> None:
    first, second = ask(folder, "a", "b")
    lines = run("list").stdout.splitlines()
    assert sorted(line.split("\t")[0] for line in lines) == sorted([first, second])
    assert all(line.split("\t")[1:3] == ["pending", "wipe"] for line in lines)
    listed = json.loads(run("list", "--format", "json").stdout)
    assert {one["id"] for one in listed} == {first, second}
    assert 'id: "a"' in "".join(one["text"] for one in listed)


def test_the_whole_question_is_shown_and_a_yes_is_given_once(folder: Path) -> None:
    [approval] = ask(folder, "a\u202e")
    shown = run("show", approval[:8])
    assert shown.exit_code == 0
    assert "\\u{202e}" in shown.stdout
    assert "\u202e" not in shown.stdout
    given = run("approve", approval, "--yes")
    assert (given.exit_code, given.stdout) == (0, f"{approval}: approved\n")
    again = run("approve", approval, "--yes")
    assert again.exit_code == 1
    assert "decided already" in again.stderr
    assert state(folder, approval) is ApprovalState.APPROVED


def test_a_person_is_not_asked_about_what_was_decided(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assent.cli.approvals.to_be_asked", lambda *_: True)
    [approval] = ask(folder, "a")
    assert "Really approve this?" in CliRunner().invoke(cli, ["approvals", "approve", approval], input="y\n").stderr
    again = CliRunner().invoke(cli, ["approvals", "approve", approval], input="y\n")
    assert "decided already" in again.stderr
    assert "Really" not in again.stderr


def test_a_no_is_a_no(folder: Path) -> None:
    [approval] = ask(folder, "a")
    assert run("deny", approval, "--yes").stdout == f"{approval}: declined\n"
    assert state(folder, approval) is ApprovalState.DECLINED


def test_one_yes_of_two_says_how_many_are_missing(folder: Path) -> None:
    [approval] = ask(folder, "a", quorum=2)
    assert run("approve", approval, "--yes").stdout == f"{approval}: pending (1 of 2 approvals)\n"
    assert run("approve", approval, "--yes").exit_code == 1, "the same person is one person"


@pytest.mark.parametrize("command", [("show",), ("approve", "--yes"), ("deny",), ("reopen", "--yes")])
def test_an_unknown_approval_is_a_refusal(folder: Path, command: tuple[str, ...]) -> None:
    result = run(*command, "nothing-like-it")
    assert result.exit_code == 1
    assert "There is no approval nothing-like-it" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there the name is the one that was logged in with")
def test_one_person_who_goes_by_two_names_is_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (name,) = ask(folder, "a", quorum=2)
    ends = []
    for called in ("ann", "bob"):
        for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
            monkeypatch.setenv(variable, called)
        ends.append(run("approve", name, "--yes").exit_code)
    assert ends[0] == 0 and ends[1] != 0
    assert state(folder, name) is ApprovalState.PENDING


def person(name: str) -> Principal:
    return Principal(name, "human", scopes=frozenset({"*"}), roles=frozenset({"approver"}))


def test_a_key_and_the_command_line_of_one_person_are_one_voice(folder: Path) -> None:
    (name,) = ask(folder, "a", quorum=2)
    me = operator().id.removeprefix("operator:")

    async def with_the_key() -> None:
        store = await open_store(f"sqlite:///{folder}/a.db")
        world = World(CONTRACTS, store=store)
        world.clock.at = time.time()
        await approve(person(me), name, "approve", world.ports)
        await store.close()

    asyncio.run(with_the_key())
    result = run("approve", name, "--yes")
    assert result.exit_code == 1
    assert f"{me} already decided (approve): a person decides once" in result.stderr
    assert state(folder, name) is ApprovalState.PENDING


@pytest.mark.parametrize("tenant", ["local", "acme"])
def test_nobody_approves_at_the_command_line_what_they_asked_for_with_a_key(folder: Path, tenant: str) -> None:
    me = replace(person(operator().id.removeprefix("operator:")), tenant=tenant)
    (name,) = ask(folder, "a", by=me)
    result = run("approve", name, "--yes")
    assert result.exit_code == 1
    assert "You cannot approve your own request" in result.stderr
    assert state(folder, name) is ApprovalState.PENDING


def test_what_waits_is_found_behind_any_number_that_do_not(folder: Path) -> None:
    (name,) = ask(folder, "waits", quorum=2)

    async def fill() -> None:
        store = await open_store(f"sqlite:///{folder}/a.db")
        drafts = [
            approval_draft(f"{number}", binding=f"{number}", asked_at=4e9, expires_at=0.0) for number in range(1001)
        ]
        await asyncio.gather(*(store.ask(draft, 0.0, 10_000, entry()) for draft in drafts))
        await store.close()

    asyncio.run(fill())
    assert [one["id"] for one in json.loads(run("list", "--format", "json").stdout)] == [name]
