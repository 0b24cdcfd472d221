"""A scripted model behind HTTP on a loopback port, in the shapes of Anthropic's and OpenAI's APIs."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from examples.frameworks.story import Call, Script
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


@asynccontextmanager
async def scripted_api(script: Script) -> AsyncIterator[str]:
    """Serve the script while the block runs; gives the server's address."""

    async def answer(request: Request) -> JSONResponse:
        return JSONResponse(_SHAPES[request.url.path](await request.json(), script))

    app = Starlette(routes=[Route(path, answer, methods=["POST"]) for path in _SHAPES])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        task = asyncio.create_task(server._serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
            await asyncio.sleep(0)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


def _anthropic(body: dict[str, Any], script: Script) -> dict[str, Any]:
    blocks = [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    seen = [block["content"][0]["text"] for block in blocks if block["type"] == "tool_result"]
    said = script(seen, [tool["name"] for tool in body.get("tools", [])])
    if isinstance(said, str):
        content: list[Any] = [{"type": "text", "text": said}]
    else:
        content = [{"type": "tool_use", "id": i, "name": name, "input": given} for i, name, given in said]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "end_turn" if isinstance(said, str) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _chat(body: dict[str, Any], script: Script) -> dict[str, Any]:
    seen = [message["content"] for message in body["messages"] if message["role"] == "tool"]
    said = script(seen, [tool["function"]["name"] for tool in body.get("tools", [])])
    message: dict[str, Any] = {"role": "assistant", "content": said if isinstance(said, str) else None}
    if not isinstance(said, str):
        message["tool_calls"] = [
            {"id": call[0], "type": "function", "function": {"name": call[1], "arguments": _written(call)}}
            for call in said
        ]
    reason = "stop" if isinstance(said, str) else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    return {"id": "c_1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}


def _responses(body: dict[str, Any], script: Script) -> dict[str, Any]:
    seen = [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
    said = script(seen, [tool["name"] for tool in body.get("tools", [])])
    if isinstance(said, str):
        text = {"type": "output_text", "text": said, "annotations": []}
        output = [{"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [text]}]
    else:
        output = [
            {"type": "function_call", "call_id": call[0], "name": call[1], "arguments": _written(call)} for call in said
        ]
    return {
        "id": "r_1",
        "object": "response",
        "created_at": 0,
        "model": body["model"],
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _written(call: Call) -> str:
    return call[2] if isinstance(call[2], str) else json.dumps(call[2])


_SHAPES = {"/v1/messages": _anthropic, "/v1/chat/completions": _chat, "/v1/responses": _responses}
