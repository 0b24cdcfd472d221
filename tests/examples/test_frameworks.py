"""Each library's example, with the real shop: asked once with the price, charged once though the shop dies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.runs import RUNS, buys, shop
from assent import GovernedClient
from edges.client.person import Naps, Somebody


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
async def test_the_user_is_asked_once_with_the_price_and_charged_once(run: Any, tmp_path: Path) -> None:
    book, person = tmp_path / "charges.log", Somebody(True)
    async with GovernedClient(shop(book, falls_over=True), trusted=True, asker=person, sleep=Naps()) as client:
        words = await run(client, buys)
        happened = [noted.what for noted in client.journal.of("orders.archive.place")]
    assert words == "I ordered etna-2026-06: o-1."
    assert "Price: 240 credits" in person.asked[0].text.splitlines()
    assert len(person.asked) == 1
    assert [json.loads(line)["item"] for line in book.read_text("utf-8").splitlines()] == ["etna-2026-06"]
    assert happened == ["estimated", "asked", "decided", "called", "failed", "retried", "reconnected", "answered"]
