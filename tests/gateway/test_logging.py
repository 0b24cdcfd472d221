"""Logs that say what happened and never what was in it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assent.gateway.generation import assemble
from assent.gateway.logging import JsonLinesFormatter, PlainFormatter, begin
from support.clients.transports import over_http
from support.gateway.gateways import Shop, gateway, post, rpc
from support.servers.scripted_server import Conversation, ScriptedServer

CANARY = "canary-7f3a9b"


@pytest.fixture(params=[JsonLinesFormatter, PlainFormatter])
def log(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """Everything that anybody logs, at the most talkative level."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    quiet = ("httpx2", "httpcore2", "httpx", "httpcore", "asyncio", "mcp", "sse_starlette")  # the test's own client
    for name in quiet:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    yield stream
    for name in quiet:
        logging.getLogger(name).setLevel(logging.NOTSET)
    root.setLevel(level)
    root.removeHandler(handler)


async def test_what_is_in_a_call_is_in_no_log(log: io.StringIO, tmp_path: Path) -> None:
    shop = Shop()

    @shop.server.tool()
    def get_loudly(what: str) -> str:
        """Gets something and fails."""
        raise RuntimeError(f"cannot get {what}")

    key = f"assent_ci000000_{CANARY}"
    auth = {"api_keys": [{"name": "ci", "key": key, "kind": "agent", "scopes": ["*"]}]}
    async with over_http(shop.server) as upstream:
        upstreams = {
            "a": {"url": upstream, "headers": {"authorization": f"Bearer {CANARY}"}},
            "b": {"url": f"http://127.0.0.1:9/{CANARY}"},
        }
        async with gateway(tmp_path, upstreams, auth=auth) as (url, _):
            known = {"authorization": f"Bearer {key}"}
            for name in ("a_list_orders", "a_place_order", "a_delete_order", "a_get_loudly", CANARY):
                body = rpc("tools/call", name=name, arguments={"item": CANARY, "what": CANARY, "order_id": CANARY})
                body["params"]["_meta"] = {"dev.assent/idempotencyKey": CANARY}
                await post(url, body, **known)
            await post(url, b'{"' + CANARY.encode(), **known)
            await post(url, rpc(CANARY), **known, **{"mcp-session-id": CANARY, "x-other": CANARY})
            await post(url, rpc("tools/list"), authorization=f"Bearer {CANARY}")
    assert "tools/call" in log.getvalue()
    assert CANARY not in log.getvalue()


@pytest.mark.parametrize(
    "answer",
    [
        CANARY.encode(),
        b"<html>" + CANARY.encode(),
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"%b"}}' % CANARY.encode(),
    ],
)
async def test_what_an_upstream_answers_is_in_no_log(answer: bytes, log: io.StringIO, tmp_path: Path) -> None:
    async def script(conversation: Conversation) -> None:
        while True:
            await conversation.read_request()
            await conversation.answer(answer)

    async with ScriptedServer(script) as server, gateway(tmp_path, {"odd": {"url": server.url}}) as (url, _):
        await post(url, rpc("tools/call", name="anything", arguments={}))
    assert "upstream odd" in log.getvalue()
    assert CANARY not in log.getvalue()


async def test_a_defect_is_logged_by_its_place_and_not_by_its_words(log: io.StringIO, tmp_path: Path) -> None:
    async with gateway(tmp_path, {"dead": {"url": "http://127.0.0.1:9/mcp"}}) as (url, gateway_app):

        class Broken:
            def itself(self) -> Broken:
                return self

            def __getattr__(self, _name: str) -> Any:
                raise ValueError(CANARY) from KeyError(CANARY)

        rulebook, served = gateway_app.current.rulebook, gateway_app.current.served
        gateway_app.current = assemble(gateway_app.runtime, rulebook, served, Broken())  # type: ignore[arg-type]
        answer = await post(url, rpc("tools/call", name="x", arguments={}))
    assert answer.json()["error"] == {"code": -32603, "message": "Internal server error"}
    assert "builtins.ValueError" in log.getvalue()
    assert "builtins.KeyError" in log.getvalue()
    assert "gateway/test_logging.py" in log.getvalue()
    assert CANARY not in log.getvalue()


def test_a_line_of_json_holds_the_fields_it_was_given() -> None:
    record = logging.makeLogRecord({"name": "assent", "levelname": "INFO", "msg": "a\n%s", "args": ("b",), "tool": "x"})
    line = json.loads(JsonLinesFormatter().format(record))
    assert (line["level"], line["logger"], line["message"], line["tool"]) == ("info", "assent", "a\nb", "x")
    assert line["time"].endswith("+00:00")


def test_logging_begins_in_the_form_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        begin("json", "warning")
        logging.getLogger("assent").info("quiet")
        logging.getLogger("assent").warning("loud")
        assert json.loads(capsys.readouterr().err)["message"] == "loud"
    finally:
        root.handlers[:], root.level = handlers, level
