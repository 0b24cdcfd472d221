"""Callers' own tokens exchanged for tokens of the upstream, with a real identity provider (npm `oidc-provider`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent.config.load import parse_settings
from assent.contract.yaml_document import write_yaml
from assent.core.principal import Principal
from assent.errors import FaultsError
from assent.gateway.app import GatewayApp
from assent.upstreams.credentials import SHARED
from assent.upstreams.oauth.grants import begin_sign_in, finish_sign_in
from support.decisions.problems import problem
from support.gateway.gateways import gateway
from support.identity.exchange_world import AUDIENCE, BACK, SECRET, JwtNotes, Providers, jwt_notes, log_in, providers
from support.identity.oidc_provider import needs_provider

OPERATOR = Principal("operator", "human")
World = tuple[str, GatewayApp, JwtNotes, Providers]


def upstream(notes: JwtNotes, world: Providers, grant: str, **more: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"client_id": "assent", "client_secret": SECRET, "exchange": grant, "scopes": ["notes"]}
    if grant == "id_jag":
        own |= {"client_id": "assent-there", "issuer": world.other}
        own["identity_provider"] = {"client_id": "assent", "client_secret": SECRET}
    return {"url": notes.url, "auth": "oauth", "identity": "per_user", "oauth": {**own, **more}}


@asynccontextmanager
async def exchanging(folder: Path, grant: str, contracts: Sequence[str] = (), **more: Any) -> AsyncIterator[World]:
    """A gateway whose upstream trusts the identity provider itself (`token`) or the other server (`id_jag`)."""
    async with providers() as world, jwt_notes(world.idp if grant == "token" else world.other) as notes:
        keys = [{"name": "robot", "key": "key-of-robot", "kind": "agent", "scopes": ["*"]}]
        auth = {"jwt": {"issuer": world.idp, "audience": AUDIENCE}, "api_keys": keys}
        upstreams = {"notes": upstream(notes, world, grant, **more)}
        async with gateway(folder, upstreams, auth=auth, contracts=list(contracts), visibility="locked") as (url, app):
            started = await begin_sign_in(notes.url, BACK)
            answer = await log_in(started.url, "operator")
            await finish_sign_in(started, answer, app.runtime.vault, "notes", SHARED, OPERATOR, time.time)
            await app.reload("notes")
            yield url, app, notes, world


async def read(url: str, token: str, note: str, tool: str = "read_note") -> dict[str, Any]:
    params = {"name": tool, "arguments": {"name": note}}
    headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(timeout=60) as http:
        answer = await http.post(
            url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers=headers
        )
    result: dict[str, Any] = answer.json()["result"]
    return result


@needs_provider
@pytest.mark.parametrize("grant", ["token", "id_jag"])
async def test_each_caller_is_served_as_themselves_without_a_connect_page(grant: str, tmp_path: Path) -> None:
    async with exchanging(tmp_path, grant) as (url, _, notes, world):
        tokens = {name: await world.token(name) for name in ("ann", "ben")}
        names = ["ann", "ben"] * 10
        answers = await asyncio.gather(*(read(url, tokens[name], f"{name}'s") for name in names))
        refused = await read(url, await world.token("banned"), "plan")
        robot = await read(url, "key-of-robot", "plan")
    assert [one["content"][0]["text"] for one in answers] == [f"{name}'s of {name}" for name in names]
    assert [call for call in notes.calls if call[1] != f"{call[0]}'s"] == []
    assert not {f"Bearer {token}" for token in tokens.values()} & notes.credentials, "the caller's token went upstream"
    asked = [line for line in world.log if line.startswith("exchange") and line.split()[2] in ("ann", "ben")]
    assert len(asked) == 2, "one exchange for many concurrent calls of one token"
    redeemed = [line for line in world.log if line.startswith("redeem ")]
    assert sorted(redeemed) == ([] if grant == "token" else ["redeem ann", "redeem ben"])
    for one in (refused, robot):
        assert problem(one)["code"] == "guard.not_connected", "a refused exchange leads to the connect page"


@needs_provider
async def test_an_upstream_that_names_another_authorization_server_gets_no_token(tmp_path: Path) -> None:
    async with exchanging(tmp_path, "token", issuer="http://127.0.0.1:9/elsewhere") as (url, _, notes, world):
        refused = await read(url, await world.token("ann"), "plan")
    assert problem(refused)["code"] == "guard.not_connected"
    assert not [line for line in world.log if line.startswith("exchange")]
    assert notes.calls == []


@needs_provider
async def test_a_scope_that_the_upstream_asks_for_is_exchanged_for(tmp_path: Path) -> None:
    contract = tmp_path / "notes.yaml"
    contract.write_text(write_yaml({"tools": {"write_note": {"side_effect": "write"}}}))
    async with exchanging(tmp_path, "token", contracts=[str(contract)]) as (url, _, notes, world):
        answer = await read(url, await world.token("ann"), "plan", "write_note")
    assert answer["content"][0]["text"] == "wrote plan of ann"
    assert notes.calls == [("ann", "plan")], "the refused request ran nothing"


@needs_provider
async def test_nothing_of_an_exchange_is_kept_or_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with exchanging(tmp_path, "token") as (url, app, notes, world):
        token = await world.token("ann")
        answer = await read(url, token, "plan")
        await app.store.flush()
        entries = str(await app.store.entries())
        kept = b"".join(path.read_bytes() for path in tmp_path.rglob("assent.db*"))
        exchanged = notes.credentials - {f"Bearer {token}"}
    for secret in (token, *(one.removeprefix("Bearer ") for one in exchanged)):
        assert secret.encode() not in kept
        assert secret not in str(answer) + entries + caplog.text


@pytest.mark.parametrize(
    ("own", "jwt", "message"),
    [
        ({"exchange": "token"}, True, "needs client_id"),
        ({"exchange": "id_jag", "client_id": "a"}, True, "needs issuer and identity_provider"),
        ({"exchange": "token", "client_id": "a"}, False, "auth.jwt must name their issuer"),
    ],
)
def test_an_exchange_that_cannot_work_is_said_at_load(own: dict[str, Any], jwt: bool, message: str) -> None:
    one = {"url": "https://notes.example/mcp", "auth": "oauth", "identity": "per_user", "oauth": own}
    auth = {"jwt": {"issuer": "https://id.example", "audience": "x"}} if jwt else {}
    with pytest.raises(FaultsError, match=message):
        parse_settings(write_yaml({"upstreams": {"notes": one}, "auth": auth}))
    shared = {**one, "identity": "shared", "oauth": {"exchange": "token", "client_id": "a"}}
    with pytest.raises(FaultsError, match="identity: per_user"):
        parse_settings(write_yaml({"upstreams": {"notes": shared}, "auth": auth}))
