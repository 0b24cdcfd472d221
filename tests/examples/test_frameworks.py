"""Each library's example: asked once with the price, charged once though the shop dies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assent import GovernedClient
from support.clients.adapter_runs import RUNS, buys, shop, tell, upstream
from support.clients.person import Naps, Somebody

PLACE = "orders.archive.place"


def charged(book: Path) -> list[str]:
    return [json.loads(line)["item"] for line in book.read_text("utf-8").splitlines()] if book.exists() else []


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize(
    ("answer", "words", "items"),
    [
        (True, "I ordered etna-2026-06: o-1.", ["etna-2026-06"]),
        (False, "I did not order it: A person declined this call.", []),
    ],
    ids=["yes", "no"],
)
async def test_the_user_is_asked_once_with_the_price_and_obeyed(
    run: Any, answer: bool, words: str, items: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, person = tmp_path / "charges.log", Somebody(answer)
    monkeypatch.setattr(upstream, "BOOK", book)
    async with GovernedClient(upstream.server, trusted=True, asker=person) as client:
        assert await run(client, buys) == words
    assert [question.price for question in person.asked] == ["240 credits"]
    assert charged(book) == items


# One library and one API: from here on it is the client's doing, and every start of the shop costs a second.
@pytest.mark.parametrize("run", [RUNS["langgraph"], RUNS["anthropic"]], ids=["langgraph", "anthropic"])
async def test_a_shop_that_dies_after_charging_has_charged_once(run: Any, tmp_path: Path) -> None:
    book, person = tmp_path / "charges.log", Somebody(True)
    async with GovernedClient(shop(book, falls_over=True), trusted=True, asker=person, sleep=Naps()) as client:
        assert await run(client, buys) == "I ordered etna-2026-06: o-1."
        happened = [noted.what for noted in client.journal.of(PLACE)]
    assert (len(person.asked), charged(book)) == (1, ["etna-2026-06"])
    assert happened == ["estimated", "asked", "decided", "called", "failed", "retried", "reconnected", "answered"]


async def test_without_a_terminal_the_example_buys_nothing_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    await tell(RUNS["pydantic-ai"])
    told = capsys.readouterr().out
    assert "Agent: I did not order it: The question was closed without an answer." in told
    assert told.endswith("(no charges)\n")
