"""Approvals that need an approver who has just authenticated."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from assent.gateway.app import GatewayApp
from support.console.plain_browser import Browser, browser, hidden_field, signed_in
from support.decisions.problems import problem
from support.gateway.gateways import ANN_KEY, Shop, post, rpc, shop_gateway
from support.identity.oidc_provider import (
    continue_url,
    log_in_at_provider,
    needs_provider,
    oidc_provider,
    oidc_settings,
    sign_in_through,
)

CALL = rpc("tools/call", name="delete_order", arguments={"order_id": "o-1"})
CRITICAL = {"step_up": {"risks": ["low", "medium", "high", "critical"], "max_age": 300}}
AUTH = {
    "anonymous": {"kind": "agent", "scopes": ["*"]},
    "api_keys": [{"name": "ann", "key": ANN_KEY, "kind": "human", "roles": ["approver"]}],
}


@asynccontextmanager
async def waiting(
    folder: Path, console: dict[str, Any], **settings: Any
) -> AsyncIterator[tuple[str, GatewayApp, Shop, str]]:
    """A gateway with one call that waits for an approver."""
    more: dict[str, Any] = {"console": console, "auth": AUTH, **settings}
    async with shop_gateway(folder, **more) as (url, app, shop):
        found = problem((await post(url, CALL)).json()["result"])
        yield url, app, shop, found["approval"]


async def age(app: GatewayApp, seconds: float) -> None:
    """Let every session's authentication be so many seconds old."""
    for kept in await app.store.documents("console_session", time.time()):
        body = json.loads(kept.body)
        body["auth_time"] = time.time() - seconds
        await app.store.put_document(kept._replace(body=json.dumps(body).encode()), time.time())


async def state(app: GatewayApp, approval: str) -> str:
    found = await app.store.approval(approval)
    assert found is not None
    return found.state_at(time.time()).value


async def test_a_fresh_sign_in_is_enough_and_an_old_one_is_led_to_authenticate_again(tmp_path: Path) -> None:
    async with waiting(tmp_path, CRITICAL) as (url, app, _, approval), signed_in(url, app.store) as person:
        await age(app, 301)
        asked = await person.send(f"/console/approvals/{approval}/approve")
        assert (asked.status_code, asked.headers["location"]) == (303, f"/console/approvals/{approval}/sign")
        page = (await person.get(f"/console/approvals/{approval}/sign")).text
        again = f"/console/signin/again?next=/console/approvals/{approval}"
        assert "an authentication within the last 300 seconds" in page and again in page
        assert "assent console</code>" in (await person.get(again)).text
        assert await state(app, approval) == "pending"
        await age(app, 10)
        await person.send(f"/console/approvals/{approval}/approve")
        assert await state(app, approval) == "approved"


async def test_the_api_cannot_be_used_to_go_round_it(tmp_path: Path) -> None:
    async with waiting(tmp_path, CRITICAL) as (url, app, _, approval):
        path = url.replace("/mcp", f"/api/approvals/{approval}/approve")
        refused = await post(path, {}, authorization=f"Bearer {ANN_KEY}")
        assert (refused.status_code, refused.json()["code"]) == (403, "approve.step_up_required")
        forged = await post(path, {"signed": {"digest": "x"}}, authorization=f"Bearer {ANN_KEY}")
        assert forged.status_code in (400, 422)
        assert await state(app, approval) == "pending"


async def test_saying_no_needs_no_step_up(tmp_path: Path) -> None:
    async with waiting(tmp_path, CRITICAL) as (url, app, _, approval), signed_in(url, app.store) as person:
        await age(app, 9999)
        assert (await person.send(f"/console/approvals/{approval}/deny")).status_code == 303
        assert await state(app, approval) == "declined"


async def test_a_critical_call_needs_a_recent_sign_in_by_default(tmp_path: Path) -> None:
    async with waiting(tmp_path, {}) as (url, app, _, approval), signed_in(url, app.store) as person:
        await age(app, 301)
        await person.send(f"/console/approvals/{approval}/approve")
        assert await state(app, approval) == "pending"
        await age(app, 10)
        await person.send(f"/console/approvals/{approval}/approve")
        assert await state(app, approval) == "approved"


async def test_without_a_demand_an_old_sign_in_approves(tmp_path: Path) -> None:
    off = {"defaults": {"step_up": {"approvers": "none"}}}
    async with waiting(tmp_path, {}, **off) as (url, app, _, approval), signed_in(url, app.store) as person:
        await age(app, 9999)
        await person.send(f"/console/approvals/{approval}/approve")
        assert await state(app, approval) == "approved"


@needs_provider
async def test_a_person_of_the_identity_provider_authenticates_there_again(tmp_path: Path) -> None:
    async with oidc_provider() as issuer:
        demand = {"step_up": {"risks": ["high", "critical"], "max_age": 300, "acr": ["urn:example:mfa"]}}
        async with waiting(tmp_path, {**oidc_settings(issuer), **demand}) as (url, app, _, approval):
            async with browser(url) as ann:
                who = {"login": "ann", "groups": "approvers"}
                assert (await sign_in_through(ann, **who)).status_code == 303
                await ann.send(f"/console/approvals/{approval}/approve")
                assert await state(app, approval) == "pending"
                weak = await authenticate_again(ann, approval, **who)
                assert weak.status_code == 303
                await ann.send(f"/console/approvals/{approval}/approve")
                assert await state(app, approval) == "pending"
                assert (await authenticate_again(ann, approval, acr="urn:example:mfa", **who)).status_code == 303
                await ann.send(f"/console/approvals/{approval}/approve")
                assert await state(app, approval) == "approved"


@needs_provider
async def test_authenticating_again_as_somebody_else_changes_nothing(tmp_path: Path) -> None:
    async with oidc_provider() as issuer, waiting(tmp_path, {**oidc_settings(issuer), **CRITICAL}) as found:
        url, _, _, approval = found
        async with browser(url) as ann:
            assert (await sign_in_through(ann, login="ann", groups="approvers")).status_code == 303
            refused = await authenticate_again(ann, approval, login="bob", groups="approvers,operators")
            assert refused.status_code == 403 and "somebody else" in refused.text
            page = (await ann.get("/console/account")).text
            assert "|ann" in page and "|bob" not in page


async def authenticate_again(person: Browser, approval: str, **form: str) -> Any:
    page = (await person.get(f"/console/approvals/{approval}/sign")).text
    sent: dict[str, Any] = {"csrf": hidden_field(page, "csrf"), "next": f"/console/approvals/{approval}"}
    sent |= {"max_age": hidden_field(page, "max_age")} | (
        {"acr": hidden_field(page, "acr")} if 'name="acr"' in page else {}
    )
    url = continue_url((await person.post("/console/signin/oidc/again", sent)).text)
    assert "prompt=login" in url and "max_age=300" in url
    return await person.client.get(await log_in_at_provider(url, **form))
