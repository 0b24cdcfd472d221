"""Whoever asks for what is not there, or not for them, is told what is."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from support.gateway.gateways import CI, shop_gateway

KEYS = {"api_keys": [{"name": "ci", "key": CI, "kind": "agent"}]}


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/", 404, "The MCP endpoint is /mcp"),
        ("/.well-known/oauth-protected-resource", 404, "auth.jwt"),
        ("/metrics", 403, "the role operator"),
    ],
)
async def test_what_is_not_here_or_not_for_you_is_said_with_what_to_do(
    path: str, status: int, said: str, tmp_path: Path
) -> None:
    async with shop_gateway(tmp_path, auth=KEYS) as (url, _, _shop), httpx2.AsyncClient() as client:
        headers = {"authorization": f"Bearer {CI}", "x-forwarded-for": "192.0.2.1"}
        found = await client.get(f"http://{urlsplit(url).netloc}{path}", headers=headers)
        assert (found.status_code, found.json()["status"]) == (status, status)
        assert said in found.json()["detail"]
