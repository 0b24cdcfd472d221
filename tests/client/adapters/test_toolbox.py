"""One answer per call id, and an answer whatever happens."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from assent.client.adapters.toolbox import Toolbox
from support.clients.adapter_runs import governed
from support.clients.person import Somebody
from support.servers.plain_server import Plain, said, tool

PLACE = tool("place", "item", tier="external_spend")
CLOSED = MCPError(types.CONNECTION_CLOSED, "Connection closed")


def code(result: types.CallToolResult) -> Any:
    return (result.structured_content or {}).get("code")


async def test_a_call_made_again_under_its_id_gets_the_first_answer() -> None:
    plain, person = Plain(PLACE, place=[said({"n": 1}), said({"n": 2})]), Somebody(True, True, True)
    async with governed(plain, person) as client:
        toolbox = Toolbox(client)
        calls = [("c1", "a"), ("c1", "a"), ("c2", "a"), ("c1", "b")]
        results = [await toolbox.call(i, "place", {"item": item}) for i, item in calls]
    assert [result.structured_content["n"] for result in results] == [1, 1, 2, 2]
    assert len(person.asked) == 3


async def test_without_an_id_every_call_is_its_own() -> None:
    plain = Plain(PLACE)
    async with governed(plain, lambda _: True) as client:
        toolbox = Toolbox(client)
        for _ in range(2):
            await toolbox.call(None, "place", {"item": "a"})
    assert len(plain.log) == 2


async def test_the_same_id_twice_at_the_same_time_is_one_call() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def wait(context: Any, params: Any) -> Any:
        begun.set()
        await go.wait()
        return said({"n": 1})

    plain = Plain(PLACE, place=wait)
    async with governed(plain, lambda _: True) as client:
        toolbox = Toolbox(client)
        both = asyncio.gather(*(toolbox.call("c1", "place", {"item": "a"}) for _ in range(2)))
        await begun.wait()
        go.set()
        first, second = await both
    assert first.structured_content == second.structured_content
    assert len(plain.log) == 1


async def test_reads_are_read_again() -> None:
    plain = Plain(tool("look", tier="read"), look=[said({"n": 1}), said({"n": 2})])
    async with governed(plain) as client:
        toolbox = Toolbox(client)
        seen = [(await toolbox.call("c1", "look", {})).structured_content for _ in range(2)]
    assert seen == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("failure", [said({"code": "billing.card"}, is_error=True), said(is_error=True)])
async def test_an_error_the_tool_ended_with_is_an_answer_too(failure: Any) -> None:
    plain = Plain(PLACE, place=[failure, said({"n": 2})])
    async with governed(plain, lambda _: True) as client:
        toolbox = Toolbox(client)
        results = [await toolbox.call("c1", "place", {"item": "a"}) for _ in range(2)]
    assert [result.is_error for result in results] == [True, True]
    assert len(plain.log) == 1


async def test_what_did_not_end_is_called_again_under_its_key() -> None:
    keyed = tool("place", "item", "idempotency_key", tier="external_spend")
    pending = said({"status": 428, "code": "confirm.approval_pending", "approval": "a-1"}, is_error=True)
    for unfinished in (CLOSED, pending, said({"status": 503, "retryable": True}, is_error=True)):
        plain = Plain(keyed, place=[unfinished, said({"n": 1})])
        async with governed(plain, lambda _: True, attempts=1, approval_patience=0.0) as client:
            toolbox = Toolbox(client)
            assert (await toolbox.call("c1", "place", {"item": "a"})).is_error
            assert not (await toolbox.call("c1", "place", {"item": "a"})).is_error
        first, second = (arguments["idempotency_key"] for _, arguments in plain.log)
        assert first == second


async def test_a_question_left_open_is_asked_again_and_a_no_is_not() -> None:
    plain, person = Plain(PLACE), Somebody("cancel", False)
    async with governed(plain, person) as client:
        toolbox = Toolbox(client)
        codes = [code(await toolbox.call("c1", "place", {"item": "a"})) for _ in range(3)]
    assert codes == ["confirm.cancelled", "confirm.declined", "confirm.declined"]
    assert len(person.asked) == 2


async def test_what_a_library_does_to_a_result_does_not_change_the_kept_one() -> None:
    plain = Plain(PLACE, place=said({"n": 1}))
    async with governed(plain, lambda _: True) as client:
        toolbox = Toolbox(client)
        for _ in range(3):
            result = await toolbox.call("c1", "place", {"item": "a"})
            assert result.structured_content == {"n": 1}
            result.structured_content["n"] = 9


async def test_a_conversation_goes_on_where_another_process_left_it() -> None:
    plain = Plain(tool("orders.look", tier="read"))
    async with governed(plain) as client:
        toolbox = Toolbox(client)
        assert not (await toolbox.call("c7", "orders_look", {})).is_error
        assert code(await toolbox.call("c8", "orders_burn", {})) == "discover.unknown_tool"


async def test_a_callback_that_fails_leaves_a_doubt_and_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    plain = Plain(tool("export", tier="share_export"), export=said({"token": "canary-5f2c"}))

    def broken(delivery: Any) -> None:
        raise KeyError("inbox")

    async with governed(plain, lambda _: True, on_secret=broken) as client:
        result = await Toolbox(client).call("c1", "export", {})
    assert code(result) == "execute.in_doubt"
    assert "a call of export failed" in caplog.text
    assert "canary" not in caplog.text + result.model_dump_json()


async def test_what_is_not_plain_json_is_refused() -> None:
    typed = tool("place", tier="external_spend")
    typed.input_schema["properties"] = {"item": {"type": "string"}}
    async with governed(Plain(typed), lambda _: True) as client:
        toolbox = Toolbox(client)
        await toolbox.tools()
        assert code(await toolbox.call("c1", "place", '{"item": NaN}')) == "validate.malformed"
        assert code(await toolbox.call("c1", "place", {"item": object()})) == "validate.malformed"


async def test_a_server_that_stops_listing_leaves_the_tools_as_they_were() -> None:
    plain = Plain(PLACE)
    async with governed(plain, attempts=1) as client:
        toolbox = Toolbox(client)
        listed = await toolbox.tools()

        async def broken(*_: Any) -> Any:
            raise MCPError(-32099, "no")

        client.list_tools = broken
        assert await toolbox.tools() == listed
        with pytest.raises(MCPError):
            await Toolbox(client).tools()
        assert code(await Toolbox(client).call("c1", "place", {})) == "execute.unavailable"


async def test_what_a_server_says_of_a_tool_in_meta_stays_with_the_client() -> None:
    async with governed(Plain(PLACE)) as client:
        (shown,) = await Toolbox(client).tools()
    assert shown.meta is None
    assert shown.input_schema == {"type": "object", "properties": {"item": {}}}


async def test_a_call_that_is_given_up_is_not_kept() -> None:
    begun = asyncio.Event()

    async def hang(context: Any, params: Any) -> Any:
        begun.set()
        await asyncio.Event().wait()

    plain = Plain(PLACE, place=[hang, said({"n": 1})])
    async with governed(plain, lambda _: True) as client:
        toolbox = Toolbox(client)
        task = asyncio.create_task(toolbox.call("c1", "place", {"item": "a"}))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await toolbox.call("c1", "place", {"item": "a"})).structured_content == {"n": 1}
