"""Nobody watches resources with the shared connection of an upstream where each person has their own account."""

from __future__ import annotations

from pathlib import Path

import pytest

from assent.mcp.jsonrpc import RpcError
from assent.upstreams.credentials import SHARED
from support.gateway.gateways import gateway
from support.identity.oauth_server import oauth_server
from upstreams.oauth.test_gateway import settings
from upstreams.oauth.test_tokens import sign_in


async def test_a_resource_is_not_watched_with_the_operators_account(tmp_path: Path) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "per_user")) as (_, app):
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "operator")).as_json())
        await app.reload("notes")
        with pytest.raises(RpcError, match="each person has their own account"):
            await app.upstream_monitor.subscriptions["notes"].watch("note://plan", ("local", "ann"))
