"""Two keys of one name are two owners where each person has their own account: neither gets the other's session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from assent.core.audit import Entry
from assent.core.principal import Principal
from assent.gateway.auth.authenticator import record_key
from assent.upstreams.credentials import SHARED, PersonOwner
from support.gateway.gateways import HEADERS, gateway, rpc
from support.identity.oauth_server import oauth_server
from upstreams.oauth.test_gateway import connect, read, settings
from upstreams.oauth.test_tokens import sign_in


@pytest.mark.parametrize("connected", [True, False])
async def test_a_key_named_like_an_agent_never_uses_that_agents_session(connected: bool, tmp_path: Path) -> None:
    async with (
        oauth_server(modern=False) as server,
        gateway(tmp_path, **settings(server, "per_user")) as (url, app),
        httpx2.AsyncClient() as http,
    ):
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "operator")).as_json())
        await app.reload("notes")
        await connect(app, server, "ann")
        key = "assent_eve00000_key-of-eve"
        namesake = Principal("ann", "agent", scopes=frozenset({"*"}))
        await app.store.add_key(
            replace(record_key(key, namesake), made_by="eve"), Entry("operator", 0.0, {"event": "key.created"})
        )
        if connected:
            eves = PersonOwner("local", "ann (key of eve)")
            await app.runtime.vault.put("notes", eves, (await sign_in(server, "eve")).as_json())
        assert (await read(http, url, "ann", "plan"))["content"][0]["text"] == "plan of ann"
        call = rpc("tools/call", name="read_note", arguments={"name": "plan"})
        answer = await http.post(url, json=call, headers={**HEADERS, "x-api-key": key})
        assert ("plan of eve" if connected else "guard.not_connected") in answer.text
        assert server.calls == [("ann", "plan"), *([("eve", "plan")] if connected else [])]
