"""Governed tools in LangChain's and LangGraph's own hands."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool as langchain_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import RetryPolicy

from assent.client.adapters.langchain import GovernedTools
from support.clients.adapter_runs import governed
from support.clients.person import Somebody
from support.servers.plain_server import Plain, said, tool

PLACE = tool("orders.place", "item", tier="external_spend")
ODD = tool("odd", "self", "config", "run_manager", "callbacks", tier="read")


def calling(*calls: tuple[str, str, Any]) -> AIMessage:
    return AIMessage("", tool_calls=[{"id": i, "name": name, "args": args} for i, name, args in calls])


def graph(node: Any, **options: Any) -> Any:
    building = StateGraph(MessagesState)
    building.add_node("act", node, **options)
    building.add_edge(START, "act")
    building.add_edge("act", END)
    return building.compile()


async def test_a_prebuilt_node_gives_the_model_answers_and_refusals() -> None:
    plain = Plain(PLACE, **{"orders.place": said({"order": 1})})
    async with governed(plain, Somebody(True, False)) as client:
        node = ToolNode(await GovernedTools(client).tools())
        calls = calling(("c1", "orders_place", {"item": "a"}), ("c2", "orders_place", {"item": "b"}))
        ended = await graph(node).ainvoke({"messages": [calls]})
    bought, refused = ended["messages"][1:]
    assert isinstance(bought, ToolMessage)
    assert (bought.tool_call_id, bought.status, json.loads(bought.content)) == ("c1", "success", {"order": 1})
    assert (refused.status, json.loads(refused.content)["code"]) == ("error", "confirm.declined")


async def test_a_node_that_is_tried_again_does_not_buy_again() -> None:
    tries: list[int] = []
    bought = asyncio.Event()

    @langchain_tool
    async def flaky() -> str:
        """Fails once, after the order was placed."""
        await bought.wait()
        tries.append(1)
        if len(tries) == 1:
            raise OSError("the other tool fell over")
        return "well"

    plain, person = Plain(PLACE, **{"orders.place": said({"order": 1})}), Somebody(True)
    async with governed(plain, person, sink=lambda noted: noted.what == "answered" and bought.set()) as client:
        node = ToolNode([*await GovernedTools(client).tools(), flaky], handle_tool_errors=False)
        retry = RetryPolicy(initial_interval=0, jitter=False, retry_on=OSError)
        calls = calling(("c1", "orders_place", {"item": "a"}), ("c2", "flaky", {}))
        ended = await graph(node, retry_policy=retry).ainvoke({"messages": [calls]})
    order, other = (message.content for message in ended["messages"][1:])
    assert (json.loads(order), other, len(tries)) == ({"order": 1}, "well", 2)
    assert len(person.asked) == len(plain.log) == 1


async def test_arguments_may_have_any_name() -> None:
    plain, given = Plain(ODD), {"self": 1, "config": {"x": 2}, "run_manager": 3, "callbacks": 4}
    async with governed(plain) as client:
        (odd,) = await GovernedTools(client).tools()
        await odd.ainvoke({"type": "tool_call", "id": "c1", "name": "odd", "args": given})
    assert plain.log == [("odd", given)]


async def test_schema_and_hints_are_passed_on() -> None:
    listed = tool("look", "limit", tier="read", read_only_hint=True)
    async with governed(Plain(listed)) as client:
        (look,) = await GovernedTools(client).tools()
    assert look.tool_call_schema["properties"] == {"limit": {}}
    assert look.metadata == {"annotations": {"readOnlyHint": True}}


async def test_a_graph_in_another_thread_needs_no_await() -> None:
    plain = Plain(PLACE, **{"orders.place": said({"order": 1})})
    async with governed(plain, Somebody(True)) as client:
        node = ToolNode(await GovernedTools(client).tools())
        state = {"messages": [calling(("c1", "orders_place", {"item": "a"}))]}
        ended = await asyncio.to_thread(graph(node).invoke, state)
    assert json.loads(ended["messages"][1].content) == {"order": 1}


async def test_waiting_in_the_clients_own_loop_is_refused_with_the_remedy() -> None:
    async with governed(Plain(PLACE)) as client:
        (place,) = await GovernedTools(client).tools()
        with pytest.raises(RuntimeError, match="ainvoke"):
            place.invoke({"item": "a"})
