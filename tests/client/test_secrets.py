"""What of a result reaches the model, and what only the caller."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assent import GovernedClient
from assent.client import Delivery
from support.clients.person import Naps, Somebody
from support.servers.plain_server import Plain, said, tool

CANARY = "canary-5f2c"
SHARED = tool("export", tier="share_export")


async def shown(definition: Any, result: Any, **options: Any) -> tuple[str, list[Delivery]]:
    """What the model sees and what was delivered."""
    plain = Plain(definition, **{definition.name: result})
    client = GovernedClient(plain.server, asker=Somebody(True), sleep=Naps(), **{"trusted": True, **options})
    async with client:
        seen = (await client.call_tool(definition.name)).model_dump_json()
        assert CANARY not in repr(client.journal.entries)
    return seen, client.secrets


@pytest.mark.parametrize(
    "result",
    [
        {"id": 1, "key": CANARY},
        {"api-key": CANARY},
        {"recovery_codes": [CANARY]},
        {"passphrase": CANARY},
        {"message": f"Open https://x.example/{CANARY}"},
        {"value": f"ghp_0123456789012345678901{CANARY}"},
        {"token": CANARY, "message": f"Your token is {CANARY}."},
    ],
)
async def test_a_secret_is_found_whatever_it_is_called_and_wherever_it_is_repeated(result: Any) -> None:
    seen, delivered = await shown(SHARED, said(result))
    assert CANARY not in seen
    assert delivered[0].result.structured_content == result


@pytest.mark.parametrize("result", [{"error": "no quota", "token": CANARY}, {"detail": f"Bearer {CANARY}"}])
async def test_an_error_is_told_without_the_secret_in_it(result: Any) -> None:
    seen, delivered = await shown(SHARED, said(result, is_error=True))
    assert CANARY not in seen
    assert "no quota" in seen or "error" not in result
    assert len(delivered) == 1


async def test_an_error_without_secrets_is_told_as_it_is() -> None:
    result = {"code": "confirm.approval_pending", "url": "https://gateway.example/approvals/a-1"}
    seen, delivered = await shown(SHARED, said(result, is_error=True), approval_patience=0)
    assert "approvals/a-1" in seen
    assert delivered == []


@pytest.mark.parametrize("name", ["create_token", "rotate_token", "reset_password", "generate_secret"])
async def test_a_tool_that_nobody_called_sharing_does_not_show_its_secret_either(name: str) -> None:
    seen, delivered = await shown(tool(name), said({"id": 1, "token": CANARY}), trusted=False)
    assert CANARY not in seen
    assert len(delivered) == 1


@pytest.mark.parametrize("result", [{"key": "SHOP-7", "url": "https://x.example/SHOP-7"}, {"next_page_token": "p2"}])
async def test_what_is_no_secret_is_left_alone(result: Any) -> None:
    seen, delivered = await shown(tool("create_issue", tier="write"), said(result))
    assert next(iter(result.values())) in seen
    assert delivered == []


async def test_a_callback_that_takes_its_time_is_waited_for() -> None:
    taken: list[Delivery] = []

    async def keep(delivery: Delivery) -> None:
        await asyncio.sleep(0)
        taken.append(delivery)

    _, kept = await shown(SHARED, said({"token": CANARY}), on_secret=keep)
    assert (len(taken), kept) == (1, [])


async def test_a_callback_that_fails_does_not_lose_the_secret() -> None:
    def fail(delivery: Delivery) -> None:
        raise OSError("the safe is full")

    plain = Plain(SHARED, export=said({"token": CANARY}))
    client = GovernedClient(plain.server, asker=Somebody(True), trusted=True, on_secret=fail)
    async with client:
        with pytest.raises(OSError, match="the safe is full"):
            await client.call_tool("export")
    assert [delivery.tool for delivery in client.secrets] == ["export"]


async def test_a_later_result_that_repeats_a_secret_does_not_show_it_either() -> None:
    plain = Plain(
        SHARED,
        tool("list_exports", tier="read"),
        export=said({"token": CANARY}),
        list_exports=said({"exports": [{"note": f"made with {CANARY}", "rows": 3}]}, text=f"made with {CANARY}"),
    )
    client = GovernedClient(plain.server, asker=Somebody(True), trusted=True)
    async with client:
        await client.call_tool("export")
        later = await client.call_tool("list_exports")
    assert CANARY not in later.model_dump_json()
    assert later.structured_content["exports"][0]["rows"] == 3
