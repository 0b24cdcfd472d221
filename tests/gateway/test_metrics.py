"""Counters that operators read, and that tell a caller nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from assent.core.outcome import Answer, Refusal
from assent.gateway.metrics import CallCounters, GatewayStatus, render, summarize_observed
from support.gateway.gateways import ANN_KEY, ANYBODY, CI, post, rpc, shop_gateway

_SAMPLE = re.compile(r'^[a-z_]+(\{([a-z_]+="([^"\\\n]|\\.)*",?)*\})? -?[0-9.]+(e[+-]?\d+)?$')


async def page(url: str, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        return await client.get(url.replace("/mcp", "/metrics"), headers=headers)


async def test_every_line_is_what_prometheus_reads(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, _, _shop):
        await post(url, rpc("tools/call", name="list_orders", arguments={}))
        await post(url, rpc("tools/call", name="list_orders", arguments={"limit": "x"}))
        answer = await page(url)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    assert all(line.startswith("# ") or _SAMPLE.match(line) for line in lines)
    assert 'assent_calls_total{tool="list_orders",outcome="answered"} 1' in lines
    assert 'assent_calls_total{tool="list_orders",outcome="validate.arguments_invalid"} 1' in lines
    assert 'assent_upstream_up{upstream="shop"} 1' in lines
    assert "assent_call_seconds_count 2" in lines
    assert 'assent_call_seconds_bucket{le="+Inf"} 2' in lines


async def test_a_hidden_tool_an_unknown_one_and_any_made_up_name_count_alike(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _shop):
        for name in ("read_private_key", "no_such_tool", 'x"} 1\nassent_fake 1', "y" * 10_000):
            await post(url, rpc("tools/call", name=name, arguments={}))
        answer = await page(url)
        assert set(gateway_app.runtime.tally.calls) == {("", "discover.unknown_tool")}
    assert 'assent_calls_total{tool="",outcome="discover.unknown_tool"} 4' in answer.text
    assert "read_private_key" not in answer.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"authorization": "Bearer assent_ops00000_secret-of-ops"}, 200),
        ({"authorization": f"Bearer {CI}"}, 403),
        ({"authorization": "Bearer wrong"}, 403),
        ({"authorization": "Bearer assent_bot00000_secret-of-bot"}, 403),
        ({"x-forwarded-for": "192.0.2.1"}, 403),
        ({"forwarded": "for=192.0.2.1"}, 403),
        ({"host": "evil.example"}, 403),
        ({"origin": "http://evil.example"}, 403),
    ],
)
async def test_counters_are_for_operators_and_for_this_machine(
    headers: dict[str, str], status: int, tmp_path: Path
) -> None:
    keys = [
        {"name": "ci", "key": CI, "kind": "agent", "scopes": ["*"]},
        {"name": "ann", "key": ANN_KEY, "kind": "human", "scopes": ["*"], "roles": ["approver"]},
        {"name": "ops", "key": "assent_ops00000_secret-of-ops", "kind": "human", "roles": ["operator"]},
        {"name": "bot", "key": "assent_bot00000_secret-of-bot", "kind": "agent", "roles": ["operator"]},
    ]
    async with shop_gateway(tmp_path, auth={"api_keys": keys, **ANYBODY}) as (url, _, _shop):
        assert (await page(url, **headers)).status_code == status


def test_labels_are_escaped() -> None:
    tally = CallCounters()
    tally.count_call('a"b\\c\nd', Answer({}), [])
    assert b'tool="a\\"b\\\\c\\nd"' in render(tally, GatewayStatus(0, 0, {}))


def test_what_observing_let_pass_is_summed_up_by_tool_and_code() -> None:
    tally = CallCounters()
    tally.count_call("pay", Answer({}), ["confirm.confirmation_required", "guard.denied"])
    tally.count_call("pay", Answer({}), ["confirm.confirmation_required"])
    tally.count_call("list", Answer({}), [])
    tally.count_call(None, Refusal("discover.unknown_tool"), [])
    assert summarize_observed(tally) == [
        "Observed 4 calls. Enforce mode would have stopped:",
        "       2  pay  confirm.confirmation_required",
        "       1  pay  guard.denied",
    ]
    assert summarize_observed(CallCounters()) == ["Observed 0 calls. Enforce mode would have stopped none of them."]


async def test_observed_calls_are_counted_where_they_would_have_been_stopped(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, mode="observe") as (url, gateway_app, _shop):
        done: Any = await post(url, rpc("tools/call", name="delete_order", arguments={"order_id": "1"}))
        assert done.json()["result"]["structuredContent"] == {"deleted": "1"}
        assert summarize_observed(gateway_app.runtime.tally)[1:] == [
            "       1  delete_order  confirm.confirmation_required"
        ]
