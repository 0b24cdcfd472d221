"""Further audit events that a contract reads from a result, for servers that Assent did not write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.clients.transports import ROOT
from support.gateway.gateways import gateway, post, rpc
from support.gateway.wrap_process import home, running
from support.openapi.documents import ORDERS
from support.openapi.service import Orders, serving

ASSENT = str(ROOT / ".venv" / "bin" / "assent")
SERVER = """
import json, sys
SENT = {"sent": [{"contact": "c-1", "token": "t-1"}, {"contact": "c-2", "token": "t-2"}, None], "count": 2}
for line in sys.stdin:
    message = json.loads(line)
    match message["method"]:
        case "initialize":
            result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "post", "version": "1"}}
        case "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("send", "look")]}
        case "tools/call" if "fail" in message["params"].get("arguments", {}):
            result = {"content": [], "structuredContent": SENT, "isError": True}
        case "tools/call":
            result = {"content": [{"type": "text", "text": json.dumps(SENT)}], "structuredContent": SENT}
        case _:
            result = None
    if "id" in message:
        answer = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""
FREE = {"risk": "low", "autonomous": True, "confirmation": {"by": "none"}}
EVENTS = {"email.external.sent": "/sent/*", "campaign.counted": "/count"}
TOOLS = {
    "send": {"side_effect": "write", **FREE, "events": EVENTS, "secrets": ["/sent/*/token"]},
    "look": {"side_effect": "read", "events": {"letters.counted": "/count"}},
}
CONTACTS = [{"contact": "c-1", "token": ""}, {"contact": "c-2", "token": ""}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "post.yaml").write_text(yaml.safe_dump({"tools": TOOLS}, sort_keys=False))
    return tmp_path


def events(entries: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """The names and values of the events among exported entries."""
    return [(one["event"], one["values"]["event"]) for one in entries if one["kind"] == "event"]


def log(environment: dict[str, str], *words: str) -> list[dict[str, Any]]:
    command = [ASSENT, "audit", "export", "--format", "jsonl", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


async def test_a_wrapped_servers_result_becomes_events_once_and_without_secrets(folder: Path) -> None:
    environment = home(folder, f"mode: enforce\ncontracts: [{folder}/post.yaml]\n")
    async with running(environment, sys.executable, str(folder / "server.py")) as wrapped:
        await wrapped.greet()
        for number, (name, arguments) in enumerate([("send", {}), ("send", {}), ("look", {}), ("send", {"fail": 1})]):
            meta = {"dev.assent/idempotencyKey": f"key {bool(arguments)}"}
            await wrapped.say("tools/call", number, name=name, arguments=arguments, _meta=meta)
            assert (await wrapped.hear())["id"] == number
        assert (await wrapped.end())[0] == 0
    entries = log(environment)
    assert "t-1" not in json.dumps(entries)
    assert events(entries) == [
        ("email.external.sent", CONTACTS[0]),
        ("email.external.sent", CONTACTS[1]),
        ("campaign.counted", {"value": 2}),
        ("letters.counted", {"value": 2}),
    ]
    sent = [one for one in entries if one["kind"] in ("intent", "outcome", "event") and one["tool"] == "send"][:5]
    assert [one["kind"] for one in sent] == ["intent", "event", "event", "event", "outcome"]
    assert len({one["claim"] for one in sent}) == 1, "the events belong to the call"


async def test_a_gateway_reads_events_of_its_upstreams_and_of_services(folder: Path) -> None:
    (folder / "orders.json").write_text(json.dumps(ORDERS))
    ordering = {"side_effect": "write", **FREE, "events": {"order.placed": "/id"}}
    tools = {"post_send": TOOLS["send"], "shop_place_order": ordering}
    (folder / "both.yaml").write_text(yaml.safe_dump({"tools": tools}, sort_keys=False))
    upstreams = {"post": {"command": [sys.executable, str(folder / "server.py")]}}
    async with serving(Orders().app()) as service:
        upstreams["shop"] = {"openapi": str(folder / "orders.json"), "base_url": service}  # type: ignore[dict-item]
        async with gateway(folder, upstreams, contracts=[str(folder / "both.yaml")]) as (url, app):
            for name, arguments in (("post_send", {}), ("shop_place_order", {"item": "tea"})):
                answer = await post(url, rpc("tools/call", name=name, arguments=arguments))
                assert not answer.json()["result"].get("isError"), answer.text
            await app.store.flush()
            found = [one.entry for one in await app.store.entries(limit=1000)]
    named = [one.facts["event"] for one in found if one.kind == "event"]
    assert named == ["email.external.sent", "email.external.sent", "campaign.counted", "order.placed"]


def test_events_are_checked_when_a_contract_is_read(folder: Path) -> None:
    for wrong in ({}, {"a name": "/sent"}, {"sent": "sent"}):
        (folder / "post.yaml").write_text(yaml.safe_dump({"tools": {"send": {**TOOLS["send"], "events": wrong}}}))
        done = subprocess.run(
            [ASSENT, "contract", "show", str(folder / "post.yaml")], env=dict(os.environ), capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode != 0 and "events" in done.stdout + done.stderr, wrong
