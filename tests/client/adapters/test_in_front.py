"""An agent of another library in front of an Assent gateway: its confirmations, its approvals, its keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assent import GovernedClient
from assent.pipeline.approve import approve
from assent.testing import ANN
from client.test_in_front import Book, gateway
from support.clients.adapter_runs import RUNS, Model
from support.clients.person import Naps, Somebody
from support.clients.transports import over_http


@pytest.mark.parametrize("run", [RUNS["langgraph"], RUNS["openai-agents"]], ids=["langgraph", "openai-agents"])
async def test_what_waits_for_an_approver_is_told_to_the_model_and_done_once_approved(run: Any, tmp_path: Path) -> None:
    book, person = Book(), Somebody(True, True, True)
    buy, delete = ("c1", "place_order", {"item": "a"}), ("c2", "delete_order", {"order_id": "o-1"})
    options: dict[str, Any] = {"trusted": True, "approval_patience": 0.0, "sleep": Naps()}
    async with over_http(book.server) as upstream, gateway(tmp_path, upstream) as (url, gateway_app):
        async with GovernedClient(url, asker=person, **options) as client:
            first = Model([buy, delete])
            await run(client, first)
            bought, pending = (json.loads(text) for text in first.seen)
            assert (bought, pending["code"], book.effects) == ({"order": 1}, "confirm.approval_pending", ["a"])
            await approve(ANN, pending["approval"], "approve", gateway_app.ports)
            second = Model([("c3", *delete[1:])])
            await run(client, second)
    assert json.loads(second.seen[0]) == {"deleted": "o-1"}
    assert book.effects == ["a", "delete o-1"]
    assert sorted(question.tool for question in person.asked) == ["delete_order", "delete_order", "place_order"]
