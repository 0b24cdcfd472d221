"""Hooks over HTTP: a gateway answers a client's events with the caller's own key, and hears the user's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import ValidationError

from assent.config.model import HookSettings
from assent.core.claims import State
from assent.hooks.events import HookEvent
from assent.hooks.http import send_prompt
from support.agents.hook_events import event
from support.gateway.gateways import CI, gateway, post

AUTH: dict[str, Any] = {"auth": {"api_keys": [{"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]}]}}
BEARER = {"authorization": f"Bearer {CI}"}
REMOVE = event("PreToolUse", "Bash", {"command": "rm -rf x"})


def root(url: str) -> str:
    return url.removesuffix("/mcp")


def decision(response: httpx2.Response) -> str:
    found: str = response.json().get("hookSpecificOutput", {}).get("permissionDecision", "none")
    return found


async def test_a_call_is_judged_and_recorded_for_the_holder_of_the_key(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}, **AUTH) as (url, app):
        denied = await post(f"{root(url)}/hooks/claude-code", REMOVE, **BEARER)
        allowed = await post(f"{root(url)}/hooks/claude-code", event("PreToolUse", "Bash", {"command": "ls"}), **BEARER)
        await app.store.flush()
        entries = [one.entry for one in await app.store.entries() if one.entry.facts.get("tool")]
    assert (denied.status_code, decision(denied), decision(allowed)) == (200, "deny", "none")
    assert "/console/approvals/" in denied.text
    assert {one.values["principal"] for one in entries} == {"ci"}


async def test_nobody_without_a_key_and_no_web_page_is_heard(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}, **AUTH) as (url, _):
        assert (await post(f"{root(url)}/hooks/claude-code", REMOVE)).status_code == 401
        assert (await post(f"{root(url)}/hooks/emacs", REMOVE, **BEARER)).status_code == 404
        plain = await post(f"{root(url)}/hooks/claude-code", REMOVE, **BEARER, **{"content-type": "text/plain"})
        foreign = await post(f"{root(url)}/hooks/claude-code", REMOVE, **BEARER, origin="https://evil.example")
        broken = await post(f"{root(url)}/hooks/claude-code", b"{", **BEARER)
        large = await post(f"{root(url)}/hooks/claude-code", b" " * (6 * 1024 * 1024), **BEARER)
    assert (plain.status_code, foreign.status_code) == (415, 403)
    assert (decision(broken), decision(large)) == ("deny", "deny")


async def test_a_session_of_another_tenant_ends_no_calls_of_this_one(tmp_path: Path) -> None:
    other = {**AUTH["auth"]["api_keys"][0], "key": "another-tenants-key-of-the-same-name", "tenant": "other"}
    keys = {"auth": {"api_keys": [*AUTH["auth"]["api_keys"], other]}}
    write, end = event("PreToolUse", "Write", {"file_path": "/home/ann/project/a", "content": "x"}), event("SessionEnd")
    async with gateway(tmp_path, {}, **keys) as (url, app):
        states = []
        await post(f"{root(url)}/hooks/claude-code", write, **BEARER)
        for key in (other["key"], CI):
            await post(f"{root(url)}/hooks/claude-code", end, authorization=f"Bearer {key}")
            states += [one.state for one in await app.store.claims()]
    assert states == [State.STARTED, State.IN_DOUBT]


async def test_the_users_words_reach_flow_control_of_a_team_gateway(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}, flow={"mode": "ask"}, **AUTH) as (url, app):
        words = HookEvent("codex", "prompt", "s", prompt="Send the report to ann@shop.example")
        assert await send_prompt(HookSettings(gateway=url, key=CI), "codex", words) == ""
        heard = app.current.rulebook.flow.report("local")
    assert [(one["principal"], one["user_text"]) for one in heard] == [("ci", True)]


async def test_a_prompt_that_does_not_reach_the_gateway_is_said() -> None:
    words = HookEvent("codex", "prompt", "s", prompt="x")
    trouble = await send_prompt(HookSettings(gateway="http://127.0.0.1:9", key=CI), "codex", words)
    assert "did not reach the gateway" in trouble


def test_a_gateway_needs_its_key() -> None:
    with pytest.raises(ValidationError, match="belong together"):
        HookSettings(gateway="http://127.0.0.1:9")
