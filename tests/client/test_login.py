"""A login hook of a governed client, in front of a gateway that challenges for scopes, a fresh login and a token."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from assent import GovernedClient
from assent.client import Challenged
from client.test_challenges import CASES, FACTS, bearer, challenging
from support.clients.person import Naps, Somebody
from support.clients.transports import ERAS
from support.identity.identity_provider import IdentityProvider

# A spend needs the scopes first and then, as a critical call, a recent login.
TWICE = ["authorize.missing_permissions", "step_up.required"]


class Hook:
    """Logs in as the challenge asks and remembers what it was asked for."""

    def __init__(self, provider: IdentityProvider) -> None:
        self._provider, self._scopes, self.asked = provider, ["orders:read"], list[Challenged]()

    async def __call__(self, challenge: Challenged) -> str:
        self.asked.append(challenge)
        self._scopes += challenge.scopes
        recent = {"auth_time": int(time.time()), "acr": "mfa"} if challenge.code == "step_up.required" else {}
        return self._provider.token(scope=" ".join(self._scopes), **recent)

    @property
    def codes(self) -> list[str]:
        return [challenge.code for challenge in self.asked]


def at_url(url: str, hook: Any, *answers: bool) -> GovernedClient:
    return GovernedClient(url, trusted=True, asker=Somebody(*answers), sleep=Naps(), login=hook)


@pytest.mark.parametrize(("tool", "arguments", "status", "code"), CASES)
async def test_a_challenged_call_is_sent_again_after_the_login(
    tool: str, arguments: dict[str, str], status: int, code: str, tmp_path: Path
) -> None:
    async with challenging(tmp_path) as (url, provider, shop):
        hook = Hook(provider)
        async with at_url(url, hook, True) as client:
            answered = await client.call_tool(tool, arguments)
        assert not answered.is_error, answered
        assert len(shop.effects) == 1
        assert hook.codes == ["authenticate.missing", *(TWICE if tool == "place_order" else [code])]
        assert FACTS[tool].items() <= hook.asked[1].facts.items()
        assert hook.asked[1].resource_metadata is not None


@pytest.mark.parametrize("era", ERAS)
async def test_a_hook_can_renew_the_credentials_of_the_callers_own_http_client(era: str, tmp_path: Path) -> None:
    async with challenging(tmp_path) as (url, provider, shop), bearer("expired") as http:
        hook = Hook(provider)

        async def renew(challenge: Challenged) -> bool:
            http.headers["Authorization"] = f"Bearer {await hook(challenge)}"
            return True

        def connect(**callbacks: Any) -> Client:
            return Client(streamable_http_client(url, http_client=http), mode=era, **callbacks)

        async with GovernedClient(connect=connect, trusted=True, asker=Somebody(True), login=renew) as client:
            answered = await client.call_tool("place_order", {"item": "scene"})
        assert not answered.is_error and shop.effects == ["scene"]
        assert hook.codes == ["authenticate.invalid", *TWICE]


def fails(challenge: Challenged) -> str:
    raise OSError("no browser")


@pytest.mark.parametrize("hook", [lambda challenge: None, fails])
async def test_without_a_login_the_call_ends_as_the_challenge_after_one_hook(hook: Any, tmp_path: Path) -> None:
    async with challenging(tmp_path) as (url, provider, shop), bearer(provider.token(scope="orders:read")) as http:
        tried: list[str] = []

        def login(challenge: Challenged) -> Any:
            tried.append(challenge.code)
            return hook(challenge)

        def connect(**callbacks: Any) -> Client:
            return Client(streamable_http_client(url, http_client=http), **callbacks)

        async with GovernedClient(connect=connect, trusted=True, asker=Somebody(True), login=login) as client:
            ended = await client.call_tool("place_order", {"item": "scene"})
        assert ended.structured_content is not None
        assert ended.structured_content["code"] == "authorize.missing_permissions"
        assert tried == ["authorize.missing_permissions"] and shop.effects == []


async def test_a_login_that_is_not_enough_is_tried_once(tmp_path: Path) -> None:
    async with challenging(tmp_path) as (url, provider, shop):
        asked: list[str] = []

        def login(challenge: Challenged) -> str:
            asked.append(challenge.code)
            return provider.token(scope="orders:read")

        async with at_url(url, login, True) as client:
            ended = await client.call_tool("place_order", {"item": "scene"})
        assert ended.is_error and shop.effects == []
        assert asked == ["authenticate.missing", "authorize.missing_permissions"]


async def test_calls_that_are_challenged_at_once_share_one_login(tmp_path: Path) -> None:
    async with challenging(tmp_path) as (url, provider, shop):
        hook = Hook(provider)
        async with at_url(url, hook, *[True] * 5) as client:
            calls = [client.call_tool("place_order", {"item": str(number)}) for number in range(5)]
            answered = await asyncio.gather(*calls)
        assert not any(one.is_error for one in answered)
        assert sorted(shop.effects) == ["0", "1", "2", "3", "4"]
        assert hook.codes == ["authenticate.missing", *TWICE]


async def test_a_token_is_not_sent_to_another_host() -> None:
    from assent.client.connection import LoginHook
    from assent.client.options import Journal

    hook = LoginHook(lambda challenge: "secret", Journal(time.time), 1, bool)
    authorize = hook.bearer_for("http://127.0.0.1:1/mcp")
    await hook._call_hook(Challenged("authenticate.missing"))
    for address, sent in (("http://127.0.0.1:1/mcp", True), ("http://127.0.0.1:2/mcp", False)):
        request = httpx2.Request("POST", address)
        await authorize(request)
        assert ("Authorization" in request.headers) is sent


async def test_a_token_for_a_client_that_connect_made_is_a_mistake_of_the_program(tmp_path: Path) -> None:
    async with challenging(tmp_path) as (url, provider, _):

        def connect(**callbacks: Any) -> Client:
            return Client(url, **callbacks)

        with pytest.raises(TypeError, match="return True"):
            async with GovernedClient(connect=connect, login=Hook(provider)):
                pass
