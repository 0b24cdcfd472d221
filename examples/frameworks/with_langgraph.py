"""A graph of LangGraph whose tools are governed.

Run it with `python -m examples.frameworks.with_langgraph`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from examples.frameworks.story import WISH, Script, tell
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import END, START, MessagesState, StateGraph

from assent.client import GovernedClient
from assent.client.adapters.langchain import GovernedTools


async def run(client: GovernedClient, script: Script) -> str:
    governed, model = GovernedTools(client), Scripted(script=script)

    async def think(state: MessagesState) -> dict[str, Any]:
        bound = model.bind_tools(await governed.tools())
        return {"messages": [await bound.ainvoke(state["messages"])]}

    async def act(state: MessagesState) -> dict[str, Any]:
        return {"messages": await governed.answer(state["messages"][-1], state["messages"])}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("act", act)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", _wants_tools, {True: "act", False: END})
    graph.add_edge("act", "think")
    ended = await graph.compile().ainvoke({"messages": [HumanMessage(WISH)]})
    return str(ended["messages"][-1].content)


def _wants_tools(state: MessagesState) -> bool:
    last = state["messages"][-1]
    return isinstance(last, AIMessage) and bool(last.tool_calls or last.invalid_tool_calls)


class Scripted(BaseChatModel):
    """Stands where a real model would: ChatAnthropic(...), ChatOpenAI(...)."""

    script: Any
    offered: Sequence[str] = ()

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Scripted:
        return Scripted(script=self.script, offered=[tool.name for tool in tools])

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        seen = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
        said = self.script(seen, self.offered)
        message = AIMessage(said) if isinstance(said, str) else _calling(said)
        return ChatResult(generations=[ChatGeneration(message=message)])


def _calling(calls: list[Any]) -> AIMessage:
    """Arguments that are no JSON arrive from real models as `invalid_tool_calls`."""
    good = [{"id": i, "name": name, "args": said} for i, name, said in calls if not isinstance(said, str)]
    bad = [{"id": i, "name": name, "args": said, "error": None} for i, name, said in calls if isinstance(said, str)]
    return AIMessage("", tool_calls=good, invalid_tool_calls=bad)


if __name__ == "__main__":
    asyncio.run(tell(run))
