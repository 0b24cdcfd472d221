"""A key that ends while a question is open: the yes that comes afterwards runs nothing."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from assent.core.audit import Entry
from assent.core.principal import Principal
from assent.gateway.auth.authenticator import make_key, record_key
from support.gateway.gateways import ANYBODY, shop_gateway

BOT = Principal("bot", "agent", scopes=frozenset({"*"}))


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("ends", [True, False])
async def test_a_yes_with_a_key_that_was_revoked_meanwhile_runs_nothing(tmp_path: Path, era: str, ends: bool) -> None:
    async with shop_gateway(tmp_path, auth=ANYBODY) as (url, app, shop):
        key = make_key()
        record, asked = record_key(key, BOT, time.time()), list[str]()
        await app.store.add_key(record, Entry("operator", 0.0, {}, {}))

        async def accept(context: Any, params: Any) -> types.ElicitResult:
            asked.append(params.message)
            if ends:
                await app.store.revoke_key(record.digest, time.time(), Entry("operator", 1.0, {}, {}))
                await asyncio.sleep(0.6)  # A key that is revoked elsewhere may be known here for half a second.
            return types.ElicitResult(action="accept", content={})

        http = httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=30)
        transport = streamable_http_client(url, http_client=http)
        async with http, Client(transport, mode=era, elicitation_callback=accept) as client:
            try:
                async with asyncio.timeout(3):
                    result = await client.call_tool("place_order", {"item": "a"})
            except Exception:
                result = None
        assert len(asked) == 1
        assert shop.effects == ([] if ends else ["a"])
        assert ends or (result is not None and not result.is_error)
