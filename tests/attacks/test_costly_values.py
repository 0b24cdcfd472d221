"""One caller cannot freeze the gateway with a large call, nor cost another caller its lease."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from assent.contract.documents import schema_validator
from assent.contract.model import Contract
from assent.core.tool import MOST_VALUES, compile_tool
from assent.rules.guards.workload import run_apart
from support.clients.transports import over_http
from support.gateway.gateways import gateway, post, rpc

ITEMS = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}}}
EITHER = {"anyOf": [{"items": {"type": "string"}}, {"items": {"type": "boolean"}}]}


def seconds(work: Any) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def checked(schema: dict[str, Any], arguments: dict[str, Any]) -> list[tuple[str, str]]:
    tool = compile_tool(Contract(name="t", side_effect="read"), definition={"name": "t", "inputSchema": schema})
    assert tool.check_input is not None
    return tool.check_input(arguments)


def test_millions_of_wrong_items_are_refused_at_once_and_take_no_memory() -> None:
    arguments = {"items": [1] * 1_900_000}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert seconds(lambda: checked(ITEMS, arguments)) < 1.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes
    assert checked(ITEMS, arguments) == [
        ("", "it has too many values to be checked against its schema; send fewer at once")
    ]


def test_of_many_wrong_items_the_first_is_named_without_collecting_the_rest() -> None:
    arguments = {"items": [1] * (MOST_VALUES - 2)}
    assert seconds(lambda: checked(ITEMS, arguments)) < 1.0
    assert checked(ITEMS, arguments) == [("/items/0", "it must be of type string")]


def test_branches_do_not_collect_the_errors_of_a_large_value() -> None:
    arguments = {"items": [1] * (MOST_VALUES - 2)}
    schema = {"type": "object", "properties": {"items": EITHER}}
    assert seconds(lambda: checked(schema, arguments)) < 1.0
    assert checked(schema, arguments)[0][1].startswith("it does not match its schema")


def test_of_a_small_value_every_error_is_named_up_to_twenty() -> None:
    assert len(checked(ITEMS, {"items": [1] * 7})) == 7
    assert len(checked(ITEMS, {"items": [1] * 100})) == 20


def test_ten_thousand_rows_of_ten_values_are_checked() -> None:
    row = {"type": "object", "properties": {f"c{n}": {"type": ["string", "null"]} for n in range(9)}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": row}}}
    rows = [{f"c{n}": "x" for n in range(9)} for _ in range(9_999)]
    assert checked(schema, {"rows": rows}) == []


def test_objects_compared_with_many_others_are_counted() -> None:
    validator = schema_validator({"items": {"enum": [{"a": number} for number in range(200)]}})
    assert seconds(lambda: validator.is_valid([{"a": 199}] * 50_000)) < 2.0


async def test_leases_are_extended_between_large_checks() -> None:
    """A hundred large checks arrive in one pass of the event loop; the heartbeat comes between the first of them."""
    order = list[str]()

    async def check(number: int) -> None:
        await run_apart(lambda: None, 1.0, "ann")
        order.append(f"check {number}")

    async def beat() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        order.append("beat")

    await asyncio.gather(*(check(number) for number in range(100)), beat())
    assert order.index("beat") <= 3
    assert order[-1] == "check 99"


def shop() -> MCPServer:
    server = MCPServer("shop", log_level="ERROR")

    @server.tool()
    def count_items(items: list[str]) -> int:
        """Counts items."""
        return len(items)

    return server


async def test_a_gateway_answers_others_while_a_caller_sends_huge_calls(tmp_path: Path) -> None:
    async with over_http(shop()) as upstream, gateway(tmp_path, {"shop": {"url": upstream}}) as (url, _):
        call = rpc("tools/call", name="count_items", arguments={"items": [1] * 1_500_000})
        huge = json.dumps(call, separators=(",", ":")).encode()
        calls = asyncio.gather(*(post(url, huge) for _ in range(2)))
        small = rpc("tools/call", name="count_items", arguments={"items": ["a"]})
        assert (await post(url, small)).json()["result"]["structuredContent"] == {"result": 1}
        for answer in await calls:
            assert "more than 100000 values" in answer.text


@pytest.mark.parametrize("depth", [50, 400])
def test_deep_values_are_no_way_around(depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value, 1]
    assert seconds(lambda: checked(ITEMS, {"items": value})) < 1.0
