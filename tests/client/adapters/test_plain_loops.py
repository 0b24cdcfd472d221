"""What loops over the two vendors' APIs do at the edges: cut-off messages, pauses, ends."""

from __future__ import annotations

import builtins
import importlib
import sys
from typing import Any

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from assent.client.adapters import anthropic, openai
from assent.client.adapters.toolbox import Toolbox
from support.clients.adapter_runs import governed
from support.servers.plain_server import Plain, said, tool

LOOK = tool("look", tier="read")
USE = {"type": "tool_use", "id": "u1", "name": "look", "input": {}}
CALL = {"id": "u1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CUSTOM = {"id": "u1", "type": "custom", "custom": {"name": "look", "input": "free text"}}
ITEM = {"type": "function_call", "call_id": "u1", "name": "look", "arguments": "{}"}


def message(stop_reason: str, *content: Any) -> Message:
    return Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": list(content),
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


def completion(finish_reason: str, *calls: Any) -> ChatCompletion:
    said = {"role": "assistant", "content": None, "tool_calls": list(calls) or None}
    choice = {"index": 0, "message": said, "finish_reason": finish_reason}
    return ChatCompletion.model_validate(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
    )


def response(status: str, *output: Any) -> Response:
    return Response.model_validate(
        {
            "id": "r",
            "object": "response",
            "created_at": 0,
            "model": "scripted",
            "status": status,
            "output": list(output),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
    )


class Api:
    """Where the real client's `create` would be, one prepared message after the other."""

    def __init__(self, *messages: Any) -> None:
        self.left = list(messages)
        self.requests: list[Any] = []
        self.messages = self.chat = self.completions = self.responses = self

    async def create(self, **request: Any) -> Any:
        self.requests.append(request)
        return self.left.pop(0)


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "model_context_window_exceeded"])
async def test_a_call_in_an_anthropic_message_that_was_cut_off_is_not_made(reason: str) -> None:
    plain, messages = Plain(LOOK), [{"role": "user", "content": "look"}]
    async with governed(plain) as client:
        ended = await anthropic.converse(Api(message(reason, USE)), client, messages, model="m")  # type: ignore[arg-type]
    assert (ended.stop_reason, plain.log) == (reason, [])
    (result,) = messages[-1]["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("u1", True)


async def test_a_paused_anthropic_turn_goes_on() -> None:
    api = Api(message("pause_turn", {"type": "text", "text": "..."}), message("end_turn"))
    async with governed(Plain(LOOK)) as client:
        await anthropic.converse(api, client, [], model="m")  # type: ignore[arg-type]
    assert [len(request["messages"]) for request in api.requests] == [2, 2]


async def test_a_call_in_a_completion_that_was_cut_off_is_not_made() -> None:
    plain, messages = Plain(LOOK), []
    async with governed(plain) as client:
        await openai.converse(Api(completion("length", CALL)), client, messages, model="m")  # type: ignore[arg-type]
    assert plain.log == []
    assert "cut off" in messages[-1]["content"]


async def test_a_call_in_a_response_that_is_incomplete_is_not_made() -> None:
    plain, items = Plain(LOOK), []
    async with governed(plain) as client:
        await openai.respond(Api(response("incomplete", ITEM)), client, items, model="m")  # type: ignore[arg-type]
    assert plain.log == []
    assert "cut off" in items[-1]["output"]


async def test_free_text_for_a_tool_is_answered_with_an_error() -> None:
    plain, messages = Plain(LOOK), []
    async with governed(plain) as client:
        api = Api(completion("tool_calls", CUSTOM), completion("stop"))
        await openai.converse(api, client, messages, model="m")  # type: ignore[arg-type]
    assert plain.log == []
    assert "validate.malformed" in messages[1]["content"]


LOOPS = [
    (anthropic.converse, lambda: message("tool_use", USE)),
    (openai.converse, lambda: completion("tool_calls", CALL)),
    (openai.respond, lambda: response("completed", ITEM)),
]


@pytest.mark.parametrize(("loop", "again"), LOOPS, ids=["anthropic", "openai chat", "openai responses"])
async def test_a_model_that_never_stops_is_stopped_with_every_call_answered(loop: Any, again: Any) -> None:
    plain, said_so_far = Plain(LOOK), []
    async with governed(plain) as client:
        await loop(Api(again(), again(), again()), client, said_so_far, turns=2, model="m")
    assert len(plain.log) == 2
    assert len(said_so_far) == 4


@pytest.mark.parametrize("loop", [loop for loop, _ in LOOPS])
@pytest.mark.parametrize("wrong", ["tools", "stream"])
async def test_what_a_loop_cannot_take_is_refused_before_anything_is_sent(loop: Any, wrong: str) -> None:
    api = Api()
    async with governed(Plain(LOOK)) as client:
        with pytest.raises(TypeError, match=f"{wrong}= cannot be given here"):
            await loop(api, client, [], **{wrong: True})
    assert api.requests == []


async def test_without_tools_none_are_offered() -> None:
    api = Api(completion("stop"))
    async with governed(Plain()) as client:
        await openai.converse(api, client, [], model="m")  # type: ignore[arg-type]
    assert set(api.requests[0]) == {"messages", "model"}


async def test_conversations_may_share_what_was_answered() -> None:
    plain = Plain(tool("look", tier="write"), look=[said({"n": 1}), said({"n": 2})])
    async with governed(plain) as client:
        toolbox = Toolbox(client)
        for _ in range(2):
            api = Api(completion("tool_calls", CALL), completion("stop"))
            await openai.converse(api, toolbox, [], model="m")  # type: ignore[arg-type]
    assert len(plain.log) == 1


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("openai_agents", "agents", "openai-agents"),
        ("langchain", "langchain_core", "langchain"),
    ],
)
def test_a_missing_library_is_named_with_its_remedy(
    module: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, f"assent.client.adapters.{module}", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=rf"pip install 'assent\[{extra}\]'"):
        importlib.import_module(f"assent.client.adapters.{module}")
