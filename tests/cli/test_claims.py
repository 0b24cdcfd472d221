"""What does an operator at the command line see of claims, and what can they say?"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.core.claims import ClaimRecord, Settlement, State
from assent.stores import SqliteStore
from support.store_suite.drafts import NOW, claim_draft, entry, succeeded

DOUBT = "ab" * 32


@pytest.fixture
def config(tmp_path: Path) -> Path:
    async def fill() -> None:
        store = SqliteStore(tmp_path / "assent.db")
        await store.claim(claim_draft(DOUBT), entry(), None, NOW)
        await store.settle(DOUBT, 1, Settlement(State.IN_DOUBT, NOW), [])
        await store.claim(claim_draft("cd" * 32, key="\u202edone"), entry(), None, NOW)
        await store.settle("cd" * 32, 1, succeeded(), [])
        await store.close()

    asyncio.run(fill())
    path = tmp_path / "assent.yaml"
    path.write_text("store: sqlite:///assent.db\n")
    return path


def run(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["claims", *arguments, "-c", str(config)], standalone_mode=False)


def stored(config: Path, name: str = DOUBT) -> ClaimRecord:
    async def recall() -> ClaimRecord | None:
        store = SqliteStore(config.parent / "assent.db")
        record = await store.claim_by_id(name)
        await store.close()
        return record

    record = asyncio.run(recall())
    assert record is not None
    return record


def test_only_what_is_in_doubt_is_listed_unless_all_is_asked_for(config: Path) -> None:
    assert run(config, "list").output.splitlines()[0].split("\t")[:3] == [DOUBT[:16], "in_doubt", "orders.place"]
    assert len(run(config, "list").output.splitlines()) == 1
    listed = json.loads(run(config, "list", "--all", "--format", "json").output)
    assert {one["state"] for one in listed} == {"in_doubt", "succeeded"}


def test_no_invisible_character_reaches_the_terminal(config: Path) -> None:
    assert "\u202e" not in run(config, "list", "--all").output


def test_a_doubt_is_settled_by_the_start_of_its_id_with_a_result(config: Path, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    result.write_text('{"orderId": 7}')
    ended = run(config, "settle", DOUBT[:8], "--as", "done", "--result", str(result), "--no-secrets", "--yes")
    assert ended.output == f"{DOUBT[:12]}: succeeded\n"
    assert json.loads(stored(config).result or b"")["structuredContent"] == {"orderId": 7}


CANARY = "canary-8f1c2e"


def declare(config: Path, fields: str) -> None:
    (config.parent / "tools.yaml").write_text(f"tools: {{orders.place: {{{fields}}}}}\n")
    config.write_text("store: sqlite:///assent.db\ncontracts: [tools.yaml]\n")


@pytest.mark.parametrize("finding", ["done", "failed"])
@pytest.mark.parametrize(
    "found",
    [
        {"token": CANARY, "orderId": 7},
        {"structuredContent": {"token": CANARY, "orderId": 7}, "content": [{"type": "text", "text": CANARY}]},
    ],
)
def test_a_declared_secret_is_not_kept(config: Path, tmp_path: Path, finding: str, found: dict[str, Any]) -> None:
    declare(config, "side_effect: write, secrets: [/token]")
    result = tmp_path / "result.json"
    result.write_text(json.dumps(found))
    ended = run(config, "settle", DOUBT, "--as", finding, "--result", str(result), "--no-secrets", "--yes")
    assert ended.exit_code == 0 and CANARY not in ended.output
    assert json.loads(stored(config).result or b"")["structuredContent"] == {"token": "", "orderId": 7}
    assert all(CANARY.encode() not in file.read_bytes() for file in config.parent.glob("assent.db*"))


def test_where_no_contract_says_what_is_a_secret_the_operator_must(config: Path, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    result.write_text(json.dumps({"token": CANARY}))
    ended = run(config, "settle", DOUBT, "--as", "done", "--result", str(result), "--yes")
    assert ended.return_value == 1
    assert "There is no contract of orders.place here" in ended.output and "--no-secrets" in ended.output
    assert stored(config).state is State.IN_DOUBT and stored(config).epoch == 1
    assert all(CANARY.encode() not in file.read_bytes() for file in config.parent.glob("assent.db*"))


@pytest.mark.parametrize(("finding", "state"), [("not-done", State.FAILED_NO_EFFECT), ("failed", State.FAILED)])
def test_each_finding_has_its_state(config: Path, finding: str, state: State) -> None:
    run(config, "settle", DOUBT, "--as", finding, "--yes")
    assert stored(config).state is state


def test_without_a_terminal_nothing_is_asked_and_nothing_done(config: Path) -> None:
    ended = run(config, "settle", DOUBT, "--as", "done")
    assert "add --yes" in str(ended.exception)
    assert stored(config).state is State.IN_DOUBT


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("settle", "ffff", "--as", "done", "--yes"), "There is no claim ffff."),
        (("settle", "cdcd", "--as", "done", "--yes"), "is not in doubt: it is succeeded"),
    ],
)
def test_what_cannot_be_settled_is_said(config: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = run(config, *arguments)
    assert said in ended.output
    assert ended.return_value == 1


@pytest.mark.parametrize("text", ["[1]", "not json"])
def test_a_result_that_is_none_changes_nothing(config: Path, tmp_path: Path, text: str) -> None:
    result = tmp_path / "result.json"
    result.write_text(text)
    ended = run(config, "settle", DOUBT, "--as", "done", "--yes", "--result", str(result))
    assert "JSON" in str(ended.exception)
    assert stored(config).state is State.IN_DOUBT
