"""OAuth upstreams behind the gateway: one connection for all, or one per person, and never another's."""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent.gateway.app import GatewayApp
from assent.upstreams.credentials import SHARED, PersonOwner
from support.decisions.problems import problem
from support.gateway.gateways import gateway
from support.identity.oauth_server import OAuthServer, oauth_server
from upstreams.oauth.test_tokens import sign_in

PEOPLE = [f"person{number:03}" for number in range(100)]


def settings(server: OAuthServer, identity: str) -> dict[str, Any]:
    keys = [
        {"name": name, "key": f"key-of-{name}", "kind": "agent", "scopes": ["*"]} for name in ("ann", "ben", *PEOPLE)
    ]
    upstream = {"url": server.url, "auth": "oauth", "identity": identity}
    return {"upstreams": {"notes": upstream}, "auth": {"api_keys": keys}, "contracts": []}


async def read(http: httpx2.AsyncClient, url: str, name: str, note: str, tool: str = "read_note") -> dict[str, Any]:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {"name": note}},
    }
    headers = {"authorization": f"Bearer key-of-{name}", "accept": "application/json, text/event-stream"}
    answer = await http.post(url, json=call, headers=headers, timeout=60)
    result: dict[str, Any] = json.loads(answer.text.removeprefix("event: message\r\ndata: "))["result"]
    return result


async def connect(app: GatewayApp, server: OAuthServer, name: str) -> None:
    await app.runtime.vault.put("notes", PersonOwner("local", name), (await sign_in(server, name)).as_json())


async def test_one_shared_connection_serves_every_caller(tmp_path: Path) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "shared")) as (url, app):
        assert "notes" in app.tools.troubles, "it is not connected yet"
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "team")).as_json())
        await app.reload("notes")
        async with httpx2.AsyncClient() as http:
            assert (await read(http, url, "ann", "plan"))["content"][0]["text"] == "plan of team"
            server.accounts.expire()
            assert (await read(http, url, "ben", "plan"))["content"][0]["text"] == "plan of team"
        assert server.calls == [("team", "plan"), ("team", "plan")]
        assert server.accounts.renewals == 1


async def test_a_hundred_people_call_at_once_and_each_is_served_by_their_own_account(tmp_path: Path) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "per_user")) as (url, app):
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "operator")).as_json())
        await app.reload("notes")
        for name in PEOPLE:
            await connect(app, server, name)
        async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=50)) as http:
            for _ in range(2):
                answers = await asyncio.gather(*(read(http, url, name, f"note of {name}") for name in PEOPLE))
                server.accounts.expire()
            texts = [answer["content"][0]["text"] for answer in answers]
        assert texts == [f"note of {name} of {name}" for name in PEOPLE]
        assert len(server.calls) == 200
        assert [call for call in server.calls if call[1] != f"note of {call[0]}"] == []


@pytest.mark.parametrize("modern", [True, False])
async def test_interleaved_calls_of_two_people_never_cross(
    modern: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Two accounts at the upstream, calls in a mixed order, and every so often all access tokens end at once."""
    count = (10_000 if modern else 2_000) if request.config.getoption("--torture") else 100
    order = random.Random(7)
    names = [order.choice(("ann", "ben")) for _ in range(count)]
    endings = {count // 4, count // 2, count * 3 // 4}
    async with oauth_server(modern=modern) as server, gateway(tmp_path, **settings(server, "per_user")) as (url, app):
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "operator")).as_json())
        await app.reload("notes")
        await connect(app, server, "ann")
        await connect(app, server, "ben")
        room = asyncio.Semaphore(16)
        async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=16)) as http:

            async def call(number: int, name: str) -> str:
                async with room:
                    if number in endings:
                        server.accounts.expire()
                    answer = await read(http, url, name, f"{name}-{number}")
                    return str(answer["content"][0]["text"])

            texts = await asyncio.gather(*(call(number, name) for number, name in enumerate(names)))
    assert texts == [f"{name}-{number} of {name}" for number, name in enumerate(names)]
    assert [call for call in server.calls if call[1].partition("-")[0] != call[0]] == []
    assert len(server.calls) == count, "no call was lost, and none ran twice"
    people_with_tokens = 3  # ann, ben and the operator, whose connection lists the tools
    assert 2 * len(endings) <= server.accounts.renewals <= people_with_tokens * len(endings)


async def test_a_call_without_a_connection_says_so_and_nobody_elses_is_used(tmp_path: Path) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "per_user")) as (url, app):
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "operator")).as_json())
        await app.reload("notes")
        await connect(app, server, "ann")
        async with httpx2.AsyncClient() as http:
            refused = await read(http, url, "ben", "plan")
            found = problem(refused)
            assert found["code"] == "guard.not_connected"
            assert found["connect_url"].endswith("/console/connections?upstream=notes")
            assert found["connect_url"] in refused["content"][0]["text"], "the model can pass it on"
            assert (await read(http, url, "ann", "plan"))["content"][0]["text"] == "plan of ann"
        assert server.calls == [("ann", "plan")]


async def test_a_revoked_account_stops_at_once_and_the_others_go_on(tmp_path: Path) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "per_user")) as (url, app):
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "operator")).as_json())
        await app.reload("notes")
        await connect(app, server, "ann")
        await connect(app, server, "ben")
        async with httpx2.AsyncClient() as http:
            server.accounts.end("ann")
            refused, served = await asyncio.gather(read(http, url, "ann", "a"), read(http, url, "ben", "b"))
        assert refused["isError"]
        assert served["content"][0]["text"] == "b of ben"
        assert await app.runtime.vault.get("notes", PersonOwner("local", "ann")) is None


async def test_no_token_is_in_the_store_the_log_or_an_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "shared")) as (url, app):
        token = await sign_in(server, "team")
        await app.runtime.vault.put("notes", SHARED, token.as_json())
        await app.reload("notes")
        async with httpx2.AsyncClient() as http:
            answer = await read(http, url, "ann", "plan")
        await app.store.flush()
        entries = await app.store.entries()
        kept = b"".join(path.read_bytes() for path in tmp_path.rglob("assent.db*"))
    for secret in (token.access_token, token.refresh_token):
        assert secret is not None
        assert secret.encode() not in kept
        assert secret not in str(answer) + str(entries) + caplog.text


async def test_an_expired_token_that_cannot_be_renewed_now_is_tried_again_later(tmp_path: Path) -> None:
    async with oauth_server(lasts=1) as server, gateway(tmp_path, **settings(server, "shared")) as (url, app):
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "team")).as_json())
        await app.reload("notes")
        async with httpx2.AsyncClient() as http:
            began = time.monotonic()
            texts = [(await read(http, url, "ann", "plan"))["content"][0]["text"] for _ in range(5)]
        assert texts == ["plan of team"] * 5
        assert time.monotonic() - began < 30
