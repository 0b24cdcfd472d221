"""Headers that repeat arguments are compared in `validate`, for callers who may see the tool."""

from __future__ import annotations

from typing import Any

import pytest

from assent.core.call import Request
from assent.core.outcome import Answer, Outcome, Refusal
from assent.core.principal import Principal
from assent.pipeline.govern import govern
from assent.testing.world import AGENT, World

SCHEMA = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "n": {"type": "integer"}},
}


async def call(arguments: Any, mirrors: Any, world: World | None = None, **contract: Any) -> Outcome:
    world = world or World({"place": {"side_effect": "write", "input": SCHEMA, **contract}})
    return await govern(Request("place", arguments, AGENT, mirrors=mirrors), world.ports)


@pytest.mark.parametrize(
    ("headers", "arguments"),
    [
        ([(b"mcp-param-region", b"eu")], {"region": "eu"}),
        ([(b"mcp-param-region", b"=?base64?ZXU=?=")], {"region": "eu"}),
        ([], {"n": 1}),
        ([], {}),
        ([(b"mcp-param-unknown", b"x")], {}),
        (None, {"region": "eu"}),
    ],
)
async def test_headers_that_repeat_the_arguments_pass(headers: Any, arguments: Any) -> None:
    assert isinstance(await call(arguments, headers), Answer)


@pytest.mark.parametrize(
    ("headers", "arguments"),
    [
        ([(b"mcp-param-region", b"us")], {"region": "eu"}),
        ([], {"region": "eu"}),
        ([(b"mcp-param-region", b"eu")], {}),
        ([(b"mcp-param-region", b"=?base64?ZXU?=")], {"region": "eu"}),
        ([(b"mcp-param-region", b"eu"), (b"mcp-param-region", b"eu")], {"region": "eu"}),
    ],
)
async def test_headers_that_differ_are_refused_and_recorded_also_in_observe_mode(headers: Any, arguments: Any) -> None:
    world = World({"place": {"side_effect": "write", "input": SCHEMA}}, mode="observe")
    refused = await call(arguments, headers, world)
    assert isinstance(refused, Refusal) and refused.code == "validate.header_mismatch"
    assert [one.entry.facts["code"] for one in await world.store.entries()] == ["validate.header_mismatch"]
    assert world.upstream.effects == []


@pytest.mark.parametrize(
    ("contract", "code"),
    [
        ({"visibility": "hidden"}, "discover.unknown_tool"),
        ({"permissions": ["admin"]}, "authorize.missing_permissions"),
    ],
)
async def test_headers_tell_nothing_to_a_caller_without_the_tool(contract: dict[str, Any], code: str) -> None:
    caller = Principal("other", "agent")
    world = World({"place": {"side_effect": "write", "input": SCHEMA, **contract}})
    refused = await govern(Request("place", {"region": "eu"}, caller, mirrors=[]), world.ports)
    assert isinstance(refused, Refusal) and refused.code == code
